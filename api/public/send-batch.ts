import { randomUUID } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';
import { z } from 'zod';
import { requireAllowance, type Share } from '../../db/billing/billing.ts';
import { lockContactsWith } from '../../db/contacts/contacts.ts';
import { transact } from '../../db/database.ts';
import { monthOf } from '../../domain/billing.ts';
import { Problem, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { asProblem, errorBody } from '../http/envelope.ts';
import { inputSchema, named, Time, addFault } from '../http/schemas.ts';
import { choosing, readRequest, refuseAll } from '../http/validation.ts';
import {
  AlreadyAccepted,
  prepareMail,
  readingOnce,
  recordMail,
  shareOf,
  checkBesideMessage,
} from './prepared-mail.ts';
import {
  type MessageKey,
  presentSent,
  type SentEmail,
  SentMessage,
  sendMessage,
  sendProblems,
  Warnings,
} from './send-message.ts';
import { refuseLargeFiles, SendBody } from './send-schema.ts';

/** Sends many messages with one request: independently of each other, or all or none (`atomic`). */

/**
 * A body of `/v1/send`. The schema of the batch accepts any value. `readMessage` validates each
 * message, so that an invalid message does not refuse the others.
 */
const GivenMessage = z
  .unknown()
  .transform(
    choosing(
      (message: unknown) => message,
      () => SendBody,
    ),
  )
  .meta(inputSchema(SendBody));

const Batch = z
  .object({
    messages: z.array(GivenMessage).min(1).max(limits.batchMessages),
    atomic: z.boolean().default(false).describe('All messages are accepted, or none'),
  })
  .superRefine(({ messages }, context) => {
    const recipients = messages.reduce<number>((sum, message) => sum + recipientsOf(message), 0);
    if (recipients <= limits.recipients) return;
    const message = `All messages together must have at most ${limits.recipients} recipients, not ${recipients}.`;
    addFault(context, 'too_big', message, ['messages']);
  }, whenRight('messages'));

/** Returns the number of recipients of a message, which may be invalid. */
function recipientsOf(message: unknown): number {
  const to = typeof message === 'object' && message !== null && 'to' in message && message.to;
  return Array.isArray(to) ? to.length : 1;
}

const Refusal = named('MessageRefusal', {
  code: z.string(),
  message: z.string(),
  statusCode: z.int(),
  requestId: z.string(),
  errors: z
    .array(
      z.object({
        field: z.string(),
        message: z.string(),
        code: z.string(),
        received: z.string().optional(),
      }),
    )
    .optional(),
  suggestion: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

const Result = z.union([
  named('AcceptedMessage', { success: z.literal(true), data: SentMessage }),
  named('RefusedMessage', { success: z.literal(false), error: Refusal }),
]);

const BatchResult = z.object({
  accepted: z.int(),
  refused: z.int(),
  timestamp: Time,
  results: z.array(Result).describe('One per message, in the same order'),
});

type BatchCall = Call<'secret', unknown, unknown, z.output<typeof Batch>>;

export const sendBatch = endpoint({
  id: 'sendBatch',
  method: 'POST',
  path: '/v1/send/batch',
  summary: 'Send up to 500 messages with one request',
  description:
    'Each message is a body of /v1/send, and all together have up to 1,000 recipients. They ' +
    'are accepted one after the other; `results` has the /v1/send response of each. With ' +
    "`atomic`, one refused message refuses all: the error's fields begin with " +
    '`messages.<index>.`, and `details.index` is its index. The request counts once for the ' +
    'rate limit. A repeat with the same Idempotency-Key returns the same refusals: send ' +
    'those messages again with another key.',
  access: 'secret',
  bodyBytesMax: limits.sendBodyBytes,
  wrapped: true,
  body: Batch,
  response: BatchResult,
  problems: sendProblems,
  example: {
    body: {
      messages: [
        {
          to: 'ada@shop.example',
          from: 'team@shop.example',
          subject: 'Your order',
          body: '<p>It is on its way.</p>',
        },
        {
          to: 'bo@shop.example',
          from: 'team@elsewhere.example',
          subject: 'Your order',
          body: '<p>It is on its way.</p>',
        },
      ],
    },
    response: {
      accepted: 1,
      refused: 1,
      timestamp: '2026-11-21T08:30:00.000Z',
      results: [
        {
          success: true,
          data: {
            emails: [
              {
                contact: {
                  id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
                  email: 'ada@shop.example',
                },
                email: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
              },
            ],
            timestamp: '2026-11-21T08:30:00.000Z',
          },
        },
        {
          success: false,
          error: {
            code: 'DOMAIN_NOT_REGISTERED',
            message: 'The sender domain elsewhere.example does not belong to this project.',
            statusCode: 403,
            requestId: '1d0c4f0e-6a0e-4c57-9a2b-5d1a2f9e7c11',
            suggestion: 'Add the domain with POST /domains and verify it.',
            details: { domain: 'elsewhere.example' },
          },
        },
      ],
    },
  },
  handle: (call) => (call.body.atomic ? sendAll(call) : sendEach(call)),
});

/**
 * Accepts the messages one after the other; a refused message does not affect the next messages.
 * Accepted mails are recorded under the idempotency key, so that a repeated request continues after
 * them.
 * @throws Problem SERVICE_UNAVAILABLE when no message was accepted and at least one was refused
 * with 503
 */
async function sendEach(call: BatchCall): Promise<z.input<typeof BatchResult>> {
  const results: z.input<typeof Result>[] = [];
  const readOnce = readingOnce();
  let first = 0;
  for (const message of call.body.messages) {
    const key = keyFrom(call, first, recipientsOf(message));
    first += recipientsOf(message);
    try {
      const data = await sendMessage(call, await readMessage(call, message), key, readOnce);
      results.push({ success: true, data });
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status >= 500) {
        const index = results.length;
        call.log.error({ requestId: call.request.id, index, error }, 'a message of a batch failed');
      }
      results.push({ success: false, error: refusalOf(problem, call.request.id) });
    }
  }
  const accepted = results.filter(({ success }) => success).length;
  const isAway = results.some((one) => !one.success && one.error.statusCode === 503);
  if (accepted === 0 && isAway) throw new Problem('SERVICE_UNAVAILABLE');
  const timestamp = new Date().toISOString();
  return { accepted, refused: results.length - accepted, timestamp, results };
}

function refusalOf(problem: Problem, requestId: string): z.input<typeof Refusal> {
  const { errors, ...error } = errorBody(problem, requestId).error;
  return { ...error, ...(errors && { errors: [...errors] }) };
}

/**
 * Returns the part of the idempotency key for one message.
 * @param first the index of the first mail of the message among all mails of the request
 */
function keyFrom({ keyUse }: BatchCall, first: number, count: number): MessageKey | null {
  if (!keyUse) return null;
  return {
    accepted: keyUse.accepted
      .map((email) => ({ ...email, position: email.position - first }))
      .filter(({ position }) => position >= 0 && position < count),
    emailId: (index) => keyUse.emailId(first + index),
    record: (tx, email) =>
      keyUse.recordAccepted(tx, { ...email, position: first + email.position }),
  };
}

/**
 * Validates one message.
 * @throws Problem VALIDATION_ERROR with all errors of the message
 */
async function readMessage(call: BatchCall, message: unknown): Promise<SendBody> {
  const given = { params: undefined, query: undefined, body: message };
  const read = readRequest({ body: SendBody }, given);
  const body = read.parts.body as SendBody;
  await refuseAll(read, {
    check: async () => refuseLargeFiles(body?.attachments, call.config),
    beside: () => (body ? checkBesideMessage(call, body) : undefined),
  });
  return body;
}

/**
 * Accepts all messages in one transaction, which also stores the response under the idempotency
 * key.
 * @throws Problem of the first refused message, with `details.index`
 */
async function sendAll(call: BatchCall): Promise<z.input<typeof BatchResult>> {
  const { db, config, caller, renderer, keyUse } = call;
  const messages: { body: SendBody; newContacts: string[] }[] = [];
  for (const [index, message] of call.body.messages.entries()) {
    const body = await readMessage(call, message).catch((error: unknown) => {
      throw atMessage(index, error);
    });
    // Chosen before the transaction, because the transaction may be repeated.
    messages.push({ body, newContacts: body.to.map(() => randomUUID()) });
  }
  for (const share of sharesOf(caller.projectId, messages)) {
    await requireAllowance(db, config.billing, share);
  }
  if (call.stopping.aborted) throw new Problem('SERVICE_UNAVAILABLE');
  const addresses = messages.flatMap(({ body }) => body.to.map(({ email }) => email));
  const newIds = messages.flatMap(({ body }) => body.to.map(() => uuidV7()));
  const timestamp = new Date().toISOString();
  return renderAhead(renderer, (known) =>
    transact(db, async (tx) => {
      const results: z.input<typeof Result>[] = [];
      const readOnce = readingOnce();
      await lockContactsWith(tx, caller.projectId, addresses);
      let position = 0;
      for (const [index, { body, newContacts }] of messages.entries()) {
        const emails: SentEmail[] = [];
        const warnings = new Warnings();
        try {
          const mail = await prepareMail(tx, caller, body, { isContinued: false, readOnce });
          for (const [at, recipient] of body.to.entries()) {
            const email = keyUse?.emailId(position) ?? newIds[position]!;
            const ids = { email, newContact: newContacts[at]! };
            const services = { config, renderer: known };
            const made = await recordMail(tx, services, mail, recipient, ids);
            warnings.add(made.warnings);
            emails.push({ contact: { id: made.contact.id, email: made.contact.email }, email });
            position += 1;
          }
        } catch (error) {
          // Only another request with the same idempotency key can have used the ids of these
          // mails.
          if (error instanceof AlreadyAccepted) throw new Problem('IDEMPOTENCY_IN_PROGRESS');
          throw atMessage(index, error);
        }
        results.push({ success: true, data: presentSent(body, emails, warnings, timestamp) });
      }
      const answer = { accepted: results.length, refused: 0, timestamp, results };
      await keyUse?.completeIn(tx, answer);
      return answer;
    }),
  );
}

/** Adds the index of the message to a Problem; any other error is returned unchanged. */
function atMessage(index: number, error: unknown): unknown {
  if (!(error instanceof Problem) || error.status >= 500) return error;
  const { code, message, status, errors, suggestion } = error;
  const path = `messages.${index}`;
  return new Problem(code, {
    message,
    status,
    suggestion,
    ...(errors && {
      errors: errors.map((one) => ({
        ...one,
        field: one.field === '' ? path : `${path}.${one.field}`,
      })),
    }),
    details: { ...error.details, index },
    cause: error,
  });
}

/**
 * Returns the parts of the project's monthly allowances that messages use, the earliest month
 * first.
 */
function sharesOf(projectId: string, messages: readonly { body: SendBody }[]): Share[] {
  const byMonth = new Map<number, Share>();
  for (const { body } of messages) {
    const share = shareOf(projectId, body);
    const month = monthOf(share.at ?? new Date()).start.getTime();
    const units = (byMonth.get(month)?.units ?? 0) + body.to.length * share.units;
    byMonth.set(month, { ...share, units });
  }
  return [...byMonth].toSorted(([one], [other]) => one - other).map(([, share]) => share);
}
