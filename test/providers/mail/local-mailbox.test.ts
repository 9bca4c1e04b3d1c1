import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../providers/mail/mailbox.ts';
import { createMailer } from '../../../providers/mail/create-mailer.ts';
import { composeMessage } from '../../../providers/mail/mime.ts';

const emailId = 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21';

async function outgoing() {
  const raw = await composeMessage({
    emailId,
    date: new Date('2026-11-21T08:30:01.000Z'),
    from: { name: 'Bücher', address: 'hi@shop.test' },
    to: { name: 'Ada', address: 'ada@x.test' },
    replyTo: null,
    subject: 'Grüße, Ada 💌',
    html: '<p>Hello</p>',
    headers: [],
    attachments: [],
  });
  return { emailId, envelopeFrom: 'hi@shop.test', to: 'ada@x.test', raw, tracked: false };
}

describe('the local mailbox', () => {
  it('keeps the message under its email id, and acceptance is delivery', async () => {
    const kept: StoredMessage[] = [];
    const mailer = createMailer(
      { ses: null, smtp: null },
      { storeMessage: async (message) => void kept.push(message) },
    );
    const message = await outgoing();
    expect(mailer).toMatchObject({ reportsDelivery: false, defaultRatePerSecond: 200 });
    expect(await mailer.send(message)).toEqual({
      kind: 'accepted',
      messageId: `${emailId}@local`,
      delivered: true,
    });
    expect(kept).toEqual([
      {
        id: emailId,
        from: 'hi@shop.test',
        to: 'ada@x.test',
        subject: 'Grüße, Ada 💌',
        raw: message.raw,
      },
    ]);
    await mailer.close();
  });

  it('retries when the message could not be kept: the same id is kept once', async () => {
    const mailer = createMailer(
      { ses: null, smtp: null },
      { storeMessage: () => Promise.reject(new Error('database is gone')) },
    );
    expect(await mailer.send(await outgoing())).toEqual({
      kind: 'retry',
      error: 'Error: database is gone',
    });
  });

  it('is chosen last: SES, then SMTP, then this', () => {
    const account = { region: 'eu-west-1', accessKeyId: 'a', secretAccessKey: 'b' };
    const ses = { ...account, configurationSet: '', configurationSetNoTracking: '' };
    const smtp = { host: '127.0.0.1', port: 1025, secure: false };
    const deps = { storeMessage: async () => {} };
    const [fromSes, fromSmtp, fromNone] = [
      createMailer({ ses, smtp }, deps),
      createMailer({ ses: null, smtp }, deps),
      createMailer({ ses: null, smtp: null }, deps),
    ];
    expect(fromSes).toMatchObject({ reportsDelivery: true, defaultRatePerSecond: 14 });
    expect(fromSmtp).toMatchObject({ reportsDelivery: false, maxConcurrency: 40 });
    expect(fromNone).toMatchObject({ reportsDelivery: false, maxConcurrency: 16 });
  });
});
