import { describe, expect, it } from 'vitest';
import { webhookServices } from '../../../../domain/provider/provider.ts';
import { dkimText } from '../../../../domain/sender/dkim-record.ts';
import { makeDkimKey } from '../../../../providers/mail/dkim/keys.ts';
import { createSigning } from '../../../../providers/mail/dkim/signing-mailer.ts';
import { createDkimThreads } from '../../../../providers/mail/dkim/threads.ts';
import type { Mailer, OutgoingMessage } from '../../../../providers/mail/mailer.ts';
import { composeMessage } from '../../../../providers/mail/mime.ts';
import { adapterOf } from '../../../../providers/mail/services/adapters.ts';
import { identifiedMailer } from '../../../../providers/mail/services/identified-mailer.ts';
import { verifyDkim } from '../../../support/dkim.ts';
import { atEnd } from '../../../support/use.ts';

const emailId = 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21';
const domain = 'shop.example';

/** A mailer that keeps what it gets. */
function keeper() {
  const sent: Buffer[] = [];
  const mailer: Mailer = {
    provider: 'keeper',
    hasSimulator: false,
    defaultRatePerSecond: 100,
    maxConcurrency: 1,
    async send({ raw }) {
      sent.push(raw);
      return { kind: 'accepted', messageId: '1', delivered: false };
    },
    quotaPerSecond: async () => null,
    close: async () => {},
  };
  return { sent, mailer };
}

async function messageWith(headers: Record<string, string>): Promise<OutgoingMessage> {
  const raw = await composeMessage({
    emailId,
    date: new Date('2026-11-26T10:00:00Z'),
    from: { name: 'The Shop', address: `team@${domain}` },
    to: { name: null, address: 'ada@mail.example' },
    replyTo: null,
    subject: 'Hi',
    html: '<p>X-MJ-CustomID: in the body</p>',
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    attachments: [],
  });
  const senderDomain = { projectId: 'p', domain };
  return {
    emailId,
    envelopeFrom: 'b@shop.example',
    to: 'ada@mail.example',
    raw,
    tracked: false,
    senderDomain,
  };
}

/** Returns the values of the headers of a name. */
const valuesOf = (raw: Buffer, name: string) => {
  const [head = ''] = raw.toString('latin1').split('\r\n\r\n');
  return head
    .split(/\r\n(?![ \t])/)
    .filter((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    .map((field) => field.slice(name.length + 1).trim());
};

describe('mail to a provider whose service reports by webhooks', () => {
  it.each(webhookServices)('of %s tells the service the id of the mail', async (feedback) => {
    const { sent, mailer } = keeper();
    await identifiedMailer(mailer, feedback).send(await messageWith({}));
    const { name, valueOf } = adapterOf(feedback)!.idHeader ?? {
      name: 'X-Everpost-Email',
      valueOf: (id: string) => id,
    };
    expect(valuesOf(sent[0]!, name)).toEqual([valueOf(emailId)]);
  });

  it('has no other header of this name, however it is written', async () => {
    const { sent, mailer } = keeper();
    const own = {
      'x-MAILGUN-variables': `{"a": "${'long '.repeat(50)}"}`,
      'X-Mailgun-Tag': 'news',
    };
    const message = await messageWith(own);
    expect(valuesOf(message.raw, 'X-Mailgun-Variables')).toHaveLength(1);
    await identifiedMailer(mailer, 'mailgun').send(message);
    expect(valuesOf(sent[0]!, 'X-Mailgun-Variables')).toEqual([`{"everpost_email":"${emailId}"}`]);
    expect(valuesOf(sent[0]!, 'X-Mailgun-Tag')).toEqual(['news']);
    expect(valuesOf(sent[0]!, 'Subject')).toEqual(['Hi']);
    const bodyOf = (raw: Buffer) => raw.subarray(raw.indexOf('\r\n\r\n'));
    expect(bodyOf(sent[0]!)).toEqual(bodyOf(message.raw));
  });

  it('keeps what the body says', async () => {
    const { sent, mailer } = keeper();
    await identifiedMailer(mailer, 'mailjet').send(await messageWith({}));
    expect(sent[0]!.toString()).toContain('X-MJ-CustomID: in the body');
  });

  it('has a right signature', async () => {
    const made = makeDkimKey('rsa');
    const threads = createDkimThreads();
    atEnd(() => threads.close());
    const key = { selector: 's1', algorithm: 'rsa', privateKey: Buffer.from(made.privateKey) };
    const signing = createSigning({
      dkim: threads,
      cipher: { decrypt: (bytes) => bytes.toString() },
      findSender: async () => ({ keys: [key as never], returnPathHost: null }),
      returnPathAt: () => '',
      platformKeys: null,
    });
    const { sent, mailer } = keeper();
    const message = await messageWith({ 'X-SMTPAPI': '{"category": "own"}' });
    await identifiedMailer(signing(mailer), 'sendgrid').send(message);
    expect(sent[0]!.toString().startsWith('DKIM-Signature:')).toBe(true);
    expect(valuesOf(sent[0]!, 'X-SMTPAPI')).toHaveLength(1);
    const zone = { [`s1._domainkey.${domain}`]: dkimText(made) };
    expect((await verifyDkim(sent[0]!, zone)).map(({ result }) => result)).toEqual(['pass']);
  });
});

describe('mail to any other provider', () => {
  it.each(['dsn', 'none', 'ses', 'mailbox', 'resend'])(
    'with %s stays as it is',
    async (feedback) => {
      const { sent, mailer } = keeper();
      const message = await messageWith({ 'X-MJ-CustomID': 'own' });
      expect(identifiedMailer(mailer, feedback)).toBe(mailer);
      await identifiedMailer(mailer, feedback).send(message);
      expect(sent[0]).toBe(message.raw);
    },
  );
});
