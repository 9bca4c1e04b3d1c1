import { z } from 'zod';
import {
  lockConsentPolicy,
  readConsentPolicy,
  type StoredConsentPolicy,
  updateConsentPolicy,
} from '../../db/consent/policy.ts';
import { type Database, transact } from '../../db/database.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { findTemplate, holdTemplates } from '../../db/templates/templates.ts';
import { changesBetween } from '../access/changes.ts';
import { type ConsentPolicy, usesConfirmUrl } from '../../domain/consent/policy.ts';
import { invalidField, notFound, Refusals } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';
import { changeOf, ConsentPolicyChange, consentPolicyFields } from './policy-input.ts';

/** The consent policy of a project: its confirmation mail, and when a confirmation is required. */

const ConsentPolicyAnswer = named('ConsentPolicy', {
  ...consentPolicyFields,
  templateId: z
    .uuid()
    .nullable()
    .describe('Template of the confirmation mail; null: the built-in text'),
  from: z.string().nullable().describe('Sender of the confirmation mail if its template has none'),
  fromName: z.string().nullable(),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

function present({ updatedAt, ...policy }: StoredConsentPolicy) {
  return { ...policy, updatedAt: time(updatedAt) };
}

const example: z.input<typeof ConsentPolicyAnswer> = {
  requireConfirmation: true,
  templateId: null,
  from: 'team@shop.example',
  fromName: 'The Shop',
  remindAfter: 86_400,
  expireAfter: 604_800,
  bounceScope: 'marketing',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

const getConsentPolicy = endpoint({
  id: 'getConsentPolicy',
  method: 'GET',
  path: '/consent-policy',
  summary: 'Get the consent policy of the project',
  description:
    'Double opt-in: the confirmation mail, and when a confirmation is required. Defaults and ' +
    '`updatedAt: null` until it is set.',
  access: 'secret',
  response: ConsentPolicyAnswer,
  example: { response: example },
  async handle({ db, caller }) {
    return present(await readConsentPolicy(db, caller.projectId));
  },
});

const putConsentPolicy = endpoint({
  id: 'setConsentPolicy',
  method: 'PUT',
  path: '/consent-policy',
  summary: 'Set the consent policy of the project',
  description:
    'Fields that are left out keep their value. `requireConfirmation` needs a sender: ' +
    "`from`, or the template's. The template must be of type TRANSACTIONAL and use " +
    '`confirmUrl`; while it is used here, it keeps its type and cannot be deleted. Times ' +
    'apply to later requests.',
  access: 'secret',
  role: 'ADMIN',
  body: ConsentPolicyChange,
  response: ConsentPolicyAnswer,
  problems: ['TEMPLATE_NOT_FOUND', 'DOMAIN_NOT_REGISTERED', 'DOMAIN_NOT_VERIFIED'],
  example: {
    body: { requireConfirmation: true, from: 'The Shop <team@shop.example>', remindAfter: 86_400 },
    response: example,
  },
  async check({ db, caller: { projectId }, body }) {
    const policy = { ...(await readConsentPolicy(db, projectId)), ...changeOf(body) };
    await requireUsable(db, projectId, policy, { isNewTemplate: body.templateId !== undefined });
  },
  async handle({ db, caller: { projectId }, body, note }) {
    return transact(db, async (tx) => {
      const { before, after } = await storeConsentPolicy(tx, projectId, body);
      const fields = Object.keys(changeOf(body));
      const details = { fields: fields.join(', ') };
      const changes = changesBetween(before, after, { fields });
      await note({ event: 'consent_policy.changed', projectId, changes, details }, tx);
      return present(after);
    });
  },
});

/**
 * Changes the consent policy, in the transaction of the caller.
 * @throws Problem TEMPLATE_NOT_FOUND, DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED, VALIDATION_ERROR
 */
export async function storeConsentPolicy(
  tx: Database,
  projectId: string,
  body: z.output<typeof ConsentPolicyChange>,
): Promise<{ before: StoredConsentPolicy; after: StoredConsentPolicy }> {
  const change = changeOf(body);
  const before = await lockConsentPolicy(tx, projectId);
  if (change.from) await requireVerifiedSender(tx, projectId, change.from);
  const { updatedAt: _, ...stored } = before;
  const policy = { ...stored, ...change };
  // If the template exists, it cannot be deleted until the transaction ends.
  if (policy.templateId !== null) await holdTemplates(tx, projectId, [policy.templateId]);
  await requireUsable(tx, projectId, policy, { isNewTemplate: body.templateId !== undefined });
  return { before, after: await updateConsentPolicy(tx, projectId, policy) };
}

/**
 * Refuses a policy that cannot work.
 * @throws Problem TEMPLATE_NOT_FOUND, VALIDATION_ERROR with all errors
 */
async function requireUsable(
  db: Database,
  projectId: string,
  { requireConfirmation, templateId, from, remindAfter, expireAfter }: ConsentPolicy,
  { isNewTemplate }: { isNewTemplate: boolean },
): Promise<void> {
  const template = templateId === null ? undefined : await findTemplate(db, projectId, templateId);
  const refusals = new Refusals();
  const refuse = (...reason: Parameters<typeof invalidField>) =>
    refusals.add(invalidField(...reason));
  if (remindAfter !== null && remindAfter >= expireAfter) {
    refuse('remindAfter', 'custom', `Must be less than \`expireAfter\`, which is ${expireAfter}.`);
  }
  if (templateId !== null && isNewTemplate) {
    if (!template) refusals.add(notFound('TEMPLATE', templateId));
    else if (template.type !== 'TRANSACTIONAL') {
      refuse(
        'templateId',
        'not_allowed',
        `Must be a template of the type TRANSACTIONAL; this one is ${template.type}.`,
      );
    } else if (!usesConfirmUrl(template.body)) {
      refuse('templateId', 'custom', 'The body of the template must have the link {{confirmUrl}}.');
    }
  }
  // A missing sender is not reported for a template that does not exist, because it is unknown if
  // the template would have a sender.
  const isUnknown = templateId !== null && !template;
  if (requireConfirmation && !from && !isUnknown && !template?.from_email) {
    const message =
      'Is required when `requireConfirmation` is true, unless the template has a sender.';
    refuse('from', 'required', message);
  }
  refusals.throw();
}

export const consentPolicyEndpoints = [getConsentPolicy, putConsentPolicy];
