import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../../providers/mail/mailer.ts';
import { guarded } from '../../../../providers/mail/guarded-mailer.ts';
import { mailboxMailer } from '../../../../providers/mail/mailbox/mailer.ts';
import { composeMessage } from '../../../../providers/mail/mime.ts';

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
    const mailer = guarded(
      mailboxMailer({ storeMessage: async (message) => void kept.push(message) }),
    );
    const message = await outgoing();
    expect(mailer).toMatchObject({ hasSimulator: true, defaultRatePerSecond: 200 });
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
    const mailer = guarded(
      mailboxMailer({ storeMessage: () => Promise.reject(new Error('database is gone')) }),
    );
    expect(await mailer.send(await outgoing())).toEqual({
      kind: 'retry',
      error: 'Error: database is gone',
    });
  });
});
