import { type ContactRow, findContact } from '../../db/contacts/contacts.ts';
import type { Database } from '../../db/database.ts';
import { findProject } from '../../db/projects/projects.ts';
import type { StepVisit } from '../../db/workflows/executions/steps.ts';
import { localeOf, optOutUrls } from '../../domain/mail/content.ts';
import type { TemplateVariables } from '../../domain/template/render.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';

/**
 * The variables of a step's templates: the contact as it is now and the execution's context.
 * `emailId` is for the opt-out links of a mail.
 * @throws StepFailure when the contact or project no longer exists.
 */
export async function stepVariables(
  tx: Database,
  apiUrl: string,
  execution: StepVisit['execution'],
  emailId: string,
) {
  const [contact, project] = await Promise.all([
    findContact(tx, execution.project_id, execution.contact_id),
    findProject(tx, execution.project_id),
  ]);
  if (!contact || !project) throw new StepFailure('The contact no longer exists.');
  const variables = variablesOf(apiUrl, execution, { contact, project }, emailId);
  return { contact, project, variables };
}

/**
 * The variables, from what was read.
 * @param topicKey of the mail's topic; null: none.
 */
export function variablesOf(
  apiUrl: string,
  execution: StepVisit['execution'],
  { contact, project }: { contact: ContactRow; project: { id: string; language: string } },
  emailId: string,
  topicKey: string | null = null,
): TemplateVariables {
  return {
    owner: project.id,
    contact,
    context: execution.context as Record<string, unknown> | null,
    locale: localeOf(contact.data, project.language),
    urls: optOutUrls(apiUrl, contact.id, emailId, topicKey),
  };
}
