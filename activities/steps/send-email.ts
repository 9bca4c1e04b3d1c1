import type { BillingRules } from '../../db/billing/billing.ts';
import type { Database } from '../../db/database.ts';
import { insertEmail } from '../../db/emails/emails.ts';
import type { StepVisit } from '../../db/workflows/executions/steps.ts';
import { findStepMail } from '../../db/reads/step-mail.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import type { Renderer } from '../../domain/template/render.ts';
import { composeStepMail, hasTopic, mailOutput } from '../../domain/workflow/steps/send-email.ts';
import type { StepConfig } from '../../domain/workflow/steps/registry.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import { variablesOf } from './variables.ts';

export interface SendEmailServices {
  apiUrl: string;
  renderer: Renderer;
  /** null: no billing. */
  billingRules: BillingRules;
}

/**
 * Renders a step's template for its contact and inserts the email. That completes the step: the
 * mail is delivered by another run, so a slow provider never delays an execution.
 * @param emailId id of the email, the same one when the transaction is restarted.
 * @param finish completes the step with its output, in the same round trip.
 * @throws StepFailure when there is no template or no usable sender.
 */
export async function sendStepEmail<T>(
  tx: Database,
  { apiUrl, renderer, billingRules }: SendEmailServices,
  step: GraphStep,
  { execution, stepExecution }: StepVisit,
  emailId: string,
  finish: (output: Record<string, unknown>) => Promise<T>,
): Promise<T> {
  const projectId = execution.project_id;
  const { templateId } = step;
  const { topicId } = step.config as StepConfig<'SEND_EMAIL'>;
  const wanted = { projectId, contactId: execution.contact_id, templateId, topicId };
  const found = await findStepMail(tx, wanted);
  if (!found) throw new StepFailure('The contact no longer exists.');
  const { contact } = found;
  const topic = hasTopic(step, found.template) ? found.topic : null;
  const variables = variablesOf(apiUrl, execution, found, emailId, topic?.key);
  const mail = await composeStepMail(renderer, step, found, variables, billingRules !== null);
  const { content, warnings, withheld } = mail;
  const inserted = insertEmail(tx, {
    id: emailId,
    project_id: projectId,
    contact_id: contact.id,
    to_email: mail.recipient.email,
    ...content,
    // A body too large to send is too large to keep.
    body: withheld === 'message_too_large' ? null : content.body,
    from_email: mail.from.email,
    from_name: mail.from.name,
    reply_to: mail.replyTo,
    message_class: mail.messageClass,
    source_type: 'WORKFLOW',
    template_id: mail.templateId,
    topic_id: topic?.id ?? null,
    workflow_execution_id: execution.id,
    workflow_step_execution_id: stepExecution.id,
    ...(withheld && { withheld }),
    renderedPlainly: warnings[0],
  });
  const finished = finish(mailOutput(mail, emailId, new Date()));
  return (await Promise.all([inserted, finished]))[1];
}
