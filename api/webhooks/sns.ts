import { z } from 'zod';
import { insertSnsReceipt } from '../../db/emails/sns-receipts.ts';
import { type InboundMail, recordInboundMail } from '../../db/transactions/mail/record-inbound.ts';
import { Problem, invalidField, notFound } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { hasForbiddenText } from '../../domain/text-rules.ts';
import type { SnsEnvelope } from '../../providers/mail/sns.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import {
  acceptedAt,
  feedbackOf,
  inboundMailOf,
  kindOf,
  readSesMessage,
  taggedEmailId,
} from './ses-message.ts';
import { transact } from '../../db/database.ts';

/** The receiver of Amazon SES's messages through SNS, under each of its paths. */
export const snsEndpoints = [
  receiver('receiveSns', '/webhooks/sns'),
  receiver('receiveIncomingSns', '/webhooks/incoming/sns'),
  receiver('receiveApiSns', '/api/webhooks/sns'),
];

function receiver(id: string, path: `/${string}`) {
  return endpoint({
    id,
    method: 'POST',
    path,
    tag: 'Webhook receivers',
    summary: 'Feedback on sent mail and received mail, from Amazon SNS',
    description:
      'Confirms subscriptions by itself. A notification that comes twice has effect once. ' +
      'INVALID_SIGNATURE: it is not signed by SNS. FORBIDDEN: its topic is none of the ' +
      "server's. EMAIL_NOT_FOUND: it is about a mail this server does not know. " +
      'SERVICE_UNAVAILABLE: send it again.',
    access: 'open',
    limit: 'none',
    asSent: true,
    unavailable: ({ snsTopics }) => (snsTopics === null ? 'RESOURCE_NOT_FOUND' : null),
    bodyBytesMax: limits.jsonBodyBytes,
    response: z.object({ success: z.literal(true), message: z.string().optional() }),
    problems: [
      'RESOURCE_NOT_FOUND',
      'INVALID_REQUEST_BODY',
      'INVALID_SIGNATURE',
      'FORBIDDEN',
      'INVALID_SUBSCRIBE_URL',
      'INVALID_NOTIFICATION',
      'EMAIL_NOT_FOUND',
      'SERVICE_UNAVAILABLE',
    ],
    example: { response: { success: true } },
    async handle(call) {
      const envelope = readEnvelope(call.request.bytes);
      await requireAuthentic(call, envelope);
      return { success: true as const, ...(await receive(call, envelope)) };
    },
  });
}

function readEnvelope(bytes: Buffer): SnsEnvelope {
  let body: unknown;
  try {
    body = bytes.length === 0 ? {} : JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Problem('INVALID_REQUEST_BODY');
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as SnsEnvelope;
  throw invalidField('', 'invalid_type', 'Must be an object.');
}

/**
 * Nothing in the body is used before its signature is checked. Checks that need no request come
 * first, so that a message for another topic cannot make us fetch anything.
 */
async function requireAuthentic({ sns, config, log }: Services, envelope: SnsEnvelope) {
  const flaw = sns.findFlaw(envelope);
  if (flaw !== null) throw new Problem('INVALID_SIGNATURE', { message: flaw });
  const topic = envelope['TopicArn'] as string;
  if (config.snsTopics !== 'any' && !config.snsTopics?.includes(topic)) {
    throw new Problem('FORBIDDEN', { message: 'Notifications of this topic are not taken.' });
  }
  const isAuthentic = await sns.isAuthentic(envelope).catch((error: unknown) => {
    log.warn({ error }, 'the certificate of a notification cannot be had');
    throw new Problem('SERVICE_UNAVAILABLE');
  });
  if (!isAuthentic) throw new Problem('INVALID_SIGNATURE');
}

async function receive(call: Services, envelope: SnsEnvelope): Promise<{ message?: string }> {
  switch (envelope['Type']) {
    case 'SubscriptionConfirmation':
      return confirm(call, envelope['SubscribeURL'] as string);
    case 'Notification':
      await handleNotification(call, envelope);
      return {};
    default:
      return { message: 'There is nothing to do for this type of message.' };
  }
}

async function confirm({ sns, log }: Services, url: string): Promise<{ message: string }> {
  if (!sns.isSnsUrl(url)) throw new Problem('INVALID_SUBSCRIBE_URL');
  await sns.confirm(url).catch((error: unknown) => {
    log.warn({ error }, 'a subscription cannot be confirmed');
    throw new Problem('SERVICE_UNAVAILABLE');
  });
  return { message: 'The subscription is confirmed.' };
}

/**
 * How long a notification may wait for others, in milliseconds: at 500 in a second these are a full
 * transaction. SNS gives 15 seconds.
 */
const maxDelayMs = 100;

/** The receipt and all effects are one transaction: a failure leaves nothing; SNS repeats. */
async function handleNotification(call: Services, envelope: SnsEnvelope): Promise<void> {
  const now = new Date();
  const message = readSesMessage(envelope['Message']);
  const receipt = receiptOf(envelope);
  if (kindOf(message) === 'Received') {
    const inbound = await inboundMailOf(message);
    if (inbound) await recordInbound(call, receipt, inbound);
    return;
  }
  const feedback = feedbackOf(message, now);
  if (!feedback) return;
  const { messageId } = message.mail;
  const emailId = taggedEmailId(message);
  const answer = await call.feedback.record(
    { emailId, messageId, feedback: [feedback], acceptedAt: acceptedAt(message, now), receipt },
    maxDelayMs,
  );
  // The acceptance of a message that is not ours does not matter.
  if (answer === 'unknown' && feedback.kind !== 'accepted') {
    throw notFound('EMAIL', emailId ?? messageId);
  }
}

/** Longest id of a notification, in characters; those of SNS are uuids. */
const receiptCharsMax = 255;

function receiptOf({ MessageId: id }: SnsEnvelope): string {
  const isId = typeof id === 'string' && id !== '' && id.length <= receiptCharsMax;
  if (!isId || hasForbiddenText(id)) throw new Problem('INVALID_NOTIFICATION');
  return id;
}

async function recordInbound({ db }: Services, receipt: string, mail: InboundMail): Promise<void> {
  await transact(db, async (tx) => {
    if (await insertSnsReceipt(tx, receipt)) await recordInboundMail(tx, mail);
  });
}
