import { createHmac, createSign, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import {
  type FakeMailService,
  json,
  messageIdOf,
  type MailEvent,
  type ReportedMail,
  seconds,
  timeOf,
} from './mail-service.ts';

/** Mail services that sign their requests. */

const mailgunEvent =
  (
    event: string,
    fields: (mail: ReportedMail) => Record<string, unknown> = () => ({}),
  ): MailEvent =>
  (mail) => ({
    'event-data': {
      event,
      id: randomBytes(16).toString('base64url'),
      timestamp: timeOf(mail).getTime() / 1000,
      'log-level': 'info',
      recipient: mail.to,
      'recipient-domain': mail.to.split('@')[1],
      'user-variables': mail.isBare ? {} : { everpost_email: mail.emailId },
      tags: [],
      flags: { 'is-test-mode': false },
      message: {
        headers: { to: mail.to, from: 'team@shop.test', 'message-id': messageIdOf(mail) },
        size: 809,
      },
      ...fields(mail),
    },
  });

const mailgunStatus = (code: number, text: string) => (mail: ReportedMail) => ({
  'delivery-status': { code, message: mail.text ?? text, description: '', 'attempt-no': 1 },
});

export const mailgun: FakeMailService = {
  feedback: 'mailgun',
  secret: 'key-0123456789abcdef',
  /** Each event of a list has its own signature. */
  request(body, { at = new Date(), secret = mailgun.secret } = {}) {
    const signed = (event: unknown) => {
      if (typeof event !== 'object' || event === null || !('event-data' in event)) return event;
      const timestamp = String(seconds(at));
      const token = randomBytes(25).toString('hex');
      const signature = createHmac('sha256', secret)
        .update(timestamp + token)
        .digest('hex');
      return { signature: { timestamp, token, signature }, ...event };
    };
    return {
      headers: json,
      body: JSON.stringify(Array.isArray(body) ? body.map(signed) : signed(body)),
    };
  },
  events: {
    accepted: mailgunEvent('accepted'),
    delivered: mailgunEvent('delivered', mailgunStatus(250, 'OK')),
    permanent: mailgunEvent('failed', (mail) => ({
      severity: 'permanent',
      reason: 'bounce',
      ...mailgunStatus(550, '5.1.1 The account does not exist.')(mail),
    })),
    delayed: mailgunEvent('failed', (mail) => ({
      severity: 'temporary',
      reason: 'generic',
      ...mailgunStatus(451, '4.7.1 Greylisted, try again.')(mail),
    })),
    notSent: mailgunEvent('failed', (mail) => ({
      severity: 'permanent',
      reason: 'suppress-bounce',
      ...mailgunStatus(605, 'Not delivering to previously bounced address')(mail),
    })),
    complained: mailgunEvent('complained'),
    unsubscribed: mailgunEvent('unsubscribed'),
    opened: mailgunEvent('opened'),
  },
};

const sendgridEvent =
  (
    event: string,
    fields: (mail: ReportedMail) => Record<string, unknown> = () => ({}),
  ): MailEvent =>
  (mail) => ({
    email: mail.to,
    timestamp: seconds(timeOf(mail)),
    'smtp-id': `<${messageIdOf(mail)}>`,
    event,
    category: ['welcome'],
    sg_event_id: randomBytes(22).toString('base64url'),
    sg_message_id: `${randomBytes(16).toString('base64url')}.filter0001.16648.0`,
    ...(mail.isBare ? {} : { everpost_email: mail.emailId }),
    ...fields(mail),
  });

const sendgridKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export const sendgrid: FakeMailService = {
  feedback: 'sendgrid',
  secret: sendgridKeys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  request(body, { at = new Date(), secret } = {}) {
    const key = secret
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      : sendgridKeys.privateKey;
    const text = JSON.stringify(Array.isArray(body) ? body : [body]);
    const timestamp = String(seconds(at));
    const signature = createSign('sha256')
      .update(timestamp + text)
      .sign(key, 'base64');
    return {
      headers: {
        ...json,
        'X-Twilio-Email-Event-Webhook-Signature': signature,
        'X-Twilio-Email-Event-Webhook-Timestamp': timestamp,
      },
      body: text,
    };
  },
  events: {
    accepted: sendgridEvent('processed'),
    delivered: sendgridEvent('delivered', ({ text }) => ({ response: text ?? '250 OK' })),
    permanent: sendgridEvent('bounce', ({ text }) => ({
      type: 'bounce',
      status: '5.1.1',
      reason: text ?? '550 5.1.1 The account does not exist.',
    })),
    transient: sendgridEvent('bounce', ({ text }) => ({
      type: 'blocked',
      status: '4.7.1',
      reason: text ?? '451 4.7.1 The address of the server is blocked.',
    })),
    delayed: sendgridEvent('deferred', ({ text }) => ({
      response: text ?? '451 4.7.1 Greylisted, try again.',
      attempt: '5',
    })),
    notSent: sendgridEvent('dropped', ({ text }) => ({
      reason: text ?? 'Bounced Address',
      status: '5.0.0',
    })),
    complained: sendgridEvent('spamreport'),
    unsubscribed: sendgridEvent('unsubscribe'),
    opened: sendgridEvent('open', () => ({ useragent: 'Mozilla/4.0', ip: '192.0.2.1' })),
  },
};

const resendEvent =
  (type: string, fields: (mail: ReportedMail) => Record<string, unknown> = () => ({})): MailEvent =>
  (mail) => ({
    type,
    created_at: timeOf(mail).toISOString(),
    data: {
      created_at: timeOf(mail).toISOString(),
      email_id: randomUUID(),
      from: 'The Shop <team@shop.test>',
      to: [mail.to],
      subject: 'Hi Ada',
      headers: [
        { name: 'Message-ID', value: `<${messageIdOf(mail)}>` },
        ...(mail.isBare ? [] : [{ name: 'X-Everpost-Email', value: mail.emailId }]),
      ],
      ...fields(mail),
    },
  });

const resendBounce = (type: string, text: string) =>
  resendEvent('email.bounced', (mail) => ({
    bounce: { type, subType: 'General', message: mail.text ?? text },
  }));

export const resend: FakeMailService = {
  feedback: 'resend',
  secret: `whsec_${Buffer.from('a secret of thirty-two bytes').toString('base64')}`,
  request(body, { at = new Date(), secret = resend.secret } = {}) {
    const text = JSON.stringify(body);
    const id = `msg_${randomBytes(12).toString('hex')}`;
    const timestamp = String(seconds(at));
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const signature = createHmac('sha256', key)
      .update(`${id}.${timestamp}.${text}`)
      .digest('base64');
    return {
      headers: {
        ...json,
        'svix-id': id,
        'svix-timestamp': timestamp,
        'svix-signature': `v1,AAAA v1,${signature}`,
      },
      body: text,
    };
  },
  events: {
    accepted: resendEvent('email.sent'),
    delivered: resendEvent('email.delivered'),
    permanent: resendBounce('Permanent', 'The mailbox does not exist.'),
    transient: resendBounce('Transient', 'The mailbox is full.'),
    delayed: resendEvent('email.delivery_delayed'),
    notSent: resendEvent('email.suppressed', ({ text }) => ({
      suppressed: { message: text ?? 'The address is on the suppression list.', type: 'bounce' },
    })),
    complained: resendEvent('email.complained'),
    opened: resendEvent('email.opened'),
  },
};
