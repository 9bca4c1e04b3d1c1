import { randomUUID } from 'node:crypto';
import {
  type FakeMailService,
  json,
  messageIdOf,
  type MailEvent,
  type ReportedMail,
  seconds,
  timeOf,
} from './mail-service.ts';
import { mailgun, resend, sendgrid } from './signing-mail-services.ts';

/** Mail services that send reports in their real form, with a real signature. */

const basic = (password: string) =>
  `Basic ${Buffer.from(`everpost:${password}`).toString('base64')}`;

/** Returns a request with a password, which most services take from the webhook's URL. */
const withPassword: FakeMailService['request'] = (body, { secret = 'a password: 1' } = {}) => ({
  headers: { ...json, Authorization: basic(secret) },
  body: JSON.stringify(body),
});

function postmarkEvent(fields: (mail: ReportedMail) => Record<string, unknown>): MailEvent {
  return (mail) => ({
    MessageID: randomUUID(),
    ServerID: 23,
    MessageStream: 'outbound',
    Tag: 'welcome',
    Metadata: mail.isBare ? {} : { 'everpost-email': mail.emailId },
    ...fields(mail),
  });
}

const postmarkBounce = (type: string, text: string) =>
  postmarkEvent((mail) => ({
    RecordType: 'Bounce',
    ID: 4_323_372_036_854 + Math.floor(Math.random() * 1e6),
    Type: type,
    TypeCode: 1,
    Name: type,
    Description: 'The server could not deliver the message.',
    Details: mail.text ?? text,
    Email: mail.to,
    From: 'team@shop.test',
    BouncedAt: timeOf(mail).toISOString().replace('Z', '7353-00:00'),
    DumpAvailable: true,
    Inactive: true,
    CanActivate: true,
    Subject: 'Hi Ada',
  }));

const postmark: FakeMailService = {
  feedback: 'postmark',
  secret: 'a password: 1',
  request: withPassword,
  events: {
    delivered: postmarkEvent((mail) => ({
      RecordType: 'Delivery',
      Recipient: mail.to,
      DeliveredAt: timeOf(mail).toISOString(),
      Details: mail.text ?? 'Message accepted',
    })),
    permanent: postmarkBounce('HardBounce', 'smtp;550 5.1.1 The account does not exist.'),
    transient: postmarkBounce('SoftBounce', 'smtp;452 4.2.2 The mailbox is full.'),
    delayed: postmarkBounce('Transient', 'smtp;451 4.7.1 Greylisted, try again.'),
    notSent: postmarkBounce('SMTPApiError', 'The sender signature is not confirmed.'),
    complained: (mail) => ({
      ...postmarkBounce('SpamComplaint', 'A complaint.')(mail),
      RecordType: 'SpamComplaint',
    }),
    unsubscribed: postmarkEvent((mail) => ({
      RecordType: 'SubscriptionChange',
      ChangedAt: timeOf(mail).toISOString(),
      Recipient: mail.to,
      Origin: 'Recipient',
      SuppressSending: true,
      SuppressionReason: 'ManualSuppression',
    })),
    opened: postmarkEvent((mail) => ({
      RecordType: 'Open',
      FirstOpen: true,
      Recipient: mail.to,
      ReceivedAt: timeOf(mail).toISOString(),
    })),
  },
};

const brevoEvent =
  (
    event: string,
    fields: (mail: ReportedMail) => Record<string, unknown> = () => ({}),
  ): MailEvent =>
  (mail) => ({
    event,
    email: mail.to,
    id: 9_999_999,
    date: '2026-11-20 09:00:00',
    ts: seconds(timeOf(mail)),
    'message-id': `<${messageIdOf(mail)}>`,
    ts_event: seconds(timeOf(mail)),
    ts_epoch: timeOf(mail).getTime(),
    subject: 'Hi Ada',
    ...(mail.isBare ? {} : { 'X-Mailin-custom': mail.emailId }),
    sending_ip: '192.0.2.1',
    ...fields(mail),
  });

const brevo: FakeMailService = {
  feedback: 'brevo',
  secret: 'a token of brevo',
  request: (body, { secret = brevo.secret } = {}) => ({
    headers: { ...json, Authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
  }),
  events: {
    accepted: brevoEvent('request'),
    delivered: brevoEvent('delivered'),
    permanent: brevoEvent('hard_bounce', ({ text }) => ({
      reason: text ?? ' RecipientError: 550 5.1.1 The account does not exist.',
    })),
    transient: brevoEvent('soft_bounce', ({ text }) => ({
      reason: text ?? 'undefined Unable to find MX of domain',
    })),
    delayed: brevoEvent('deferred', ({ text }) => ({ reason: text ?? '451 4.7.1 Greylisted.' })),
    notSent: brevoEvent('blocked', ({ text }) => ({
      reason: text ?? 'blocked : due to blacklist user',
    })),
    complained: brevoEvent('spam'),
    unsubscribed: brevoEvent('unsubscribed'),
    opened: brevoEvent('unique_opened'),
  },
};

const mailjetEvent =
  (
    event: string,
    fields: (mail: ReportedMail) => Record<string, unknown> = () => ({}),
  ): MailEvent =>
  (mail) => ({
    event,
    time: seconds(timeOf(mail)),
    // A number with more digits than a double can hold, as in Mailjet's own examples.
    MessageID: 19421777835146490,
    Message_GUID: randomUUID(),
    email: mail.to,
    mj_campaign_id: 7257,
    mj_contact_id: 4,
    customcampaign: '',
    CustomID: mail.isBare ? '' : mail.emailId,
    Payload: '',
    ...fields(mail),
  });

const mailjet: FakeMailService = {
  feedback: 'mailjet',
  secret: 'a password: 1',
  request: withPassword,
  events: {
    delivered: mailjetEvent('sent', ({ text }) => ({ smtp_reply: text ?? 'sent (250 2.0.0 OK)' })),
    permanent: mailjetEvent('bounce', ({ text }) => ({
      blocked: false,
      hard_bounce: true,
      error_related_to: 'recipient',
      error: 'user unknown',
      comment: text ?? '550 5.1.1 The account does not exist.',
    })),
    transient: mailjetEvent('bounce', ({ text }) => ({
      blocked: false,
      hard_bounce: false,
      error_related_to: 'recipient',
      error: 'quota exceeded',
      comment: text ?? '',
    })),
    notSent: mailjetEvent('blocked', () => ({
      error_related_to: 'recipient',
      error: 'blacklisted',
    })),
    complained: mailjetEvent('spam', () => ({ source: 'JMRPP' })),
    unsubscribed: mailjetEvent('unsub', () => ({ mj_list_id: 1, ip: '192.0.2.1', geo: 'FR' })),
    opened: mailjetEvent('open', () => ({ ip: '192.0.2.1', geo: 'EU', agent: 'Mozilla/5.0' })),
  },
};

export const fakeMailServices: readonly FakeMailService[] = [
  postmark,
  mailgun,
  sendgrid,
  brevo,
  mailjet,
  resend,
];
