import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createSystemMailActivities } from '../../../activities/mail/system-mail.ts';
import { insertSystemMail } from '../../../db/emails/system-mail.ts';
import { readKeyFile } from '../../../providers/mail/dkim/keys.ts';
import { createSigning } from '../../../providers/mail/dkim/signing-mailer.ts';
import { guarded } from '../../../providers/mail/guarded-mailer.ts';
import { smtpMailer } from '../../../providers/mail/smtp/mailer.ts';
import { useEngine } from '../../support/engine.ts';
import { signatureTags, verifyDkim } from '../../support/dkim.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { type SunkMessage, useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { atEnd, use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Mail that an SMTP server gets, signed by Everpost. */

const folder = mkdtempSync(join(tmpdir(), 'dkim-'));
atEnd(() => rmSync(folder, { recursive: true }));
const platform = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keyFile = join(folder, 'key.pem');
writeFileSync(keyFile, platform.privateKey.export({ type: 'pkcs8', format: 'pem' }));

const dns = await useDnsServer();
const sink = await useSmtpSink();
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  DNS_SERVERS: dns.address,
  RETURN_PATH_HOST: 'mx.everpost.test',
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});
const { call } = engine;

interface Domain {
  id: string;
  domain: string;
  dkim: { selector: string } | null;
  records: { type: string; name: string; value: string }[];
}

async function add(given: object = {}): Promise<Domain> {
  const { status, body } = await call('POST', '/domains', {
    domain: `${randomUUID()}.test`,
    ...given,
  });
  expect(status).toBe(201);
  return body;
}

const zoneOf = (...domains: Domain[]) =>
  Object.fromEntries(
    domains.flatMap(({ records }) => records.map(({ name, value }) => [name, value])),
  );
const messagesTo = (addresses: readonly string[]) =>
  waitFor('the messages', async () => {
    const found = sink.messages.filter(({ to }) => addresses.includes(to));
    return found.length === addresses.length ? found : null;
  });
const newAddress = () => `${randomUUID()}@people.example`;

async function send({ domain }: Domain, to: readonly string[], given: object = {}) {
  for (let at = 0; at < to.length; at += 50) {
    const mail = { to: to.slice(at, at + 50), from: `me@${domain}`, subject: 'Grüße', ...given };
    const { status } = await call('POST', '/v1/send', { body: '<p>Grüße</p>', ...mail });
    expect(status).toBe(200);
  }
  return messagesTo(to);
}

/** Verifies the signatures of messages: one text for each message. */
const resultsOf = async (messages: readonly SunkMessage[], zone: Record<string, string>) =>
  Promise.all(
    messages.map(async ({ raw }) =>
      (await verifyDkim(raw, zone))
        .map(({ algorithm, result }) => `${algorithm} ${result}`)
        .join(', '),
    ),
  );

it('is signed with attachments of a megabyte', async () => {
  const domain = await add();
  const attachments = [
    { filename: 'a.bin', contentType: 'application/octet-stream', content: 'A'.repeat(1_400_000) },
  ];
  const messages = await send(domain, [newAddress()], { attachments });
  expect(messages[0]!.raw.length).toBeGreaterThan(1_000_000);
  expect(await resultsOf(messages, zoneOf(domain))).toEqual(['rsa-sha256 pass']);
  expect(signatureTags(messages[0]!.raw)).toMatchObject({
    d: domain.domain,
    s: domain.dkim?.selector,
  });
});

it('is signed in a campaign, with its headers for opting out, and in the test of one', async () => {
  const domain = await add();
  const to = await insertContacts(engine, 20);
  const from = `news@${domain.domain}`;
  const id = await createCampaign(engine, { from, subject: 'Grüße, {{email}}', body: '<p>é</p>' });
  const tester = newAddress();
  expect((await call('POST', `/campaigns/${id}/test`, { email: tester })).status).toBe(200);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  const messages = await messagesTo([...to, tester]);
  const results = await resultsOf(messages, zoneOf(domain));
  expect(new Set(results)).toEqual(new Set(['rsa-sha256 pass']));
  const text = messages.find((message) => message.to !== tester)!.raw.toString();
  expect(text).toContain('\r\nList-Unsubscribe-Post: ');
  const changed = Buffer.from(text.replace(/(List-Unsubscribe: <.*?)>/, '$1x>'));
  expect((await verifyDkim(changed, zoneOf(domain)))[0]?.result).toBe('fail');
});

it('has a second signature with Ed25519', async () => {
  const domain = await add({ ed25519: true });
  const messages = await send(domain, [newAddress()]);
  expect(await resultsOf(messages, zoneOf(domain))).toEqual([
    'rsa-sha256 pass, ed25519-sha256 pass',
  ]);
});

it('is not signed where the provider signs', async () => {
  const domain = await add({ signing: 'provider' });
  expect(await resultsOf(await send(domain, [newAddress()]), {})).toEqual(['']);
});

it('has the return path of its domain once DNS shows the MX of it', async () => {
  const { body: made } = await call('POST', '/domains', { domain: `${randomUUID()}.dev` });
  const domain = made as Domain;
  const { name, value } = domain.records[0]!;
  dns.publish(name, 'TXT', [value.slice(0, 200), value.slice(200)]);
  await call('GET', `/domains/${domain.id}/verify`);
  const [before] = await send(domain, [newAddress()]);
  expect(before!.from).toMatch(/^[a-z0-9+.=-]{1,64}@bounces\.everpost\.test$/);

  const other = (await call('POST', '/domains', { domain: `${randomUUID()}.dev` })).body as Domain;
  const key = other.records[0]!;
  dns.publish(key.name, 'TXT', [key.value.slice(0, 200), key.value.slice(200)]);
  const mx = { exchange: 'MX.everpost.test', preference: 10 };
  dns.publish(`bounces.${other.domain}`, 'MX', mx);
  const { body: checked } = await call('GET', `/domains/${other.id}/verify`);
  expect(checked.returnPath).toBe(`bounces.${other.domain}`);
  const messages = await send(other, [newAddress(), newAddress()]);
  const senders = messages.map(({ from }) => from);
  expect(new Set(senders).size).toBe(2);
  for (const from of senders) {
    expect(from).toMatch(/^[a-z0-9+.=-]{1,64}@/);
    expect(from.endsWith(`@bounces.${other.domain}`)).toBe(true);
  }
  expect(await resultsOf(messages, zoneOf(other))).toEqual(['rsa-sha256 pass', 'rsa-sha256 pass']);
});

it('stops being signed within a minute after a change', { timeout: 60_000 }, async () => {
  const domain = await add();
  await send(domain, [newAddress()]);
  expect((await call('PATCH', `/domains/${domain.id}`, { signing: 'provider' })).status).toBe(200);
  await waitFor(
    'a message without signature',
    async () => {
      const [message] = await send(domain, [newAddress()]);
      return !message!.raw.toString().startsWith('DKIM-Signature');
    },
    40_000,
  );
});

it('is right by the key of its selector while the key changes', { timeout: 90_000 }, async () => {
  const domain = await add();
  const before = domain.dkim!.selector;
  const { body: rotated } = await call('POST', `/domains/${domain.id}/rotate-key`);
  const messages = await send(domain, Array.from({ length: 300 }, newAddress));
  const { body: changed } = await call('GET', `/domains/${domain.id}/verify`);
  expect(changed.dkim.selector).toBe(rotated.dkim.next.selector);
  await waitFor(
    'a message by the new key',
    async () => {
      messages.push(...(await send(domain, Array.from({ length: 50 }, newAddress))));
      return signatureTags(messages.at(-1)!.raw)['s'] !== before;
    },
    40_000,
  );
  messages.push(...(await send(domain, Array.from({ length: 300 }, newAddress))));
  const selectors = new Set(messages.map(({ raw }) => signatureTags(raw)['s']));
  expect(selectors).toEqual(new Set([before, changed.dkim.selector]));
  expect(new Set(await resultsOf(messages, zoneOf(changed)))).toEqual(new Set(['rsa-sha256 pass']));
});

it('waits for a key that cannot be read, and never leaves unsigned', async () => {
  const domain = await add();
  const to = newAddress();
  const keys = sql`update domain_key set private_key = set_byte(private_key, 30,
      get_byte(private_key, 30) # 1) where domain_id = ${domain.id}`;
  await keys.execute(engine.api.db);
  const mail = { to, from: `me@${domain.domain}`, subject: 's', body: 'b' };
  const { body } = await call('POST', '/v1/send', mail);
  const id: string = body.data.emails[0].email;
  const waiting = await waitFor('an attempt', async () => {
    const { body: email } = await call('GET', `/emails/${id}`);
    return email.hold ? email : null;
  });
  expect(waiting).toMatchObject({ status: 'PENDING', hold: { reason: 'retry' } });
  expect(waiting.trace.at(-1).detail.error).toContain('was not signed (DKIM)');
  expect(sink.countTo(to)).toBe(0);
  await keys.execute(engine.api.db);
  const [message] = await messagesTo([to]);
  expect(await resultsOf([message!], zoneOf(domain))).toEqual(['rsa-sha256 pass']);
});

it('is signed with the key of the platform if it is account mail', async () => {
  const { db, services } = engine.api;
  const domain = 'everpost.test';
  const mailer = use(
    guarded(
      createSigning({
        ...services,
        findSender: () => Promise.reject(new Error('not to be called')),
        returnPathAt: () => '',
        platformKeys: readKeyFile(keyFile, { selector: 'p1', domain }),
      })(smtpMailer({ host: '127.0.0.1', port: sink.port, secure: false })),
    ),
  );
  const to = newAddress();
  await insertSystemMail(db, {
    kind: 'platform-mail',
    project_id: null,
    to_email: to,
    from_email: `us@${domain}`,
    from_name: 'Everpost',
    reply_to: null,
    subject: 'Your new password',
    html: '<p>Hi</p>',
  });
  const { id: mailId } = await db
    .selectFrom('system_mail')
    .select('id')
    .where('to_email', '=', to)
    .executeTakeFirstOrThrow();
  const rates = { perSecond: 0, perProjectPerSecond: 0 };
  const sending = { ...engine.services, mailer, rates };
  const { SEND_SYSTEM_MAIL } = createSystemMailActivities(sending);
  await new MockActivityEnvironment().run(SEND_SYSTEM_MAIL, { mailId });
  const p = platform.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const zone = { 'p1._domainkey.everpost.test': `v=DKIM1; p=${p}` };
  expect(await resultsOf(await messagesTo([to]), zone)).toEqual(['rsa-sha256 pass']);
});

it('needs a key file that can be read', async () => {
  const settings = {
    SMTP_HOST: '127.0.0.1',
    PLATFORM_FROM_ADDRESS: 'us@everpost.test',
    PLATFORM_DKIM_SELECTOR: 'p1',
    PLATFORM_DKIM_KEY: join(folder, 'missing.pem'),
  };
  await expect(useEngine(settings)).rejects.toThrow('missing.pem has no private key');
});
