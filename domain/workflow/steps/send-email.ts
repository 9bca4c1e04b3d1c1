import { z } from 'zod';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { isBodyTooLarge, type RenderedMail, renderMailWith } from '../../mail/content.ts';
import { domainOf, normaliseEmail } from '../../email-address.ts';
import { type MessageClass, needsSubscription } from '../../mail/headers.ts';
import type { WithheldReason } from '../../outcomes/outcome.ts';
import { compileTemplate, type Renderer, type TemplateVariables } from '../../template/render.ts';
import { addFault, StoredId } from './schemas.ts';
import { type Step, StepFailure, type StepModule } from './step.ts';

const Recipient = z
  .object({
    /** Absent: the contact. */
    type: z.enum(['CONTACT', 'CUSTOM']).optional(),
    /** An address, or a template for one. */
    customEmail: z.string().max(limits.headerValueChars).optional(),
  })
  .superRefine(
    ({ type, customEmail }, context) => {
      if (type !== 'CUSTOM') return;
      if (customEmail === undefined) {
        addFault(context, ['customEmail'], 'required', 'Give the address to send to.');
      } else if (!/\{[{%]/.test(customEmail) && normaliseEmail(customEmail) === null) {
        addFault(context, ['customEmail'], 'invalid_string', 'Must be an email address.');
      }
    },
    whenRight('type', 'customEmail'),
  );

const SendEmailSettings = z.object({
  recipient: Recipient.optional(),
  /** A copy of the step's template id, which takes precedence. */
  templateId: StoredId.nullable().optional(),
  /** Instead of the topic of the template; null: none. */
  topicId: StoredId.nullable().optional(),
});

type SendEmailConfig = z.output<typeof SendEmailSettings>;

/** Sends mail, made from a template. */
export const sendEmail: StepModule<SendEmailConfig> = {
  config: SendEmailSettings,
  ways: 'one',
  isPerformed: true,
  sendsMail: true,
  problems({ name, config, templateId }, { templates }) {
    const template = templateId === null ? undefined : templates.get(templateId);
    if (!template) return [`"${name}" has no template.`];
    return [
      ...(template.hasSender ? [] : [`The template of "${name}" has no sender.`]),
      ...(config.topicId && !template.isMarketing
        ? [`"${name}" has a topic, and its template is not of the type MARKETING.`]
        : []),
      ...(template.broken === undefined
        ? []
        : [`The template of "${name}" cannot be rendered: ${template.broken}`]),
    ];
  },
  label: 'EMAIL',
  examples: [
    { name: 'Welcome mail', config: {}, templateId: '5d0f1c2b-3a49-4e58-9d67-7c6b5a4f3e21' },
  ],
};

/** What the mail of a step is made of. */
export interface StepMailSource {
  contact: { email: string; subscribed: boolean };
  project: { name: string; subscription: string | null };
  /** null: it is gone. */
  template: StepTemplate | null;
  /** Of the template's sender; null: the project has no such domain. */
  domainStatus: string | null;
}

export interface StepTemplate {
  id: string;
  type: string;
  subject: string;
  body: string;
  fromEmail: string | null;
  fromName: string | null;
  replyTo: string | null;
}

export interface StepMail extends RenderedMail {
  messageClass: MessageClass;
  templateId: string;
  from: { email: string; name: string };
  replyTo: string | null;
  recipient: { type: 'CONTACT' | 'CUSTOM'; email: string };
  /** Why it is not sent; null: it is. */
  withheld: Extract<WithheldReason, 'contact_unsubscribed' | 'message_too_large'> | null;
}

/**
 * Makes the mail of a SEND_EMAIL step.
 * @param billed whether this server bills: then mail without a subscription has a badge.
 * @throws StepFailure when there is no template or no usable sender.
 */
export async function composeStepMail(
  renderer: Renderer,
  step: Step,
  { contact, project, template, domainStatus }: StepMailSource,
  variables: TemplateVariables,
  billed: boolean,
): Promise<StepMail> {
  if (!template) throw new StepFailure('The template of this step no longer exists.');
  const from = requireSender(template.fromEmail, domainStatus);
  const recipient = await recipientOf(step, contact.email, variables, renderer);
  const messageClass = template.type as MessageClass;
  const { content, rendered, warnings } = await renderMailWith(renderer, {
    subject: compileTemplate(template.subject),
    body: compileTemplate(template.body),
    messageClass,
    sourceType: 'WORKFLOW',
    variables,
    hasBadge: billed && project.subscription === null,
  });
  // Mail to a custom address goes to somebody else: the contact's subscription is irrelevant.
  const isUnwanted =
    needsSubscription(messageClass, 'WORKFLOW') &&
    recipient.type === 'CONTACT' &&
    !contact.subscribed;
  const isTooLarge = isBodyTooLarge(content.body);
  return {
    content,
    rendered,
    warnings,
    messageClass,
    templateId: template.id,
    from: { email: from, name: template.fromName ?? project.name },
    replyTo: template.replyTo,
    recipient,
    withheld: isUnwanted ? 'contact_unsubscribed' : isTooLarge ? 'message_too_large' : null,
  };
}

/** Whether the topic of a step concerns its mail: marketing mail to the contact itself. */
export function hasTopic({ config }: Step, template: { type: string } | null): boolean {
  const { recipient } = config as SendEmailConfig;
  return template?.type === 'MARKETING' && recipient?.type !== 'CUSTOM';
}

/** @param emailId null: it is not stored. */
export function mailOutput(
  { recipient, warnings }: StepMail,
  emailId: string | null,
  at: Date,
): Record<string, unknown> {
  return {
    emailId,
    sentAt: at.toISOString(),
    recipientType: recipient.type,
    recipientEmail: recipient.email,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

function requireSender(from: string | null, domainStatus: string | null): string {
  if (!from) throw new StepFailure('The template of this step has no sender.');
  if (domainStatus !== 'verified') {
    throw new StepFailure(`The sender domain ${domainOf(from)} is not verified.`);
  }
  return from;
}

async function recipientOf(
  step: Step,
  contactEmail: string,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<StepMail['recipient']> {
  const { recipient } = step.config as SendEmailConfig;
  if (recipient?.type !== 'CUSTOM') return { type: 'CONTACT', email: contactEmail };
  const custom = compileTemplate(recipient.customEmail ?? '');
  const { text: written } = await renderer.render('text', custom, variables);
  const email = normaliseEmail(written);
  if (!email) throw new StepFailure(`"${written}" is not an email address to send to.`);
  return { type: 'CUSTOM', email };
}
