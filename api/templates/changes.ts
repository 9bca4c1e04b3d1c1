import type { z } from 'zod';
import { listArmCampaigns } from '../../db/campaigns/campaigns.ts';
import { columnsFrom } from '../../db/columns.ts';
import { isPolicyTemplate, readConsentPolicy } from '../../db/consent/policy.ts';
import type { Database } from '../../db/database.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { listTemplateSteps } from '../../db/reads/uses/steps.ts';
import {
  deleteTemplates,
  insertTemplate,
  lockTemplates,
  type TemplateRow,
  updateTemplate,
} from '../../db/templates/templates.ts';
import { foundAll, invalidField, Problem, Refusals, together } from '../../domain/errors.ts';
import { senderColumns } from '../http/schemas.ts';
import { listed } from '../http/uses.ts';
import { refuseTopic } from '../topics/input.ts';
import { requireTopics } from '../topics/references.ts';
import type { TemplateChange, TemplateInput } from './input.ts';

/** Changes of templates, in the transaction of the caller. */

type Given = z.output<typeof TemplateInput>;

/**
 * Creates a template.
 * @param own.id its id, by default a new one
 * @throws Problem TOPIC_NOT_FOUND, DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED
 */
export async function storeNewTemplate(
  tx: Database,
  projectId: string,
  body: Given,
  own: { id?: string } = {},
): Promise<TemplateRow> {
  await holdProject(tx, projectId);
  await requireTopics(tx, projectId, [body.topicId]);
  if (body.from) await requireVerifiedSender(tx, projectId, body.from.email);
  return insertTemplate(tx, { project_id: projectId, ...valuesOf(body), ...own });
}

/**
 * Changes a template that the caller has locked, without the checks of `refuseTemplateChange` and
 * `requireTopics`. Fields that are left out keep their value. Returns the same row if no field is
 * given.
 * @throws Problem DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED
 */
export async function storeTemplate(
  tx: Database,
  before: TemplateRow,
  body: z.output<typeof TemplateChange>,
): Promise<TemplateRow> {
  const { id, project_id: projectId } = before;
  const changes = valuesOf(body);
  if (Object.keys(changes).length === 0) return before;
  // Only a new sender is checked. So other fields can be changed even if the domain of the stored
  // sender is no longer verified.
  if (body.from) await requireVerifiedSender(tx, projectId, body.from.email);
  return updateTemplate(tx, id, changes);
}

function valuesOf<T extends Pick<z.output<typeof TemplateInput>, 'from' | 'fromName'>>({
  from,
  fromName,
  ...fields
}: T) {
  return columnsFrom({ ...fields, ...senderColumns(from, fromName) });
}

interface TemplateChange {
  type?: string | undefined;
  topicId?: string | null | undefined;
  from?: unknown;
}

/**
 * Refuses a change that contradicts the rest of the template, or the consent policy that uses the
 * template.
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function refuseTemplateChange(
  db: Database,
  stored: TemplateRow,
  change: TemplateChange,
): Promise<void> {
  const { topicId = stored.topic_id, type = stored.type } = change;
  const changesTopic = change.topicId !== undefined || change.type !== undefined;
  await together(
    () => requireForPolicy(db, stored, change),
    () => changesTopic && refuseTopic(topicId, type),
  );
}

async function requireForPolicy(
  db: Database,
  { id, project_id: projectId, type, from_email: from }: TemplateRow,
  change: TemplateChange,
): Promise<void> {
  const isOther = change.type !== undefined && change.type !== type;
  const losesSender = change.from === null && from !== null;
  if (!isOther && !losesSender) return;
  const policy = await readConsentPolicy(db, projectId);
  if (policy.templateId !== id) return;
  const refusals = new Refusals();
  if (isOther) {
    const message = 'The confirmation mail uses this template, so it must stay TRANSACTIONAL.';
    refusals.add(invalidField('type', 'not_allowed', message));
  }
  if (losesSender && policy.requireConfirmation && policy.from === null) {
    const message =
      'The confirmation mail uses this sender, because the consent policy has none. First set `from` in this policy with PUT /consent-policy.';
    refusals.add(invalidField('from', 'required', message));
  }
  refusals.throw();
}

/** Locks templates for deletion. @throws Problem TEMPLATE_NOT_FOUND */
export async function requireOwnTemplates(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  foundAll('TEMPLATE', ids, await lockTemplates(tx, projectId, ids));
}

/**
 * Deletes all these templates, or none of them.
 * @throws Problem TEMPLATE_NOT_FOUND; TEMPLATE_IN_USE with all uses of any of them.
 */
export async function deleteUnusedTemplates(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  await requireOwnTemplates(tx, projectId, ids);
  const workflowSteps = await listTemplateSteps(tx, projectId, ids);
  const consentPolicy = await isPolicyTemplate(tx, projectId, ids);
  const campaigns = await listArmCampaigns(tx, projectId, ids);
  if (workflowSteps.length > 0 || campaigns.length > 0 || consentPolicy) {
    const details = {
      ...listed({ workflowSteps, ...(campaigns.length > 0 && { campaigns }) }),
      ...(consentPolicy && { consentPolicy }),
    };
    throw new Problem('TEMPLATE_IN_USE', { details });
  }
  await deleteTemplates(tx, ids);
}
