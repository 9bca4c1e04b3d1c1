import { v7 as uuidV7 } from 'uuid';
import {
  type BillingRules,
  requireAllowance,
  type Share,
  takeAllowance,
} from '../../db/billing/billing.ts';
import { type ConsentOrigin, noEvidence } from '../../db/consent/log.ts';
import { type ContactRow, refuseMergedData } from '../../db/contacts/contacts.ts';
import { recordContact } from '../../db/transactions/contacts/record-contact.ts';
import type { Database } from '../../db/database.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { type StoredAttachment, insertAttachments, insertEmail } from '../../db/emails/emails.ts';
import { findProject } from '../../db/projects/projects.ts';
import { type TemplateRow, findTemplate } from '../../db/templates/templates.ts';
import { findTopic } from '../../db/topics/topics.ts';
import { unitsOf } from '../../domain/billing.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { Problem, found, invalidField, together } from '../../domain/errors.ts';
import { safeFileName } from '../../domain/upload/file-name.ts';
import { isBodyTooLarge, localeOf, optOutUrls, renderMailWith } from '../../domain/mail/content.ts';
import { domainOf } from '../../domain/email-address.ts';
import { type MessageClass, readCustomHeaders } from '../../domain/mail/headers.ts';
import {
  type CompiledTemplate,
  type Renderer,
  compileTemplate,
} from '../../domain/template/render.ts';
import type { TemplateWarning } from '../../domain/template/warnings.ts';
import { composeMessage, messageBytesEstimate } from '../../providers/mail/mime.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { requireSenderDomain } from '../access/keys.ts';
import type { Services } from '../services/services.ts';
import { noSender, type SendBody } from './send-schema.ts';

/** Prepares a message for all recipients, and records the mail of each recipient. */

export interface PreparedMail {
  /** The consent evidence that is stored if the message changes a recipient's subscription. */
  origin: ConsentOrigin;
  project: { id: string; name: string; language: string; subscription: string | null };
  request: SendBody;
  subject: CompiledTemplate;
  body: CompiledTemplate;
  messageClass: MessageClass;
  templateId: string | null;
  /** null: the mail has no topic. */
  topic: { id: string; key: string } | null;
  from: { email: string; name: string };
  replyTo: string | null;
  headers: Record<string, string>;
  attachments: StoredAttachment[];
  /** The part of the project's monthly allowance that the mail of each recipient uses. */
  share: Share;
}

/** Returns a row. Reads the row only if no earlier message of the same request has read it. */
export type ReadOnce = <T>(key: string, read: () => Promise<T>) => Promise<T>;

/**
 * Returns a function that reads data once for all messages of a request. If a read fails, it is
 * repeated for the next message.
 */
export function readingOnce(): ReadOnce {
  const known = new Map<string, unknown>();
  return async <T>(key: string, read: () => Promise<T>) => {
    if (!known.has(key)) known.set(key, await read());
    return known.get(key) as T;
  };
}

/**
 * Finds the template, sender and project of a message, and stores its attachments once.
 * @param options.isContinued true: an earlier request with the same idempotency key has accepted
 * mail for some recipients. The other recipients get their mail even if the send time has passed in
 * the meantime.
 */
export async function prepareMail(
  db: Database,
  caller: ProjectCaller,
  request: SendBody,
  {
    isContinued,
    readOnce = readingOnce(),
  }: { isContinued: boolean; readOnce?: ReadOnce | undefined },
): Promise<PreparedMail> {
  const { projectId } = caller;
  const id = request.template;
  const template =
    id &&
    (await readOnce(`template ${id}`, async () =>
      found('TEMPLATE', id, await findTemplate(db, projectId, id)),
    ));
  const project = await readOnce('project', async () =>
    found('PROJECT', projectId, await findProject(db, projectId)),
  );
  const from = senderOf(request, template || null, project.name);
  if (!isContinued) refusePast(request.scheduledFor);
  requireSenderDomain(caller, domainOf(from.email));
  await readOnce(`domain ${domainOf(from.email)}`, () =>
    requireVerifiedSender(db, projectId, from.email),
  );
  const topicId = template ? template.topic_id : null;
  const topic =
    topicId && (await readOnce(`topic ${topicId}`, () => findTopic(db, projectId, topicId)));
  const { headers, replyTo } = readCustomHeaders(request.headers);
  return {
    origin: { ...noEvidence, source: 'api', actor: actorOf(caller) },
    project,
    request,
    // The schema guarantees that there is a template, or both subject and body.
    subject: compileTemplate(request.subject ?? (template ? template.subject : '')),
    body: compileTemplate(request.body ?? (template ? template.body : '')),
    messageClass: template ? (template.type as MessageClass) : 'TRANSACTIONAL',
    templateId: template ? template.id : null,
    topic: topic || null,
    from,
    replyTo: request.reply ?? replyTo ?? (template ? template.reply_to : null),
    headers,
    attachments: await storeFiles(db, projectId, request),
    share: shareOf(projectId, request),
  };
}

export function shareOf(projectId: string, { attachments, scheduledFor }: SendBody): Share {
  return {
    projectId,
    category: 'transactional',
    units: unitsOf({ attachments: attachments?.length ?? 0 }),
    at: scheduledFor ?? null,
  };
}

/**
 * Refuses a send time in the past.
 * @throws Problem SCHEDULE_IN_PAST
 */
export function refusePast(at: Date | null | undefined): void {
  if (!at || at.getTime() > Date.now()) return;
  const message = `The send time ${at.toISOString()} is not in the future.`;
  throw new Problem('SCHEDULE_IN_PAST', { message });
}

/**
 * Refuses a message for all recipients if the allowance is too small for all of them together.
 * Nothing is reserved, so parallel requests may use up the allowance before the last recipient.
 * @throws Problem BILLING_LIMIT_EXCEEDED
 */
export async function requireShare(
  db: Database,
  rules: BillingRules,
  { share }: PreparedMail,
  recipients: number,
): Promise<void> {
  if (recipients === 0) return;
  await requireAllowance(db, rules, { ...share, units: recipients * share.units });
}

/**
 * Finds further errors of a request that is refused anyway: a missing sender, or data that are too
 * large for a recipient. For other requests, `prepareMail` and `recordMail` find these errors. The
 * second parameter contains only the valid fields of the message.
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function checkBesideMessage(
  { db, caller: { projectId } }: { db: Database; caller: ProjectCaller },
  { template: id, from, to = [], data }: Partial<SendBody>,
): Promise<void> {
  await together(
    async () => {
      if (!id || from) return;
      const template = await findTemplate(db, projectId, id);
      if (template && !template.from_email) {
        throw senderlessTemplate();
      }
    },
    () => {
      const emails = to.map(({ email }) => email);
      return refuseMergedData(db, projectId, { emails }, planContactData(data));
    },
  );
}

const missingSender = () => invalidField('from', noSender.params.code, noSender.message);

const senderlessTemplate = () =>
  invalidField(
    'from',
    noSender.params.code,
    'The template has no sender. Send `from`, or give the template a sender.',
  );

function senderOf(request: SendBody, template: TemplateRow | null, projectName: string) {
  const email = request.from?.email ?? template?.from_email;
  if (!email) throw template ? senderlessTemplate() : missingSender();
  const own = request.from?.asText ? request.name : undefined;
  const given = own || request.from?.name;
  return { email, name: given || template?.from_name || projectName };
}

async function storeFiles(
  db: Database,
  projectId: string,
  { attachments = [], to, scheduledFor = null }: SendBody,
): Promise<StoredAttachment[]> {
  if (to.length === 0 || attachments.length === 0) return [];
  const contents = attachments.map((file) => Buffer.from(file.content, 'base64'));
  const ids = await insertAttachments(db, projectId, contents, scheduledFor);
  return attachments.map((file, index) => ({
    attachmentId: ids[index] ?? '',
    filename: safeFileName(file.filename),
    contentType: file.contentType,
    disposition: file.disposition,
    contentId: file.contentId ?? null,
    bytes: contents[index]?.length ?? 0,
  }));
}

/** Thrown when another request with the same idempotency key has accepted the same mail. */
export class AlreadyAccepted extends Error {}

/**
 * Records the mail of one recipient, in the caller's transaction: the contact and the email row.
 * @param ids chosen before the transaction, because the transaction may be repeated.
 * @throws Problem CONTACT_UNSUBSCRIBED, MESSAGE_TOO_LARGE, BILLING_LIMIT_EXCEEDED; AlreadyAccepted
 */
export async function recordMail(
  tx: Database,
  { config, renderer }: Pick<Services, 'config'> & { renderer: Renderer },
  mail: PreparedMail,
  recipient: SendBody['to'][number],
  ids: { email: string; newContact: string },
): Promise<{ contact: ContactRow; warnings: TemplateWarning[] }> {
  const { project, request, messageClass } = mail;
  const change = planContactData(
    recipient.name ? { ...request.data, name: recipient.name } : request.data,
  );
  const { contact } = await recordContact(tx, project.id, {
    email: recipient.email,
    idWhenNew: ids.newContact,
    subscribed: request.subscribed,
    subscribedWhenNew: false,
    data: change,
    origin: mail.origin,
  });
  if (messageClass === 'MARKETING' && !contact.subscribed) {
    throw new Problem('CONTACT_UNSUBSCRIBED', {
      message: `The contact ${contact.email} is unsubscribed and cannot receive marketing mail.`,
      details: { contact: contact.id, email: contact.email },
    });
  }
  const { content, warnings } = await renderMailWith(renderer, {
    subject: mail.subject,
    body: mail.body,
    messageClass,
    sourceType: 'TRANSACTIONAL',
    variables: {
      owner: project.id,
      contact,
      given: { ...change.set, ...change.oneTime },
      locale: localeOf({ ...contact.data, ...change.oneTime }, project.language),
      urls: optOutUrls(config.apiUrl, contact.id, ids.email, mail.topic?.key),
    },
    customHeaders: mail.headers,
    hasBadge: config.billing !== null && project.subscription === null,
  });
  await refuseLargeMessage(mail, content, config.mail.messageBytesMax);
  const allowanceMonth = await takeAllowance(tx, config.billing, mail.share);
  const isNew = await insertEmail(tx, {
    id: ids.email,
    allowance_month: allowanceMonth,
    project_id: project.id,
    contact_id: contact.id,
    to_name: recipient.name,
    to_email: contact.email,
    ...content,
    attachments: mail.attachments,
    from_email: mail.from.email,
    from_name: mail.from.name,
    reply_to: mail.replyTo,
    message_class: messageClass,
    source_type: 'TRANSACTIONAL',
    template_id: mail.templateId,
    topic_id: mail.topic?.id ?? null,
    scheduled_for: request.scheduledFor ?? null,
    caused_by: mail.origin.actor,
    renderedPlainly: warnings[0],
  });
  // The error rolls this transaction back, so that nothing is counted twice.
  if (!isNew) throw new AlreadyAccepted();
  return { contact, warnings };
}

/**
 * Refuses a message that is too large. Composing is slow, so the message is composed only if its
 * estimated size exceeds the limit.
 * @throws Problem MESSAGE_TOO_LARGE
 */
async function refuseLargeMessage(
  mail: PreparedMail,
  content: { subject: string; body: string; headers: { name: string; value: string }[] },
  bytesMax: number,
): Promise<void> {
  if (isBodyTooLarge(content.body)) {
    throw new Problem('MESSAGE_TOO_LARGE', {
      message: 'The rendered body is larger than 2 MB. Shorten the template or its data.',
    });
  }
  const message = {
    subject: content.subject,
    html: content.body,
    headers: content.headers,
    attachments: (mail.request.attachments ?? []).map((file) => ({
      ...file,
      contentId: file.contentId ?? null,
    })),
  };
  if (messageBytesEstimate(message) <= bytesMax) return;
  const raw = await composeMessage({
    ...message,
    emailId: uuidV7(),
    date: new Date(),
    from: { name: mail.from.name, address: mail.from.email },
    to: { name: null, address: mail.from.email },
    replyTo: mail.replyTo,
  });
  if (raw.length > bytesMax) {
    const message = `The message with its attachments has ${raw.length} bytes, but at most ${bytesMax} are allowed.`;
    throw new Problem('MESSAGE_TOO_LARGE', { message });
  }
}
