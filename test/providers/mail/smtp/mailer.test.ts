import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Mailer, OutgoingMessage } from '../../../../providers/mail/mailer.ts';
import { guarded } from '../../../../providers/mail/guarded-mailer.ts';
import { smtpMailer } from '../../../../providers/mail/smtp/mailer.ts';
import {
  useScriptedSmtp,
  useSmtpSink,
  type SmtpAct,
  type SmtpStage,
} from '../../../support/fakes/smtp-sink.ts';
import { listen, use } from '../../../support/use.ts';

function mailerTo(
  port: number,
  more: {
    user?: string;
    password?: string;
    timeoutMs?: number;
    successReports?: boolean;
  } = {},
): Mailer {
  return use(
    guarded(smtpMailer({ host: '127.0.0.1', port, secure: false, timeoutMs: 10_000, ...more })),
  );
}

function message(more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    emailId: 'e1',
    envelopeFrom: 'shop@shop.test',
    to: 'ada@x.test',
    raw: Buffer.from('Subject: Hi\r\n\r\nHello\r\n.dot\r\n'),
    tracked: false,
    ...more,
  };
}

/** Larger than all buffers, so a server that stops reading stops the sender. */
const large = message({
  raw: Buffer.from(`Subject: Hi\r\n\r\n${'x'.repeat(75)}\r\n`.repeat(400_000)),
});

async function sendTo(
  script: Partial<Record<SmtpStage, SmtpAct>>,
  options: { pipelining?: boolean; message?: OutgoingMessage } = {},
) {
  const server = await useScriptedSmtp(script, options);
  // If the server stays silent, only the timeout ends the attempt.
  const silence = script.middle !== undefined || Object.values(script).includes('silence');
  const mailer = mailerTo(server.port, silence ? { timeoutMs: 150 } : {});
  const outcome = await mailer.send(options.message ?? message());
  return { outcome, kind: outcome.kind, complete: server.complete };
}

describe('a server that can be asked for reports', () => {
  it('is asked for the headers, the id of the mail and, if set, for reports of success', async () => {
    const sink = await useSmtpSink({ dsn: true });
    await mailerTo(sink.port).send(message());
    await mailerTo(sink.port, { successReports: true }).send(message());
    const asked = { ret: 'HDRS', envid: 'e1' };
    const notify = ['SUCCESS', 'FAILURE', 'DELAY'];
    expect(sink.messages.map(({ dsn }) => dsn)).toEqual([asked, { ...asked, notify }]);
    const other = await useSmtpSink();
    expect(await mailerTo(other.port).send(message())).toMatchObject({ kind: 'accepted' });
  });
});

describe('SMTP, a server that takes mail', () => {
  it('is left by each of two calls that close the mailer, after the mail under way', async () => {
    const sink = await useSmtpSink();
    const mailer = mailerTo(sink.port);
    const sent = mailer.send(message());
    await Promise.all([mailer.close(), mailer.close()]);
    expect((await sent).kind).toBe('accepted');
  });

  it('accepts, which is no delivery', async () => {
    const sink = await useSmtpSink();
    const outcome = await mailerTo(sink.port).send(message());
    const accepted = { kind: 'accepted', messageId: 'e1@smtp', delivered: false };
    expect(outcome).toEqual({ ...accepted, isUnreported: true });
    const reporting = mailerTo(sink.port, { successReports: true });
    expect(await reporting.send(message())).toEqual({ ...accepted, isUnreported: false });
    expect(sink.messages.slice(0, 1)).toMatchObject([
      { from: 'shop@shop.test', to: 'ada@x.test', raw: message().raw },
    ]);
  });

  it.each([false, true])('sends 200 messages, each once; encrypted: %s', async (startTls) => {
    const sink = await useSmtpSink({ startTls });
    const mailer = mailerTo(sink.port);
    const ids = Array.from({ length: 200 }, (_, i) => `r${i}@x.test`);
    const outcomes = await Promise.all(
      ids.map((to, i) => mailer.send(message({ emailId: `e${i}`, to }))),
    );
    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(ids.every((to) => sink.countTo(to) === 1)).toBe(true);
    expect(sink.connections).toBeLessThanOrEqual(mailer.maxConcurrency);
  });

  it('gets 8 connections if it answers at once', async () => {
    const options = { replyMs: 0 };
    const sink = await useSmtpSink(options);
    const mailer = mailerTo(sink.port);
    for (let i = 0; i < 16; i++) await mailer.send(message({ emailId: `e${i}` }));
    // So slow that all connections are opened before one of these messages is answered.
    options.replyMs = 1_000;
    const ids = Array.from({ length: 16 }, (_, i) => `f${i}`);
    await Promise.all(ids.map((emailId) => mailer.send(message({ emailId }))));
    expect(sink.connections).toBe(8);
  });

  it('gets 20 connections if it answers after 30 ms', async () => {
    const sink = await useSmtpSink({ replyMs: 30 });
    const mailer = mailerTo(sink.port);
    const ids = Array.from({ length: 200 }, (_, i) => `e${i}`);
    await Promise.all(ids.map((emailId) => mailer.send(message({ emailId }))));
    expect(sink.connections).toBe(20);
  });

  it.each([false, true])('carries 5 MB unchanged; encrypted: %s', async (startTls) => {
    const sink = await useSmtpSink({ startTls });
    const raw = large.raw.subarray(0, 5_000_000);
    const whole = Buffer.concat([raw, Buffer.from('\r\n')]);
    expect((await mailerTo(sink.port).send(message({ raw: whole }))).kind).toBe('accepted');
    expect(sink.messages[0]?.raw.equals(whole)).toBe(true);
  });

  it('puts an international domain into the envelope as punycode', async () => {
    const server = await useScriptedSmtp({});
    await mailerTo(server.port).send(message({ to: 'ada@bücher.test' }));
    expect(server.commands).toContain('RCPT TO:<ada@xn--bcher-kva.test>');
  });

  it('logs in', async () => {
    const sink = await useSmtpSink({ user: 'everpost' });
    const mailer = mailerTo(sink.port, { user: 'everpost', password: 'secret' });
    expect((await mailer.send(message())).kind).toBe('accepted');
  });

  it('retries on a wrong password, which is no fault of the message, and does not log it', async () => {
    const sink = await useSmtpSink({ user: 'everpost' });
    const mailer = mailerTo(sink.port, { user: 'everpost', password: 'wr0ng' });
    const outcome = await mailer.send(message());
    expect(outcome.kind).toBe('retry');
    expect(JSON.stringify(outcome)).not.toContain('wr0ng');
  });

  it('encrypts with any certificate, but sends a password only to a trusted one', async () => {
    const open = await useSmtpSink({ startTls: true });
    const closed = await useSmtpSink({ startTls: true, user: 'everpost' });
    expect((await mailerTo(open.port).send(message())).kind).toBe('accepted');
    const mailer = mailerTo(closed.port, { user: 'everpost', password: 'secret' });
    expect(await mailer.send(message())).toEqual({
      kind: 'retry',
      error: expect.stringMatching(/certificate/),
    });
  });

  it('goes on after a refusal', async () => {
    const sink = await useSmtpSink({ refuseTo: (to) => (to === 'bad@x.test' ? 550 : null) });
    const mailer = mailerTo(sink.port);
    expect(await mailer.send(message({ to: 'bad@x.test' }))).toEqual({
      kind: 'refused',
      error: expect.stringContaining('550 No mail for bad@x.test'),
      isRecipient: true,
    });
    expect((await mailer.send(message())).kind).toBe('accepted');
  });

  it.each([
    ['RCPT', '550 unknown', true],
    ['RCPT', '553 no such name', true],
    ['RCPT', '550 5.1.1 unknown', true],
    ['RCPT', '554 5.1.10 unknown', true],
    ['RCPT', '550 5.7.1 not from you', false],
    ['RCPT', '554 no', false],
    ['RCPT', '552 5.2.2 full', false],
    ['MAIL', '550 who are you', false],
    ['MAIL', '553 5.1.8 no such domain', false],
    ['end', '550 5.1.8 bad sender', false],
    ['end', '554 5.7.1 it is spam', false],
    ['end', '550 5.1.1 unknown after all', true],
  ] as const)('tells at %s by "%s" whether the address is refused', async (stage, reply, is) => {
    const server = await useScriptedSmtp({ [stage]: reply });
    const outcome = await mailerTo(server.port).send(message());
    expect([outcome.kind, 'isRecipient' in outcome]).toEqual(['refused', is]);
  });

  it('refuses a message larger than the server announces', async () => {
    const sink = await useSmtpSink({ maxBytes: 20 });
    expect((await mailerTo(sink.port).send(message())).kind).toBe('refused');
  });

  it('refuses an address that cannot be put on the wire', async () => {
    const sink = await useSmtpSink();
    const outcome = await mailerTo(sink.port).send(message({ to: '' }));
    expect(outcome.kind).toBe('refused');
    expect(sink.messages).toEqual([]);
  });
});

describe.each([{ pipelining: false }, { pipelining: true }])(
  'SMTP, pipelining: $pipelining',
  (options) => {
    const answers: [SmtpStage, SmtpAct, string][] = [
      ['greeting', '421 busy', 'retry'],
      ['greeting', '554 not for you', 'retry'],
      ['EHLO', '421 busy', 'retry'],
      ['MAIL', '421 busy', 'retry'],
      ['MAIL', '451 later', 'retry'],
      ['MAIL', '550 no', 'refused'],
      ['MAIL', '503 bad sequence', 'retry'],
      ['RCPT', '450 later', 'retry'],
      ['RCPT', '550 unknown', 'refused'],
      ['DATA', '451 later', 'retry'],
      ['DATA', '554 no', 'refused'],
      ['end', '451 later', 'retry'],
      ['end', '421 closing', 'retry'],
      ['end', '554 spam', 'refused'],
    ];
    it.each(answers)('answer to %s "%s" → %s', async (stage, act, kind) => {
      expect((await sendTo({ [stage]: act }, options)).kind).toBe(kind);
    });

    const deaths: [SmtpStage, string][] = [
      ['greeting', 'retry'],
      ['EHLO', 'retry'],
      ['MAIL', 'retry'],
      ['RCPT', 'retry'],
      ['DATA', 'retry'],
      ['end', 'uncertain'],
    ];
    for (const act of ['close', 'reset', 'silence'] as const) {
      it.each(deaths)(`${act} instead of the answer to %s → %s`, async (stage, kind) => {
        const { outcome, complete } = await sendTo({ [stage]: act }, options);
        expect(outcome.kind).toBe(kind);
        expect(complete).toBe(stage === 'end' ? 1 : 0);
      });

      it(`${act} in the middle of a large message → retry`, async () => {
        const sent = await sendTo({ middle: act }, { ...options, message: large });
        expect(sent).toMatchObject({ kind: 'retry', complete: 0 });
      });
    }
  },
);

describe('SMTP, no server', () => {
  it('retries when the connection is refused', async () => {
    const { port, close } = use(await listen(createServer()));
    await close();
    const outcome = await mailerTo(port).send(message());
    expect(outcome).toEqual({ kind: 'retry', error: expect.stringContaining('ECONNREFUSED') });
  });

  it('retries when the server has gone away between two messages', async () => {
    const server = await useScriptedSmtp({});
    const mailer = mailerTo(server.port);
    expect((await mailer.send(message())).kind).toBe('accepted');
    await server.close();
    expect((await mailer.send(message())).kind).toBe('retry');
  });

  it('never repeats a message whose answer was lost', async () => {
    const server = await useScriptedSmtp({ end: 'close' });
    const mailer = mailerTo(server.port);
    // The first is sent over a fresh connection; no message may follow its outcome.
    expect((await mailer.send(message())).kind).toBe('uncertain');
    await mailer.close();
    expect(server.complete).toBe(1);
  });

  it('finishes the sends under way before it closes', async () => {
    const sink = await useSmtpSink();
    const mailer = mailerTo(sink.port);
    const sends = Array.from({ length: 50 }, (_, i) => mailer.send(message({ emailId: `e${i}` })));
    await mailer.close();
    expect((await Promise.all(sends)).every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(sink.messages).toHaveLength(50);
    expect((await mailer.send(message())).kind).toBe('retry');
  });
});
