import { randomUUID } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';
import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { findEmailContact } from '../../db/emails/emails.ts';
import type { AcceptedEmail } from '../../db/idempotency.ts';
import { Problem, type ProblemCode } from '../../domain/errors.ts';
import type { TemplateWarning } from '../../domain/template/warnings.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import { asProblem } from '../http/envelope.ts';
import { Time, named } from '../http/schemas.ts';
import type { ProjectCaller } from '../access/caller.ts';
import type { Services } from '../services/services.ts';
import {
  AlreadyAccepted,
  type PreparedMail,
  prepareMail,
  type ReadOnce,
  recordMail,
  requireShare,
} from './prepared-mail.ts';
import type { SendBody } from './send-schema.ts';

/** Accepts a message for its recipients, one after the other. */

const SentEmail = named('SentEmail', {
  contact: z.object({ id: z.uuid(), email: z.string() }),
  email: z.uuid(),
});

export type SentEmail = z.output<typeof SentEmail>;

/** The reason why a template could not be rendered. */
const SendWarning = named('SendWarning', {
  code: z.enum(['liquid_syntax', 'liquid_limit']),
  message: z.string(),
  line: z.int().nullable(),
  column: z.int().nullable(),
});

export const SentMessage = z.object({
  emails: z.array(SentEmail),
  warnings: z.array(SendWarning).optional(),
  scheduledFor: Time.optional().describe('Only if the request has one'),
  timestamp: Time,
});

export type SentMessage = z.output<typeof SentMessage>;

/** Reasons for refusing a message, besides invalid fields. */
export const sendProblems: ProblemCode[] = [
  'TEMPLATE_NOT_FOUND',
  'SCHEDULE_IN_PAST',
  'DOMAIN_NOT_REGISTERED',
  'DOMAIN_NOT_VERIFIED',
  'CONTACT_UNSUBSCRIBED',
  'MESSAGE_TOO_LARGE',
  'BILLING_LIMIT_EXCEEDED',
];

/** The parts of a call that `sendMessage` needs. */
export interface SendCall extends Pick<Services, 'db' | 'config' | 'renderer'> {
  caller: ProjectCaller;
  stopping: AbortSignal;
}

/**
 * The use of an idempotency key for one message: the mails that an earlier request with the same
 * key has accepted, and functions for the further mails of this request.
 */
export interface MessageKey {
  /** The mails that earlier requests have accepted, for the first recipients. */
  accepted: readonly AcceptedEmail[];
  /** Returns the id of a recipient's mail, by the index in `to`. */
  emailId(index: number): string;
  /**
   * Records an accepted mail in the transaction of the mail. `answer` is the response to the
   * message, which is set only for the last recipient.
   */
  record(tx: Database, email: AcceptedEmail, answer: SentMessage | null): Promise<void>;
}

/**
 * Sends one message to its recipients one after the other, each in its own transaction.
 * @param readOnce shared by the messages of a request.
 * @throws Problem with `details.emails` when some recipients already have their mail
 */
export async function sendMessage(
  call: SendCall,
  body: SendBody,
  key: MessageKey | null,
  readOnce?: ReadOnce,
): Promise<SentMessage> {
  const timestamp = new Date().toISOString();
  const warnings = new Warnings();
  const emails = acceptedBefore(body, key?.accepted ?? []);
  const answer = (sent: SentEmail[]) => presentSent(body, sent, warnings, timestamp);
  const left = body.to.slice(emails.length);
  const isContinued = emails.length > 0;
  const mail = await admit(call, body, { left: left.length, isContinued, readOnce }).catch(
    (error) => {
      throw isContinued ? withEmails(error, emails) : error;
    },
  );
  for (const recipient of left) {
    const position = emails.length;
    const note = async (tx: Database, sent: SentEmail, found: readonly TemplateWarning[]) => {
      warnings.add(found);
      const isLast = position === body.to.length - 1;
      const record = { position, emailId: sent.email, contactId: sent.contact.id };
      await key?.record(tx, record, isLast ? answer([...emails, sent]) : null);
    };
    try {
      if (call.stopping.aborted) throw new Problem('SERVICE_UNAVAILABLE');
      const emailId = key?.emailId(position) ?? uuidV7();
      emails.push(await sendTo(call, mail, recipient, emailId, note));
    } catch (error) {
      throw withEmails(error, emails);
    }
  }
  return answer(emails);
}

export function presentSent(
  { scheduledFor }: SendBody,
  emails: SentEmail[],
  { list }: Warnings,
  timestamp: string,
): SentMessage {
  return {
    emails,
    ...(list.length > 0 ? { warnings: list } : {}),
    ...(scheduledFor ? { scheduledFor: scheduledFor.toISOString() } : {}),
    timestamp,
  };
}

/**
 * Checks the message for all remaining recipients, before mail for the first of them is accepted.
 */
async function admit(
  { db, config, caller }: SendCall,
  body: SendBody,
  { left, ...options }: { left: number; isContinued: boolean; readOnce: ReadOnce | undefined },
): Promise<PreparedMail> {
  const mail = await prepareMail(db, caller, body, options);
  await requireShare(db, config.billing, mail, left);
  return mail;
}

/** Collects the warnings of a message, without repeating them for each recipient. */
export class Warnings {
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

/** Returns the mails of a message that an earlier, unfinished request has accepted. */
function acceptedBefore({ to }: SendBody, accepted: readonly AcceptedEmail[]): SentEmail[] {
  return accepted.map(({ position, emailId, contactId }) => ({
    contact: { id: contactId, email: to[position]?.email ?? '' },
    email: emailId,
  }));
}

/** Adds the mails of earlier recipients to an error, because they are accepted already. */
function withEmails(error: unknown, emails: readonly SentEmail[]): unknown {
  const problem = asProblem(error);
  if (emails.length === 0 && (problem !== error || problem.code === 'BILLING_LIMIT_EXCEEDED'))
    return error;
  return new Problem(problem.code, {
    message: problem.message,
    suggestion: problem.suggestion,
    ...(problem.errors ? { errors: problem.errors } : {}),
    details: { ...problem.details, emails },
    cause: error,
  });
}

/**
 * Accepts the mail of one recipient: the contact, the mail and the idempotency record are written
 * in one transaction. Then signals the project's delivery run. The ids are chosen before the
 * transaction, because the transaction is repeated when a text is slow to render. If the mail
 * exists already, nothing is changed.
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
    // The mail was deleted together with its contact in the meantime.
    if (!contact) throw new Problem('IDEMPOTENCY_IN_PROGRESS');
    return { contact, email: emailId };
  }
}
