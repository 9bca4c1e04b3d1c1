import { createServer } from 'node:net';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Mailer, OutgoingMessage } from '../../../../providers/mail/mailer.ts';
import { guarded } from '../../../../providers/mail/guarded-mailer.ts';
import { sesMailer } from '../../../../providers/mail/ses/mailer.ts';
import {
  sesThrottled,
  sesUnavailable,
  useFakeSes,
  type FakeSes,
  type SesFault,
} from '../../../support/fakes/ses.ts';
import { listen, use } from '../../../support/use.ts';

let ses: FakeSes;
let mailer: Mailer;
beforeEach(async () => {
  ses = await useFakeSes();
  mailer = mailerTo(ses.endpoint);
});

const keys = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };

function mailerTo(endpoint: string, timeoutMs = 10_000, credentials: object = keys): Mailer {
  const account = { region: 'eu-west-1', ...credentials };
  const sets = { configurationSet: 'tracked', configurationSetNoTracking: 'plain' };
  return use(guarded(sesMailer({ ...account, ...sets, endpoint, timeoutMs })));
}

function message(more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    emailId: 'e1',
    envelopeFrom: 'shop@shop.test',
    to: 'ada@x.test',
    raw: Buffer.from('Subject: Hi\r\n\r\nHello\r\n'),
    tracked: false,
    ...more,
  };
}

describe('SES, a service that answers', () => {
  it('gets the raw message, the one recipient, the tag and the configuration set', async () => {
    const outcome = await mailer.send(message());
    expect(outcome).toEqual({ kind: 'accepted', messageId: '0102-000001', delivered: false });
    expect(ses.emails).toEqual([
      {
        messageId: '0102-000001',
        to: ['ada@x.test'],
        tags: { everpost_email_id: 'e1' },
        configurationSet: 'plain',
        raw: message().raw,
      },
    ]);
  });

  it('is signed to with the given keys, else with those the SDK finds', async () => {
    await mailer.send(message());
    expect(ses.lastKeyId).toBe('AKIATEST');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAFOUND');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'found');
    const finding = mailerTo(ses.endpoint, 10_000, {});
    expect((await finding.send(message())).kind).toBe('accepted');
    expect(ses.lastKeyId).toBe('AKIAFOUND');
    vi.unstubAllEnvs();
  });

  it('takes the tracking configuration set for tracked mail', async () => {
    await mailer.send(message({ tracked: true }));
    expect(ses.emails[0]?.configurationSet).toBe('tracked');
  });

  it('puts an international domain into the envelope as punycode', async () => {
    await mailer.send(message({ to: 'ada@bücher.test' }));
    expect(ses.emails[0]?.to).toEqual(['ada@xn--bcher-kva.test']);
  });

  it('keeps its connections', async () => {
    for (let i = 0; i < 20; i += 1) await mailer.send(message({ emailId: `e${i}` }));
    expect(ses.emails).toHaveLength(20);
    expect(ses.connections).toBe(1);
  });

  it('sends 200 at once over no more connections than it says', async () => {
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => mailer.send(message({ emailId: `e${i}` }))),
    );
    expect(new Set(ses.emails.map(({ tags }) => tags['everpost_email_id'])).size).toBe(200);
    expect(ses.connections).toBeLessThanOrEqual(mailer.maxConcurrency);
  });

  it('takes a wait for one of them for no fault of the service', async () => {
    ses.delayMs = 5_500;
    const sends = Array.from({ length: mailer.maxConcurrency + 1 }, (_, i) =>
      mailer.send(message({ emailId: `e${i}` })),
    );
    const outcomes = await Promise.all(sends);
    ses.delayMs = 0;
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
  });

  it('returns the quota of the account', async () => {
    ses.maxSendRate = 90;
    expect(await mailer.quotaPerSecond()).toBe(90);
  });

  const refusal = (status: number, type: string): SesFault => ({
    status,
    type,
    message: 'because',
  });
  const answers: [string, SesFault, string][] = [
    ['429 throttled', sesThrottled, 'retry'],
    ['400 throttled', refusal(400, 'ThrottlingException'), 'retry'],
    ['400 limit exceeded', refusal(400, 'LimitExceededException'), 'retry'],
    ['503', sesUnavailable, 'retry'],
    ['500', refusal(500, 'InternalFailure'), 'retry'],
    ['400 sending paused', refusal(400, 'SendingPausedException'), 'retry'],
    ['403 bad signature', refusal(403, 'SignatureDoesNotMatch'), 'retry'],
    ['400 account suspended', refusal(400, 'AccountSuspendedException'), 'refused'],
    ['400 rejected', refusal(400, 'MessageRejected'), 'refused'],
    ['400 bad request', refusal(400, 'BadRequestException'), 'refused'],
    ['404 no configuration set', refusal(404, 'NotFoundException'), 'refused'],
    ['400 domain not verified', refusal(400, 'MailFromDomainNotVerifiedException'), 'refused'],
    ['413 unknown to the SDK', refusal(413, 'SomethingNew'), 'refused'],
  ];
  it.each(answers.map(([name, fault, kind]) => ({ name, fault, kind })))(
    '$name → $kind',
    async ({ fault, kind }) => {
      ses.next = [fault];
      expect((await mailer.send(message())).kind).toBe(kind);
      // The SDK repeats nothing by itself.
      expect(ses.requests).toBe(1);
    },
  );

  it('passes on the reason, in one short line', async () => {
    ses.next = [{ status: 400, type: 'MessageRejected', message: `No\r\n${'x'.repeat(9000)}` }];
    const outcome = await mailer.send(message());
    expect(outcome).toEqual({
      kind: 'refused',
      error: expect.stringMatching(/^MessageRejected \(400\): No x{400,490}…$/),
    });
  });

  it('does not pass on what the service says about our signature', async () => {
    ses.next = [{ status: 403, type: 'SignatureDoesNotMatch', message: 'canonical AKIATEST' }];
    expect(JSON.stringify(await mailer.send(message()))).not.toContain('AKIATEST');
  });

  it('passes on Retry-After', async () => {
    ses.next = [{ status: 503, headers: { 'retry-after': '7' } }];
    expect(await mailer.send(message())).toMatchObject({ kind: 'retry', retryAfterMs: 7000 });
  });

  it('retries on the error page of a proxy, which is no JSON', async () => {
    ses.next = [{ status: 503, page: '<html>Service Unavailable</html>' }];
    expect((await mailer.send(message())).kind).toBe('retry');
  });
});

describe('SES, a service that does not answer', () => {
  it.each(['accept-then-drop', 'accept-then-cut'] as const)(
    '%s → uncertain, and asked only once',
    async (fault) => {
      ses.next = [fault];
      expect((await mailer.send(message())).kind).toBe('uncertain');
      expect(ses.countOf('e1')).toBe(1);
      expect(ses.requests).toBe(1);
    },
  );

  it('silence → uncertain, and asked only once', async () => {
    const impatient = mailerTo(ses.endpoint, 150);
    ses.next = ['silence'];
    expect((await impatient.send(message())).kind).toBe('uncertain');
    expect(ses.countOf('e1')).toBe(1);
    expect(ses.requests).toBe(1);
  });

  it('is uncertain when the request was read and the connection closed', async () => {
    ses.next = ['drop'];
    expect((await mailer.send(message())).kind).toBe('uncertain');
    expect(ses.requests).toBe(1);
  });

  it('retries when the connection is refused', async () => {
    await ses.close();
    expect(await mailer.send(message())).toEqual({
      kind: 'retry',
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('retries when the host has no address', async () => {
    const lost = mailerTo('http://ses.invalid');
    expect((await lost.send(message())).kind).toBe('retry');
  });

  const tcp = async (onSocket: Parameters<typeof createServer>[1]) =>
    use(await listen(createServer({ pauseOnConnect: true }, onSocket)));

  it('retries when the connection dies in the TLS handshake', async () => {
    const { port } = await tcp((socket) => socket.destroy());
    const secure = mailerTo(`https://127.0.0.1:${port}`);
    expect((await secure.send(message())).kind).toBe('retry');
  });

  it('retries when the connection dies before a large request is through', async () => {
    const { port } = await tcp((socket) => setTimeout(() => socket.destroy(), 50));
    const plain = mailerTo(`http://127.0.0.1:${port}`);
    const outcome = await plain.send(message({ raw: Buffer.alloc(30_000_000, 'x') }));
    expect(outcome.kind).toBe('retry');
  });

  it('finishes the sends under way before it closes', async () => {
    ses.delayMs = 50;
    const sends = Array.from({ length: 10 }, (_, i) => mailer.send(message({ emailId: `e${i}` })));
    await mailer.close();
    expect((await Promise.all(sends)).every(({ kind }) => kind === 'accepted')).toBe(true);
  });
});
