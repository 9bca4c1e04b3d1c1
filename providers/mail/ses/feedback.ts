import type { Logger } from 'pino';
import { Problem, invalidField } from '../../../domain/errors.ts';
import { hasForbiddenText } from '../../../domain/text-rules.ts';
import type { FeedbackDefinition, FeedbackReader, FeedbackRequest } from '../provider.ts';
import {
  acceptedAt,
  clientOf,
  feedbackOf,
  inboundMailOf,
  kindOf,
  readSesMessage,
  taggedEmailId,
} from './message.ts';
import { createSns, type Sns, type SnsEnvelope } from './sns.ts';

/** Amazon SES, which reports through Amazon SNS to each of these paths. */
export const sesFeedback: FeedbackDefinition = {
  endpoints: [
    { id: 'receiveSns', path: '/webhooks/sns' },
    { id: 'receiveIncomingSns', path: '/webhooks/incoming/sns' },
    { id: 'receiveApiSns', path: '/api/webhooks/sns' },
  ],
  summary: 'Feedback on sent mail and received mail, from Amazon SNS',
  description:
    'Confirms SNS subscriptions automatically. A repeated notification has effect once. ' +
    'INVALID_SIGNATURE: it is not signed by SNS. FORBIDDEN: its topic is neither in ' +
    'SNS_TOPIC_ARN nor the `snsTopicArn` of a mail provider. The topic of a provider reports only on ' +
    'mail of this provider. EMAIL_NOT_FOUND: this server does not have the mail. ' +
    'SERVICE_UNAVAILABLE: send it again.',
  problems: [
    'INVALID_REQUEST_BODY',
    'VALIDATION_ERROR',
    'INVALID_SIGNATURE',
    'FORBIDDEN',
    'INVALID_SUBSCRIBE_URL',
    'INVALID_NOTIFICATION',
    'SERVICE_UNAVAILABLE',
  ],
  // Anyone with an AWS account can have messages signed by SNS. So in production, and when SES
  // sends, the endpoints accept only the topics of mail providers, unless the setting names topics.
  configure({ SNS_TOPIC_ARN }: { SNS_TOPIC_ARN?: string }, { isProduction, isSending }) {
    const topics = topicsOf(SNS_TOPIC_ARN);
    if (topics.length > 0) return topics;
    return isSending || isProduction ? null : 'any';
  },
  createReader: () => snsReader(createSns()),
};

const tryAgain =
  'Amazon SNS sends the message again. If it fails again, see the log of the server.';

export function topicsOf(list: string | undefined): string[] {
  return list?.split(',').flatMap((topic) => topic.trim() || []) ?? [];
}

export function snsReader(sns: Sns): FeedbackReader {
  return {
    async read(body, isTrusted, log) {
      const envelope = readEnvelope(body);
      await requireAuthentic(envelope, { sns, isTrusted, log });
      switch (envelope['Type']) {
        case 'SubscriptionConfirmation':
          return confirm(envelope['SubscribeURL'] as string, sns, log);
        case 'Notification':
          return readNotification(envelope);
        default:
          return {
            kind: 'done',
            message: 'Nothing was done: messages of this type are ignored.',
          };
      }
    },
  };
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
 * Checks that a message is authentic, before its content is used. The checks that make no request
 * come first, so that a message for another topic cannot make the server fetch anything.
 */
async function requireAuthentic(
  envelope: SnsEnvelope,
  {
    sns,
    isTrusted,
    log,
  }: { sns: Sns; isTrusted: (topic: string) => Promise<boolean>; log: Logger },
): Promise<void> {
  const flaw = sns.findFlaw(envelope);
  if (flaw !== null) throw new Problem('INVALID_SIGNATURE', { message: flaw });
  if (!(await isTrusted(String(envelope['TopicArn'])))) {
    throw new Problem('FORBIDDEN', {
      message:
        'The SNS topic of this notification is unknown: it is not in SNS_TOPIC_ARN, and no mail provider has it as `snsTopicArn`.',
      suggestion:
        'The operator of this server can add the topic to SNS_TOPIC_ARN. A project can set it as `snsTopicArn` of its own provider.',
    });
  }
  const isAuthentic = await sns.isAuthentic(envelope).catch((error: unknown) => {
    log.warn({ error }, 'the certificate of Amazon SNS could not be fetched');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: 'The certificate that signed the message could not be fetched from Amazon SNS.',
      suggestion: tryAgain,
    });
  });
  if (!isAuthentic) throw new Problem('INVALID_SIGNATURE');
}

async function confirm(url: string, sns: Sns, log: Logger): Promise<FeedbackRequest> {
  if (!sns.isSnsUrl(url)) throw new Problem('INVALID_SUBSCRIBE_URL');
  await sns.confirm(url).catch((error: unknown) => {
    log.warn({ error }, 'the subscription to an SNS topic could not be confirmed');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: 'Amazon SNS did not confirm the subscription.',
      suggestion: tryAgain,
    });
  });
  return { kind: 'done', message: 'The subscription is confirmed.' };
}

async function readNotification(envelope: SnsEnvelope): Promise<FeedbackRequest> {
  const now = new Date();
  const message = readSesMessage(envelope['Message']);
  const receipt = receiptOf(envelope);
  if (kindOf(message) === 'Received') {
    const mail = await inboundMailOf(message);
    return mail ? { kind: 'inbound', receipt, mail } : { kind: 'done' };
  }
  const feedback = feedbackOf(message, now);
  if (!feedback) return { kind: 'done' };
  const client = clientOf(message);
  const report = {
    emailId: taggedEmailId(message),
    messageId: message.mail.messageId,
    feedback,
    ...(client && { client }),
    acceptedAt: acceptedAt(message, now),
    receipt,
  };
  return { kind: 'feedback', report };
}

/** Maximum number of characters of a notification's id. SNS uses uuids. */
const receiptCharsMax = 255;

function receiptOf({ MessageId: id }: SnsEnvelope): string {
  const isId = typeof id === 'string' && id !== '' && id.length <= receiptCharsMax;
  if (!isId || hasForbiddenText(id)) throw new Problem('INVALID_NOTIFICATION');
  return id;
}
