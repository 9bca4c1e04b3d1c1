import { describe, expect, it } from 'vitest';
import { guarded } from '../../../../providers/mail/guarded-mailer.ts';
import type { Mailer, SendOutcome } from '../../../../providers/mail/mailer.ts';
import { smtpMailer } from '../../../../providers/mail/smtp/mailer.ts';
import { useScriptedSmtp, type SmtpAct, type SmtpStage } from '../../../support/fakes/smtp-sink.ts';
import { use } from '../../../support/use.ts';

/** The notes that a mailer makes: a message that has not begun was certainly not accepted. */

async function sendTo(
  script: Partial<Record<SmtpStage, SmtpAct>>,
  given: { mayBegin?: boolean; raw?: Buffer; pipelining?: boolean } = {},
) {
  const { mayBegin = true, raw = Buffer.from('Subject: Hi\r\n\r\nHello\r\n'), pipelining } = given;
  const server = await useScriptedSmtp(script, pipelining === undefined ? {} : { pipelining });
  const smtp = { host: '127.0.0.1', port: server.port, secure: false, timeoutMs: 5_000 };
  const mailer = use(guarded(smtpMailer(smtp)));
  const noted: string[] = [];
  const notes = {
    begin() {
      noted.push(`begin after ${server.commands.at(-1)}, ${server.complete} complete`);
      return mayBegin;
    },
    end: ({ kind }: SendOutcome) => void noted.push(kind),
  };
  const to = 'ada@x.test';
  const envelope = { emailId: 'e1', envelopeFrom: 'shop@shop.test', to, tracked: false };
  const outcome = await mailer.send({ ...envelope, raw, notes });
  return { outcome, server, noted: [...new Set(noted)] };
}

describe('SMTP', () => {
  it.each([false, true])('notes the beginning before the last byte (pipelining %s)', async (on) => {
    const { noted } = await sendTo({}, { pipelining: on });
    expect(noted).toEqual(['begin after DATA, 0 complete', 'accepted']);
  });

  it.each([
    ['MAIL', '550 no', 'refused'],
    ['RCPT', '550 no', 'refused'],
    ['DATA', '451 later', 'retry'],
  ] as const)('notes no beginning when %s is refused', async (stage, answer, kind) => {
    const { noted } = await sendTo({ [stage]: answer });
    expect(noted).toEqual([kind]);
  });

  it('notes the beginning of a message whose answer is lost', async () => {
    const { noted } = await sendTo({ end: 'close' });
    expect(noted).toEqual(['begin after DATA, 0 complete', 'uncertain']);
  });

  it.each([1, 5_000])(
    'never sends the end of a message that cannot be noted (%s lines)',
    async (lines) => {
      const raw = Buffer.from(`Subject: Hi\r\n\r\n${`${'x'.repeat(75)}\r\n`.repeat(lines)}`);
      const { outcome, server } = await sendTo({}, { mayBegin: false, raw });
      expect(outcome.kind).toBe('stopped');
      expect(server.complete).toBe(0);
    },
  );
});

describe('another mailer', () => {
  const plain = (send: Mailer['send']): Mailer =>
    guarded({
      provider: 'plain',
      hasSimulator: true,
      defaultRatePerSecond: 1,
      maxConcurrency: 1,
      send,
      quotaPerSecond: async () => null,
      close: async () => {},
    });
  const message = { emailId: 'e1', envelopeFrom: 'a@x.test', to: 'b@x.test', tracked: false };

  it('has the beginning noted before it gets the message, and the outcome after', async () => {
    const noted: string[] = [];
    const notes = {
      begin: () => noted.push('begin') > 0,
      end: ({ kind }: SendOutcome) => void noted.push(kind),
    };
    const mailer = plain(async () => {
      noted.push('send');
      return { kind: 'accepted', messageId: 'one', delivered: true };
    });
    await mailer.send({ ...message, raw: Buffer.from(''), notes });
    expect(noted).toEqual(['begin', 'send', 'accepted']);
  });

  it('gets no message that cannot be noted', async () => {
    const mailer = plain(() => expect.unreachable());
    const notes = { begin: () => false, end() {} };
    const { kind } = await mailer.send({ ...message, raw: Buffer.from(''), notes });
    expect(kind).toBe('stopped');
  });
});
