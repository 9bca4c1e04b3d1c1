import { createHash } from 'node:crypto';
import { Problem } from '../../../domain/errors.ts';
import { measureJson } from '../../../domain/json-body.ts';
import { limits } from '../../../domain/limits.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { bounceTypeOf, isUnspecific, statusIn } from '../../../domain/mail/reports/status.ts';
import { cutText, storableText } from '../../../domain/text-rules.ts';
import type { FeedbackAdapter, ServiceEvent, WebhookRequest } from './adapter.ts';
import { isObject } from './fields.ts';

/** Feedback that a mail service reports about one message. */
export interface ServiceReport {
  emailId: string;
  feedback: Feedback;
  /**
   * The key is the same when a report is repeated, and different for all other reports on the
   * message.
   */
  key: string;
}

/**
 * Returns the events in a body, which is one event or a list.
 * @throws Problem INVALID_REQUEST_BODY; PAYLOAD_TOO_LARGE when there are too many events
 */
export function eventsIn(bytes: Buffer): readonly unknown[] {
  const { depth, items } = measureJson(bytes, limits.feedbackItems);
  // Checked before parsing, because parsed values may take tens of times the memory of their text.
  if (items > limits.feedbackItems || depth > limits.jsonDepth) {
    throw new Problem('PAYLOAD_TOO_LARGE', {
      message: 'The body has too many values, or is nested too deeply.',
    });
  }
  const body = parse(new TextDecoder().decode(bytes));
  const events: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (events.length <= limits.feedbackEvents) return events;
  throw new Problem('PAYLOAD_TOO_LARGE', {
    message: `The body has ${events.length} events; at most ${limits.feedbackEvents} are accepted.`,
    suggestion: 'Send the events in several requests.',
  });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Problem('INVALID_REQUEST_BODY', { message: 'The request body is not valid JSON.' });
  }
}

/**
 * Reads an event of a mail service; null: the event does not report on the delivery of a message,
 * or the message was not sent by Everpost.
 */
export function readReport(
  adapter: FeedbackAdapter,
  event: unknown,
  { request, now }: { request: WebhookRequest; now: Date },
): ServiceReport | null {
  if (!isObject(event)) return null;
  const read = adapter.read(event, request);
  if (!read || read.emailId === null) return null;
  const key = read.id ?? createHash('sha256').update(JSON.stringify(event)).digest('base64url');
  return { emailId: read.emailId, feedback: feedbackOf(read, now), key };
}

/** Returns the receipt of a report, which is stored so that repeats are recognised. */
export function receiptOf(providerId: string, emailId: string, key: string): string {
  const text = JSON.stringify([providerId, emailId, key]);
  return `webhook ${createHash('sha256').update(text).digest('base64url')}`;
}

/** Maximum number of characters that are stored of a service's text. */
const textMax = 500;

function feedbackOf(
  { outcome, at: written, text: given, code }: ServiceEvent,
  now: Date,
): Feedback {
  const at = written && written.getTime() >= 0 && written <= now ? written : now;
  const line = storableText(given ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const text = line === '' ? null : cutText(line, textMax);
  const status = statusOf(code ?? null, line);
  const report = { source: 'webhook', status, text } as const;
  switch (outcome.kind) {
    case 'bounce': {
      const bounceType =
        outcome.bounceType === 'Permanent' && status !== null
          ? bounceTypeOf(status, line)
          : outcome.bounceType;
      return { kind: 'bounce', at, bounceType, text, report };
    }
    case 'rejection':
      return { kind: 'rejection', at, text: text ?? 'The mail service did not send the message.' };
    case 'accepted':
    case 'unsubscribe':
      return { kind: outcome.kind, at };
    default:
      return { kind: outcome.kind, at, report };
  }
}

/**
 * Returns the enhanced status code of an event (RFC 3463); null: the event has no code. A code in a
 * separate field has precedence over a code in the text, unless the code in the field names only
 * the class.
 */
function statusOf(code: string | null, text: string): string | null {
  const given = statusIn(code ?? '');
  const written = given === null || isUnspecific(given) ? statusIn(text) : null;
  if (written ?? given) return written ?? given;
  // A 4xx reply code means a temporary failure (RFC 5321, 4.2.1), for which the service has stopped
  // trying.
  return /^\s*4\d\d\b/.test(code ?? text) ? '4.0.0' : null;
}
