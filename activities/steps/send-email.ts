import type { BillingRules } from '../../db/billing/billing.ts';
import type { Database } from '../../db/database.ts';
import { insertEmail } from '../../db/emails/emails.ts';
import type { StepVisit } from '../../db/workflows/steps.ts';
import { findStepMail } from '../../db/workflows/mails.ts';
import { domainOf, normaliseEmail } from '../../domain/mail/email-address.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import { isBodyTooLarge, renderMailWith } from '../../domain/mail/content.ts';
import {
  type Renderer,
  type TemplateVariables,
  compileTemplate,
} from '../../domain/template/render.ts';
import type { StepConfig } from '../../domain/workflow/steps.ts';
import { StepFailure } from './perform.ts';
import { variablesOf } from './variables.ts';
import { type MessageClass, needsSubscription } from '../../domain/mail/headers.ts';

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
  const found = await findStepMail(tx, { projectId, contactId: execution.contact_id, templateId });
  if (!found) throw new StepFailure('The contact no longer exists.');
  const { contact, project, template } = found;
  const variables = variablesOf(apiUrl, execution, found, emailId);
  if (!template) throw new StepFailure('The template of this step no longer exists.');
  const from = requireSender(template.fromEmail, found.domainStatus);
  const recipient = await recipientOf(step, contact.email, variables, renderer);
  const messageClass = template.type as MessageClass;
  const content = await renderMailWith(renderer, {
    subject: compileTemplate(template.subject),
    body: compileTemplate(template.body),
    messageClass,
    sourceType: 'WORKFLOW',
    variables,
    hasBadge: billingRules !== null && project.subscription === null,
  });
  // Mail to a custom address goes to somebody else: the contact's subscription is irrelevant.
  const isUnwanted =
    needsSubscription(messageClass, 'WORKFLOW') &&
    recipient.type === 'CONTACT' &&
    !contact.subscribed;
  const isTooLarge = isBodyTooLarge(content.body);
  const inserted = insertEmail(tx, {
    id: emailId,
    project_id: projectId,
    contact_id: contact.id,
    to_email: recipient.email,
    ...content,
    // A body too large to send is too large to keep.
    body: isTooLarge ? null : content.body,
    from_email: from,
    from_name: template.fromName ?? project.name,
    reply_to: template.replyTo,
    message_class: messageClass,
    source_type: 'WORKFLOW',
    template_id: template.id,
    workflow_execution_id: execution.id,
    workflow_step_execution_id: stepExecution.id,
    ...(isUnwanted
      ? { withheld: 'contact_unsubscribed' }
      : isTooLarge
        ? { withheld: 'message_too_large' }
        : {}),
  });
  const finished = finish({
    emailId,
    sentAt: new Date().toISOString(),
    recipientType: recipient.type,
    recipientEmail: recipient.email,
  });
  return (await Promise.all([inserted, finished]))[1];
}

function requireSender(from: string | null, domainStatus: string | null): string {
  if (!from) throw new StepFailure('The template of this step has no sender.');
  if (domainStatus !== 'verified') {
    throw new StepFailure(`The sender domain ${domainOf(from)} is not verified.`);
  }
  return from;
}

async function recipientOf(
  step: GraphStep,
  contactEmail: string,
  variables: TemplateVariables,
  renderer: Renderer,
) {
  const { recipient } = step.config as StepConfig<'SEND_EMAIL'>;
  if (recipient?.type !== 'CUSTOM') return { type: 'CONTACT' as const, email: contactEmail };
  const [written = ''] = await renderer.renderTexts([recipient.customEmail ?? ''], variables);
  const email = normaliseEmail(written);
  if (!email) throw new StepFailure(`"${written}" is not an email address to send to.`);
  return { type: 'CUSTOM' as const, email };
}
