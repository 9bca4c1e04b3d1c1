import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createCertificate } from '../../support/fakes/certificate.ts';
import { useScriptedSmtp, useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { useTrust } from '../../support/fakes/trusted.ts';
import { useFakeSes } from '../../support/fakes/ses.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { listen } from '../../support/use.ts';

const amazon = await useFakeSes();
const shop = await useShop({ AWS_SES_REGION: 'eu-west-1', AWS_SES_ENDPOINT: amazon.endpoint });
const { api, call, domain } = shop;

const local = { kind: 'smtp', host: '127.0.0.1', security: 'none', feedback: 'none' };
let count = 0;

/** Adds a provider, and returns the answer to its test. */
async function tryOut(given: object, body: object = {}) {
  const name = `Server ${(count += 1)}`;
  const made = await call('POST', '/providers', { ...local, name, ...given });
  expect(made.status).toBe(201);
  const { id } = made.body;
  const { status, body: answer } = await call('POST', `/providers/${id}/test`, body);
  expect(status).toBe(200);
  expect((await call('GET', `/providers/${id}`)).body.state).toBe(made.body.state);
  await call('DELETE', `/providers/${id}`);
  return answer;
}

const fine = { ok: true, stage: null, ms: expect.any(Number), tls: null };
const failed = (stage: string, code: number | null, message: string | RegExp) => ({
  ok: false,
  stage,
  ms: expect.any(Number),
  tls: null,
  code,
  message: expect.stringMatching(message),
});
const mail = () => ({ to: newAddress(), from: `team@${domain}` });

describe('a test of a mail provider', () => {
  it('connects and logs in, also while the provider is disabled', async () => {
    const sink = await useSmtpSink({ user: 'shop' });
    const server = { port: sink.port, user: 'shop', password: 'secret', enabled: false };
    expect(await tryOut(server)).toEqual({ ...fine, code: null, message: null });
    expect(sink.messages).toEqual([]);
  });

  it('says when the password is wrong', async () => {
    const sink = await useSmtpSink({ user: 'shop' });
    const server = { port: sink.port, user: 'shop', password: 'wrong' };
    expect(await tryOut(server)).toEqual(failed('auth', 535, /^535 .*Wrong user or password/));
  });

  it('says when the server offers no login', async () => {
    const server = await useScriptedSmtp({});
    const given = { port: server.port, user: 'shop', password: 'secret' };
    expect(await tryOut(given)).toEqual(failed('auth', null, 'does not offer a login'));
  });

  it('says when no server listens', async () => {
    const closed = await listen(createServer());
    await closed.close();
    const port = Number(new URL(closed.url).port);
    expect(await tryOut({ port })).toEqual(failed('connect', null, 'ECONNREFUSED'));
  });

  it('says when the name has no address', async () => {
    const answer = await tryOut({ host: 'everpost-no-such-host.invalid' });
    expect(answer).toMatchObject({ ok: false, stage: 'connect', code: null });
  });

  it('says when the server greets with a refusal', async () => {
    const server = await useScriptedSmtp({ greeting: '554 No service' });
    expect(await tryOut({ port: server.port })).toEqual(failed('connect', 554, '554 No service'));
  });

  it('says when the server does not encrypt, or has an untrusted certificate', async () => {
    const plain = await useSmtpSink();
    const given = { port: plain.port, security: 'starttls' };
    expect(await tryOut(given)).toEqual(failed('tls', null, 'does not offer encryption'));
    const untrusted = await useSmtpSink({ startTls: true });
    const other = { port: untrusted.port, security: 'starttls' };
    expect(await tryOut(other)).toEqual(failed('tls', null, /certificate/));
  });

  it('says when a server for TLS speaks none', async () => {
    const plain = await useSmtpSink();
    const given = { port: plain.port, security: 'tls' };
    expect(await tryOut(given)).toMatchObject({ ok: false, stage: 'tls', code: null });
  });

  it('shows the version of TLS', async () => {
    const certificate = createCertificate('localhost', { hosts: ['localhost'], isAuthority: true });
    useTrust(certificate);
    const sink = await useSmtpSink({ startTls: true, certificate, user: 'shop' });
    const given = {
      host: 'localhost',
      port: sink.port,
      security: 'starttls',
      user: 'shop',
      password: 'secret',
    };
    expect(await tryOut(given)).toMatchObject({ ok: true, tls: 'TLSv1.3' });
    // A certificate for another name is refused.
    const elsewhere = await tryOut({ ...given, host: '127.0.0.1' });
    expect(elsewhere).toMatchObject({ ok: false, stage: 'tls' });
  });

  it('sends one message, which is not recorded', async () => {
    const sink = await useSmtpSink();
    const { to, from } = mail();
    expect(await tryOut({ port: sink.port }, { to, from })).toEqual({
      ...fine,
      code: 250,
      message: expect.stringMatching(/^250 /),
    });
    expect(sink.messages.map((message) => message.to)).toEqual([to]);
    const raw = String(sink.messages[0]?.raw);
    expect(raw).toMatch(/^From: .*team@/m);
    expect(raw).toMatch(/^Subject: \[TEST\] Server/m);
    expect(await shop.emailsTo(to)).toEqual([]);
    const queued = await api.db.selectFrom('system_mail').select('id').execute();
    expect(queued).toEqual([]);
  });

  it.each([
    ['sender', { MAIL: '550 5.7.1 Not you' }, 550],
    ['recipient', { RCPT: '550 5.1.1 Nobody' }, 550],
    ['data', { DATA: '451 Later' }, 451],
    ['data', { end: '554 Spam' }, 554],
    ['data', { end: 'close' }, null],
  ] as const)('says when the %s is refused: %o', async (stage, script, code) => {
    const server = await useScriptedSmtp(script);
    expect(await tryOut({ port: server.port }, mail())).toMatchObject({ ok: false, stage, code });
  });

  it('needs a sender at a verified domain of the project', async () => {
    const { body } = await call('POST', '/providers', { ...local, name: 'Without mail' });
    const test = (given: object) => call('POST', `/providers/${body.id}/test`, given);
    const missing = await test({ to: newAddress() });
    expect(refusal(missing)).toEqual([422, 'VALIDATION_ERROR', 'from required']);
    const foreign = await test({ to: newAddress(), from: 'team@foreign.example' });
    expect(refusal(foreign)).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
  });

  it('is refused for a provider of the installation, and unknown for one of another project', async () => {
    expect(refusal(await call('POST', '/providers/default/test'))).toEqual([403, 'FORBIDDEN']);
    const { body } = await call('POST', '/providers', { ...local, name: 'Of this project' });
    const key = shop.other.secretKey;
    const foreign = await api.request('POST', `/providers/${body.id}/test`, { key });
    expect(refusal(foreign)).toEqual([404, 'PROVIDER_NOT_FOUND']);
  });
});

describe('a test of an account at Amazon SES', () => {
  const account = {
    kind: 'ses',
    region: 'eu-west-1',
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'the-secret-key-of-ses',
    configurationSet: 'ours',
  };

  async function tryAccount(body: object = {}) {
    const name = `Account ${(count += 1)}`;
    const { body: made } = await call('POST', '/providers', { name, ...account });
    return call('POST', `/providers/${made.id}/test`, body);
  }

  it('asks for its quota', async () => {
    expect((await tryAccount()).body).toEqual({ ...fine, code: 200, message: null });
    amazon.next = [{ status: 403, type: 'UnrecognizedClientException', message: 'secret text' }];
    expect((await tryAccount()).body).toEqual(failed('auth', 403, /^UnrecognizedClientException$/));
    amazon.next = [{ status: 403, type: 'AccessDeniedException' }];
    expect((await tryAccount()).body).toMatchObject({ ok: true });
    amazon.next = ['drop'];
    expect((await tryAccount()).body).toMatchObject({ ok: false, stage: 'connect', code: null });
  });

  it('sends a message to members of the project only', async () => {
    const { from } = mail();
    const foreign = await tryAccount({ to: newAddress(), from });
    expect(refusal(foreign)).toEqual([403, 'TEST_RECIPIENT_NOT_ALLOWED']);
    const { email: to } = await api.db
      .selectFrom('app_user')
      .select('email')
      .executeTakeFirstOrThrow();
    expect((await tryAccount({ to, from })).body).toMatchObject({ ok: true });
    expect(amazon.emails).toMatchObject([{ to: [to], configurationSet: 'ours' }]);
  });
});

describe('POST /providers/{id}/rotate-token', () => {
  it('makes a new address, and keeps the former one for a day', async () => {
    const made = await call('POST', '/providers', {
      ...local,
      name: 'Postmark',
      feedback: 'postmark',
    });
    const { id, feedbackUrl } = made.body;
    const read = () =>
      api.db
        .selectFrom('mail_provider')
        .select(['feedback_token_hash', 'former_token_hash', 'former_token_until'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    const before = await read();
    const { status, body } = await call('POST', `/providers/${id}/rotate-token`);
    const path = new RegExp(`^${api.url}/webhooks/providers/${id}/[0-9a-f]{64}$`);
    expect([status, body]).toEqual([200, { feedbackUrl: expect.stringMatching(path) }]);
    expect(body.feedbackUrl).not.toBe(feedbackUrl);
    const after = await read();
    expect(after.former_token_hash).toEqual(before.feedback_token_hash);
    const hours = (Number(after.former_token_until) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    // The service changes: the token stays. Then it has no webhooks any more, and none either.
    await call('PATCH', `/providers/${id}`, { feedback: 'brevo' });
    expect((await read()).feedback_token_hash).toEqual(after.feedback_token_hash);
    await call('PATCH', `/providers/${id}`, { feedback: 'dsn' });
    const refused = await call('POST', `/providers/${id}/rotate-token`);
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'feedback not_allowed']);
    await call('PATCH', `/providers/${id}`, { feedback: 'mailjet' });
    expect((await call('POST', `/providers/${id}/rotate-token`)).status).toBe(200);
    expect(await read()).toMatchObject({ former_token_hash: null, former_token_until: null });
  });

  it('is refused for a provider of the installation', async () => {
    const answer = await call('POST', '/providers/default/rotate-token');
    expect(refusal(answer)).toEqual([403, 'FORBIDDEN']);
  });
});
