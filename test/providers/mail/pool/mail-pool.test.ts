import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StoredProvider } from '../../../../domain/provider/provider.ts';
import { createMailPool, type MailPoolSettings } from '../../../../providers/mail-pool.ts';
import type { OutgoingMessage } from '../../../../providers/mail/mailer.ts';
import { mailboxMailer } from '../../../../providers/mail/mailbox/mailer.ts';
import { OpenMailers } from '../../../../providers/mail/pool/open-mailers.ts';
import { createAddressGuard } from '../../../../providers/web/address-guard.ts';
import { useScriptedSmtp, useSmtpSink } from '../../../support/fakes/smtp-sink.ts';
import { listen, use } from '../../../support/use.ts';
import { waitFor } from '../../../support/wait-for.ts';

function provider(port: number, more: Partial<StoredProvider> = {}): StoredProvider {
  return {
    id: `provider-${port}`,
    name: `Server ${port}`,
    fields: { kind: 'smtp', host: '127.0.0.1', port, security: 'none', user: null },
    feedback: 'none',
    enabled: true,
    domains: null,
    ratePerSecond: null,
    maxMessageMb: null,
    ownSigning: true,
    revision: 1,
    secret: null,
    ...more,
  };
}

/** Returns a pool with these providers of projects. Changes of `stored` count at the next read. */
function usePool(stored: Record<string, StoredProvider[]>, more: Partial<MailPoolSettings> = {}) {
  const reads: string[] = [];
  const lookups: string[] = [];
  const openMailers = new OpenMailers();
  const pool = use(
    createMailPool({
      sender: { canSign: false, reports: 'mailbox', reportsDeliveries: true },
      kind: 'mailbox',
      mailer: mailboxMailer({ storeMessage: async () => {} }),
      installation: [],
      signing: (mailer) => mailer,
      listStored: async (projectId) => {
        reads.push(projectId);
        return stored[projectId] ?? [];
      },
      cipher: { decrypt: (bytes) => bytes.toString() },
      rules: {
        guard: createAddressGuard({
          allowPrivate: false,
          allowLoopback: true,
          lookup: async (name) => {
            lookups.push(name);
            return [{ address: '10.1.1.1', family: 4 }];
          },
        }),
        successReports: false,
        hasSimulator: true,
        sesEndpointOf: () => undefined,
      },
      openMailers,
      ...more,
    }),
  );
  const mailerOf = async (projectId: string, index = 0) => {
    const own = (await pool.providersOf(projectId)).filter(({ scope }) => scope === 'project');
    const { mailer } = own[index] ?? {};
    if (!mailer) throw new Error('No provider');
    return mailer;
  };
  return { pool, reads, lookups, openMailers: more.openMailers ?? openMailers, mailerOf };
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

describe('the providers of a project', () => {
  it('are those of the installation, then its own', async () => {
    const { pool } = usePool({ a: [provider(25, { maxMessageMb: 2, feedback: 'postmark' })] });
    const [first, own, ...others] = await pool.providersOf('a');
    expect([first, others]).toEqual([pool.default, []]);
    expect(own).toMatchObject({
      id: 'provider-25',
      scope: 'project',
      maxMessageBytes: 2 * 1024 * 1024,
      reportsDelivery: true,
      mailer: { provider: 'provider provider-25' },
    });
    expect(await pool.providersOf('b')).toEqual([pool.default]);
  });

  it('are read once for many batches, and keep their mailer', async () => {
    const { pool, reads, mailerOf } = usePool({ a: [provider(25)] });
    const mailers = [await mailerOf('a'), await mailerOf('a')];
    await Promise.all([pool.providersOf('a'), pool.providersOf('b')]);
    expect([mailers[0] === mailers[1], reads]).toEqual([true, ['a', 'b']]);
  });

  it('are read again after an error of the database', async () => {
    const answers = [Promise.reject(new Error('away')), Promise.resolve([provider(25)])];
    const { pool } = usePool({}, { listStored: () => answers.shift() ?? Promise.resolve([]) });
    await expect(pool.providersOf('a')).rejects.toThrow('away');
    expect(await pool.providersOf('a')).toHaveLength(2);
  });
});

describe('a provider of the installation', () => {
  it('is there for every project, and sends over its own server without limits of addresses', async () => {
    const sink = await useSmtpSink({ user: 'us' });
    const { fields, ...given } = provider(sink.port, { id: 'backup', feedback: 'postmark' });
    const backup = {
      ...given,
      fields: { ...fields, user: 'us' } as StoredProvider['fields'],
      secret: 'secret',
      feedbackToken: null,
      feedbackSecret: null,
    };
    const guard = { findAddresses: () => Promise.reject(new Error('asked')), refuses: () => true };
    const rules = {
      guard,
      successReports: false,
      hasSimulator: true,
      sesEndpointOf: () => undefined,
    };
    const { pool } = usePool({}, { installation: [backup], rules });
    const [, shared] = await pool.providersOf('a');
    expect(shared).toMatchObject({
      id: 'backup',
      scope: 'installation',
      reportsDelivery: true,
      mailer: { provider: 'provider backup' },
    });
    expect(await shared?.mailer.send(message())).toMatchObject({ kind: 'accepted' });
    expect(String(sink.messages[0]?.raw)).toMatch(/^X-PM-Metadata-everpost-email: e1/);
  });
});

describe('the mailer of a project', () => {
  it('logs in with its own password, and sends over its own server', async () => {
    const sink = await useSmtpSink({ user: 'shop' });
    const stored = provider(sink.port, { secret: Buffer.from('secret') });
    const fields = { ...stored.fields, user: 'shop' } as StoredProvider['fields'];
    const { mailerOf } = usePool({ a: [{ ...stored, fields }] });
    expect(await (await mailerOf('a')).send(message())).toMatchObject({ kind: 'accepted' });
    expect(sink.messages).toHaveLength(1);
  });

  it('tells a mail service the id of the mail', async () => {
    const sink = await useSmtpSink();
    const { mailerOf } = usePool({ a: [provider(sink.port, { feedback: 'mailjet' })] });
    await (await mailerOf('a')).send(message({ emailId: 'e7' }));
    expect(sink.messages[0]?.raw.toString()).toMatch(/^X-MJ-CustomID: e7\r\nSubject: Hi\r\n/m);
  });

  it('sends nothing if its password cannot be decrypted, and says that it is tried again', async () => {
    const sink = await useSmtpSink();
    const stored = provider(sink.port, { secret: Buffer.from('secret') });
    const decrypt = () => {
      throw new Error('unknown key');
    };
    const { mailerOf } = usePool({ a: [stored] }, { cipher: { decrypt } });
    expect(await (await mailerOf('a')).send(message())).toEqual({
      kind: 'retry',
      error: 'unknown key',
    });
  });

  it.each([
    ['10.0.0.1', 0],
    ['mail.internal.example', 1],
  ])('never connects to the private address of %s', async (host, lookedUp) => {
    const fields = { kind: 'smtp', host, port: 25, security: 'none', user: null } as const;
    const { mailerOf, lookups } = usePool({ a: [provider(25, { fields })] });
    expect(await (await mailerOf('a')).send(message())).toEqual({
      kind: 'retry',
      error: expect.stringContaining('is not at a public address'),
    });
    expect(lookups).toHaveLength(lookedUp);
  });

  it('sends nothing without encryption, or with an untrusted certificate, if TLS is required', async () => {
    for (const startTls of [false, true]) {
      const sink = await useSmtpSink({ startTls });
      const { port } = sink;
      const fields = { kind: 'smtp', host: '127.0.0.1', port, security: 'starttls', user: null };
      const stored = provider(port, { fields: fields as StoredProvider['fields'] });
      const { mailerOf } = usePool({ a: [stored] });
      expect(await (await mailerOf('a')).send(message())).toEqual({
        kind: 'retry',
        error: expect.stringMatching(startTls ? /certificate/ : /does not offer encryption/),
      });
      expect(sink.messages).toEqual([]);
    }
  });

  it('uses at most five connections', async () => {
    const sink = await useSmtpSink({ replyMs: 100 });
    const { mailerOf } = usePool({ a: [provider(sink.port)] });
    const mailer = await mailerOf('a');
    await Promise.all(Array.from({ length: 20 }, () => mailer.send(message())));
    expect([sink.messages.length, sink.connections]).toEqual([20, 5]);
  });

  it('is another one after a change, and the former is closed', async () => {
    const [first, second] = [await useSmtpSink(), await useSmtpSink()];
    const stored = { a: [provider(first.port, { id: 'p' })] };
    const { openMailers, mailerOf } = usePool(stored);
    const former = await mailerOf('a');
    await former.send(message());
    stored.a = [provider(second.port, { id: 'p', revision: 2 })];
    const later = await waitFor('the change', async () => {
      const mailer = await mailerOf('a');
      return mailer !== former && mailer;
    });
    expect(openMailers.size).toBe(0);
    await later.send(message());
    expect([first.messages.length, second.messages.length]).toEqual([1, 1]);
    expect(openMailers.size).toBe(1);
  });
});

describe('a server that hangs', () => {
  it('cannot keep a message for longer than its time, and is left', async () => {
    const hanging = await listen(createServer(() => {}));
    const { port } = new URL(hanging.url);
    const { mailerOf, openMailers } = usePool({ a: [provider(Number(port))] }, { sendMs: 200 });
    const outcome = await (await mailerOf('a')).send(message());
    expect(outcome).toEqual({
      kind: 'retry',
      error: 'The mail server did not take the message within 0.2 seconds.',
    });
    expect(openMailers.size).toBe(0);
  });

  it('leaves the outcome unknown if the message was complete', async () => {
    const server = await useScriptedSmtp({ end: 'silence' });
    const { mailerOf } = usePool({ a: [provider(server.port)] }, { sendMs: 200 });
    const notes: string[] = [];
    const outcome = await (
      await mailerOf('a')
    ).send(
      message({
        notes: {
          begin: () => notes.push('begin') > 0,
          end: ({ kind }) => void notes.push(kind),
        },
      }),
    );
    expect(outcome).toMatchObject({ kind: 'uncertain' });
    expect(notes).toEqual(['begin', 'uncertain']);
  });

  it('does not get a message later, when it wakes up', async () => {
    const server = await useScriptedSmtp({ DATA: 'silence' });
    const { mailerOf } = usePool({ a: [provider(server.port)] }, { sendMs: 200 });
    let begun = 0;
    const notes = { begin: () => (begun += 1) > 0, end: () => {} };
    const outcome = await (await mailerOf('a')).send(message({ notes }));
    await sleep(200);
    expect([outcome.kind, begun, server.complete]).toEqual(['retry', 0, 0]);
  });

  it('leaves places for the servers of other projects', async () => {
    const hanging = await listen(createServer(() => {}));
    const port = Number(new URL(hanging.url).port);
    const sink = await useSmtpSink();
    const openMailers = new OpenMailers({ max: 4 });
    const many = Array.from({ length: 4 }, (_, index) => provider(port, { id: `slow-${index}` }));
    const { mailerOf } = usePool(
      { bad: many, good: [provider(sink.port)] },
      { openMailers, sendMs: 1_000 },
    );
    const held = [];
    for (const index of many.keys()) held.push((await mailerOf('bad', index)).send(message()));
    const outcome = await (await mailerOf('good')).send(message());
    expect(outcome.kind).toBe('accepted');
    const errors = (await Promise.all(held)).map((one) => ('error' in one ? one.error : ''));
    const isRefused = errors.map((error) =>
      error.startsWith('This worker is connected to as many mail servers'),
    );
    // Two of four places: beside two busy ones, two are free.
    expect(isRefused).toEqual([false, false, true, true]);
  });
});

describe('open mailers', () => {
  function places(options: { max?: number; idleMs?: number }) {
    const closed: string[] = [];
    const open = new OpenMailers(options);
    const take = (name: string, projectId = name) =>
      open.take({ projectId, providerId: name, revision: 1 }, () => ({
        ...mailboxMailer({ storeMessage: async () => {} }),
        close: async () => void closed.push(name),
      }));
    return { open, take, closed };
  }

  it('are closed when they are unused for a time', async () => {
    const { open, take, closed } = places({ idleMs: 20 });
    const taken = take('a');
    await sleep(40);
    expect(closed).toEqual([]);
    if (taken) open.release(taken);
    await waitFor('the end', () => closed.length > 0);
    expect([closed, open.size]).toEqual([['a'], 0]);
  });

  it('are closed when others need their place: the one that was unused for longest', () => {
    const { open, take, closed } = places({ max: 2 });
    for (const name of ['a', 'b', 'a', 'c']) {
      const taken = take(name);
      if (taken) open.release(taken);
    }
    expect([closed, open.size]).toEqual([['b'], 2]);
  });

  it('are kept while they are used', () => {
    const { take, closed } = places({ max: 2 });
    expect([take('a'), take('b')].map((taken) => taken !== null)).toEqual([true, true]);
    expect([take('c'), closed]).toEqual([null, []]);
  });
});
