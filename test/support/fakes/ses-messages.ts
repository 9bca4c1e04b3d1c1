import { randomUUID } from 'node:crypto';

/**
 * Messages as Amazon SES publishes them (SES developer guide), reduced to the fields that Everpost
 * reads.
 */

interface Named {
  emailId?: string;
  messageId?: string;
}

function mailOf({ emailId, messageId = randomUUID() }: Named) {
  return {
    timestamp: '2026-11-20T08:00:00.000Z',
    source: 'team@shop.test',
    messageId,
    destination: ['ada@x.example'],
    ...(emailId ? { tags: { everpost_email_id: [emailId], 'ses:configuration-set': ['x'] } } : {}),
  };
}

/** Returns an event of a configuration set, with the `detail` of its kind. */
export function sesEvent(
  eventType: string,
  named: Named,
  detail: Record<string, unknown> = {},
): Record<string, unknown> {
  const key = eventType[0]!.toLowerCase() + eventType.slice(1);
  return {
    eventType,
    mail: mailOf(named),
    [key]: { timestamp: '2026-11-20T08:00:02.000Z', ...detail },
  };
}

export const bounceDetail = (bounceType: string, bounceSubType = 'General') => ({
  bounceType,
  bounceSubType,
  bouncedRecipients: [
    { emailAddress: 'ada@x.example', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
  ],
});

/** Returns a notification of an identity, the older form, which has no tags. */
export function sesNotification(
  notificationType: string,
  named: Named,
  detail: Record<string, unknown> = {},
): Record<string, unknown> {
  const { eventType, ...rest } = sesEvent(notificationType, named, detail);
  return { ...rest, notificationType: eventType };
}

/** Returns the receipt of a received mail. */
export function sesReceipt(given: {
  messageId: string;
  from: string;
  recipients: string[];
  subject?: string;
  content?: string;
  encoding?: 'UTF-8' | 'BASE64';
  virus?: 'PASS' | 'FAIL';
}): Record<string, unknown> {
  return {
    notificationType: 'Received',
    mail: {
      timestamp: '2026-11-20T08:00:00.000Z',
      source: 'bounces@mailer.x.example',
      messageId: given.messageId,
      destination: given.recipients,
      commonHeaders: {
        from: [given.from],
        to: given.recipients,
        ...(given.subject === undefined ? {} : { subject: given.subject }),
      },
    },
    receipt: {
      timestamp: '2026-11-20T08:00:00.500Z',
      processingTimeMillis: 321,
      recipients: given.recipients,
      spamVerdict: { status: 'PASS' },
      virusVerdict: { status: given.virus ?? 'PASS' },
      spfVerdict: { status: 'PASS' },
      dkimVerdict: { status: 'GRAY' },
      dmarcVerdict: { status: 'PASS' },
      action: { type: 'SNS', encoding: given.encoding ?? 'UTF-8' },
    },
    ...(given.content === undefined ? {} : { content: given.content }),
  };
}
