import { randomUUID } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';
import { z } from 'zod';
import { requireAllowance, takeAllowance } from '../../db/billing/billing.ts';
import { type ContactRow, recordContact } from '../../db/contacts/contacts.ts';
import { type Database, transact } from '../../db/database.ts';
import type { AcceptedEmail } from '../../db/idempotency.ts';
import {
  type StoredAttachment,
  findEmailContact,
  insertAttachments,
  insertEmail,
} from '../../db/emails/emails.ts';
import { findProject } from '../../db/projects/projects.ts';
import { type TemplateRow, findTemplate } from '../../db/templates/templates.ts';
import { unitsOf } from '../../domain/billing.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { Problem, found, invalidField } from '../../domain/errors.ts';
import { safeFileName } from '../../domain/file-name.ts';
import { limits } from '../../domain/limits.ts';
import { isBodyTooLarge, localeOf, optOutUrls, renderMailWith } from '../../domain/mail/content.ts';
import { type MessageClass, readCustomHeaders } from '../../domain/mail/headers.ts';
import {
  type CompiledTemplate,
  type Renderer,
  compileTemplate,
} from '../../domain/template/render.ts';
import type { TemplateWarning } from '../../domain/template/warnings.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import { composeMessage, messageBytesEstimate } from '../../providers/mail/mime.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../http/services.ts';
import { asProblem } from '../http/envelope.ts';
import { Time, named } from '../http/schemas.ts';
import { SendBody, refuseLargeFiles } from './send-schema.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';

const SentEmail = named('SentEmail', {
  contact: z.object({ id: z.uuid(), email: z.string() }),
  email: z.uuid(),
});

type SentEmail = z.output<typeof SentEmail>;

/** Why a template could not be rendered. */
const SendWarning = named('SendWarning', {
  code: z.enum(['liquid_syntax', 'liquid_limit']),
  message: z.string(),
  line: z.int().nullable(),
  column: z.int().nullable(),
});

export const send = endpoint({
  id: 'send',
  method: 'POST',
  path: '/v1/send',
  tag: 'Public API',
  summary: 'Send a mail now, to one or several recipients',
  description:
    'Each recipient becomes a contact, a new one unsubscribed, and gets a message of their ' +
    'own. It is stored before the answer and delivered after it; GET /emails/{id} shows what ' +
    'became of it. The server limits attachments, by default to 10 files of 10 MB together, ' +
    'and a rendered body to 2 MB. If one of several recipients fails, `details.emails` lists ' +
    'the mails accepted before. CONTACT_UNSUBSCRIBED: the template is MARKETING and the ' +
    'contact is not subscribed. `warnings`: the template could not be rendered, so only ' +
    '`{{key}}` and `{{key ?? text}}` were replaced.',
  access: 'secret',
  bodyBytesMax: limits.sendBodyBytes,
  wrapped: true,
  body: SendBody,
  response: z.object({
    emails: z.array(SentEmail),
    warnings: z.array(SendWarning).optional(),
    timestamp: Time,
  }),
  problems: [
    'TEMPLATE_NOT_FOUND',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'CONTACT_UNSUBSCRIBED',
    'MESSAGE_TOO_LARGE',
    'BILLING_LIMIT_EXCEEDED',
  ],
  example: {
    body: {
      to: 'ada@shop.example',
      from: { name: 'The Shop', email: 'team@shop.example' },
      subject: 'Hi {{name ?? there}}',
      body: '<p>Your order is on its way.</p>',
    },
    response: {
      success: true,
      data: {
        emails: [
          {
            contact: { id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11', email: 'ada@shop.example' },
            email: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
          },
        ],
        timestamp: '2026-11-21T08:30:00.000Z',
      },
    },
  },
  async handle(call) {
    const { body, keyUse } = call;
    const { projectId } = call.caller;
    refuseLargeFiles(body.attachments, call.config);
    const timestamp = new Date().toISOString();
    const emails = acceptedBefore(body, keyUse);
    const warnings = new Warnings();
    const left = body.to.slice(emails.length);
    const mail = await admit(call, projectId, body, left.length).catch((error: unknown) => {
      throw emails.length > 0 ? withEmails(error, emails) : error;
    });
    for (const recipient of left) {
      const position = emails.length;
      const note = async (tx: Database, sent: SentEmail, found: readonly TemplateWarning[]) => {
        warnings.add(found);
        const isLast = position === body.to.length - 1;
        if (isLast) await keyUse?.completeIn(tx, answerOf([...emails, sent], warnings, timestamp));
        else await keyUse?.recordAccepted(tx, recordOf(sent, position));
      };
      try {
        if (call.stopping.aborted) throw new Problem('SERVICE_UNAVAILABLE');
        const emailId = keyUse?.emailId(position) ?? uuidV7();
        emails.push(await sendTo(call, mail, recipient, emailId, note));
      } catch (error) {
        throw withEmails(error, emails);
      }
    }
    return answerOf(emails, warnings, timestamp);
  },
});

function answerOf(emails: SentEmail[], warnings: Warnings, timestamp: string) {
  const { list } = warnings;
  return { emails, ...(list.length > 0 ? { warnings: list } : {}), timestamp };
}

/** The warnings of a request: what many recipients have in common is said once. */
class Warnings {
  readonly #byPlace = new Map<string, z.input<typeof SendWarning>>();

  add(warnings: readonly TemplateWarning[]): void {
    for (const warning of warnings) {
      const { code, message, line, column } = warning;
      if (code !== 'liquid_syntax' && code !== 'liquid_limit') continue;
      const key = JSON.stringify([code, line, column, line === null && message]);
      if (!this.#byPlace.has(key)) this.#byPlace.set(key, { code, message, line, column });
    }
  }

  get list() {
    return [...this.#byPlace.values()];
  }
}

/** Checks what concerns all recipients, before the first of those that are left. */
async function admit(
  { db, config }: Pick<Services, 'db' | 'config'>,
  projectId: string,
  body: SendBody,
  left: number,
): Promise<PreparedMail> {
  const mail = await prepare(db, projectId, body);
  if (left > 0) {
    // All or none; only parallel requests can still use up the rest in between.
    const share = { ...mail.share, units: left * mail.share.units };
    await requireAllowance(db, config.billing, share);
  }
  return mail;
}

/** What an earlier, unfinished request has accepted under this key. */
function acceptedBefore(
  { to }: SendBody,
  keyUse: { accepted: readonly AcceptedEmail[] } | null,
): SentEmail[] {
  return (keyUse?.accepted ?? []).map(({ position, emailId, contactId }) => ({
    contact: { id: contactId, email: to[position]?.email ?? '' },
    email: emailId,
  }));
}

function recordOf(sent: SentEmail, position: number): AcceptedEmail {
  return { position, emailId: sent.email, contactId: sent.contact.id };
}

/** An error at one recipient: earlier ones have their mail, and the response must say so. */
function withEmails(error: unknown, emails: readonly SentEmail[]): unknown {
  const problem = asProblem(error);
  if (emails.length === 0 && (problem !== error || problem.code === 'BILLING_LIMIT_EXCEEDED'))
    return error;
  return new Problem(problem.code, {
    message: problem.message,
    ...(problem.errors ? { errors: problem.errors } : {}),
    details: { ...problem.details, emails },
    cause: error,
  });
}

/** What all recipients of a request share. */
interface PreparedMail {
  project: { id: string; name: string; language: string; subscription: string | null };
  request: SendBody;
  subject: CompiledTemplate;
  body: CompiledTemplate;
  messageClass: MessageClass;
  templateId: string | null;
  from: { email: string; name: string };
  replyTo: string | null;
  headers: Record<string, string>;
  attachments: StoredAttachment[];
  /** What each message uses of the project's sending allowance. */
  share: { projectId: string; category: 'transactional'; units: number };
}

/** Finds template, sender and project of a request, and stores its attachments once. */
async function prepare(db: Database, projectId: string, request: SendBody): Promise<PreparedMail> {
  const id = request.template;
  const template = id && found('TEMPLATE', id, await findTemplate(db, projectId, id));
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  const from = senderOf(request, template || null, project.name);
  await requireVerifiedSender(db, projectId, from.email);
  const { headers, replyTo } = readCustomHeaders(request.headers);
  return {
    project,
    request,
    // The schema guarantees one of the two.
    subject: compileTemplate(request.subject ?? (template ? template.subject : '')),
    body: compileTemplate(request.body ?? (template ? template.body : '')),
    messageClass: template ? (template.type as MessageClass) : 'TRANSACTIONAL',
    templateId: template ? template.id : null,
    from,
    replyTo: request.reply ?? replyTo ?? (template ? template.reply_to : null),
    headers,
    attachments: await storeFiles(db, projectId, request),
    share: {
      projectId,
      category: 'transactional',
      units: unitsOf({ attachments: request.attachments?.length ?? 0 }),
    },
  };
}

function senderOf(request: SendBody, template: TemplateRow | null, projectName: string) {
  const email = request.from?.email ?? template?.from_email;
  if (!email) {
    throw invalidField('from', 'required', 'Neither the request nor the template has a sender.');
  }
  const own = request.from?.asText ? request.name : undefined;
  const given = own || request.from?.name;
  return { email, name: given || template?.from_name || projectName };
}

async function storeFiles(
  db: Database,
  projectId: string,
  { attachments = [], to }: SendBody,
): Promise<StoredAttachment[]> {
  if (to.length === 0 || attachments.length === 0) return [];
  const contents = attachments.map((file) => Buffer.from(file.content, 'base64'));
  const ids = await insertAttachments(db, projectId, contents);
  return attachments.map((file, index) => ({
    attachmentId: ids[index] ?? '',
    filename: safeFileName(file.filename),
    contentType: file.contentType,
    disposition: file.disposition,
    contentId: file.contentId ?? null,
    bytes: contents[index]?.length ?? 0,
  }));
}

/**
 * One recipient: contact, mail and idempotency record in one transaction, then the project's
 * delivery run is signalled. The ids are chosen before, because the transaction is restarted when a
 * text is slow to render. Where the mail is there already, nothing is done again.
 */
async function sendTo(
  { db, config, renderer }: Pick<Services, 'db' | 'config' | 'renderer'>,
  mail: PreparedMail,
  recipient: SendBody['to'][number],
  emailId: string,
  note: (tx: Database, sent: SentEmail, warnings: readonly TemplateWarning[]) => Promise<void>,
): Promise<SentEmail> {
  const ids = { email: emailId, newContact: randomUUID() };
  try {
    return await renderAhead(renderer, (known) =>
      transact(db, async (tx) => {
        const services = { config, renderer: known };
        const { contact, warnings } = await recordMail(tx, services, mail, recipient, ids);
        const sent = { contact: { id: contact.id, email: contact.email }, email: emailId };
        await note(tx, sent, warnings);
        return sent;
      }),
    );
  } catch (error) {
    if (!(error instanceof AlreadyAccepted)) throw error;
    const contact = await findEmailContact(db, mail.project.id, emailId);
    // Gone with its contact, between the two.
    if (!contact) throw new Problem('IDEMPOTENCY_IN_PROGRESS');
    return { contact, email: emailId };
  }
}

/** Another request has accepted the same mail of the same use of a key. */
class AlreadyAccepted extends Error {}

async function recordMail(
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
    source: 'api',
  });
  if (messageClass === 'MARKETING' && !contact.subscribed) {
    throw new Problem('CONTACT_UNSUBSCRIBED', {
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
      urls: optOutUrls(config.apiUrl, contact.id, ids.email),
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
    renderedPlainly: warnings[0],
  });
  // Thrown, so that nothing of this transaction counts a second time.
  if (!isNew) throw new AlreadyAccepted();
  return { contact, warnings };
}

/** Composes the whole message only when its size may matter. @throws Problem MESSAGE_TOO_LARGE */
async function refuseLargeMessage(
  mail: PreparedMail,
  content: { subject: string; body: string; headers: { name: string; value: string }[] },
  bytesMax: number,
): Promise<void> {
  if (isBodyTooLarge(content.body)) {
    throw new Problem('MESSAGE_TOO_LARGE', { message: 'The rendered body is larger than 2 MB.' });
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
  if (raw.length > bytesMax) throw new Problem('MESSAGE_TOO_LARGE');
}
