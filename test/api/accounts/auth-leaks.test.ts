import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createApp } from '../../../api/app.ts';
import { createLog } from '../../../api/http/log.ts';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { listen, use } from '../../support/use.ts';

/** Sends requests full of secrets, valid and invalid. No response and no log may contain one. */

let log = '';
const answers: string[] = [];

/** Planted secrets. A response that contains one of them has leaked it. */
const planted: string[] = [];
function plant(prefix = ''): string {
  const secret = `${prefix}${randomBytes(32).toString('hex')}`;
  planted.push(secret);
  return secret;
}

const stripe = await useFakeStripe();
const api = await useApi({
  ...stripe.environment,
  GITHUB_OAUTH_CLIENT: 'client',
  GITHUB_OAUTH_SECRET: plant(),
  FREE_TIER_EMAILS_PER_MONTH: '5',
});
const stream = { write: (line: string) => void (log += line) };
const level = { logLevel: 'trace', environment: 'development' };
const server = createServer(
  createApp({ ...api.services, log: createLog(level, stream) }).callback(),
);
const { url } = use(await listen(server));

async function request(
  method: string,
  path: string,
  { body, ...headers }: { body?: unknown } & Record<string, unknown> = {},
) {
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'Content-Type': 'application/json', ...(headers as Record<string, string>) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status >= 400) answers.push(text);
  return { status: response.status, text };
}

it('has no key, password, token or mail in any error or log line', async () => {
  const email = `${randomUUID()}@users.test`;
  const password = plant();
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  planted.push(project.secretKey, project.secretKey.slice(3), cookie.split('=')[1] ?? '');
  const domain = `${randomUUID()}.test`;
  await api.request('POST', '/domains', { key: project.secretKey, body: { domain } });
  const key = { Authorization: `Bearer ${project.secretKey}` };
  const mail = { to: 'ada@people.test', from: `a@${domain}`, subject: 'Hi' };
  const post = async (path: string, body: unknown, headers: object = {}) =>
    (await request('POST', path, { body, ...headers })).status;

  expect(await post('/auth/signup', { email, password })).toBe(200);
  expect(await post('/auth/signup', { email, password })).toBe(409);
  expect(await post('/auth/login', { email, password: plant() })).toBe(401);
  expect(await post('/auth/signup', { email, password: plant().repeat(9) })).toBe(422);
  expect(await post('/auth/signup', { email, password: [plant()] })).toBe(422);
  expect(await post('/auth/reset-password', { token: plant(), newPassword: plant() })).toBe(400);
  expect(await post('/auth/verify-email', { token: plant('x') })).toBe(422);
  expect(await post('/auth/login', `{"password": "${plant()}", broken`)).toBe(400);
  expect(
    await post(
      '/users/@me/password',
      { currentPassword: plant(), newPassword: plant() },
      { Cookie: cookie },
    ),
  ).toBe(401);
  expect(await post('/v1/track', {}, { Authorization: `Bearer ${plant('sk_')}` })).toBe(401);
  expect(await post('/v1/track', {}, { Authorization: `Basic ${plant()}` })).toBe(401);
  expect(
    (await request('GET', '/users/@me', { Cookie: `everpost_session=${plant()}` })).status,
  ).toBe(401);
  expect(
    (await request('GET', `/oauth/github/callback?code=${plant()}&state=${plant()}`)).status,
  ).toBe(302);
  expect(
    await post(
      '/webhooks/incoming/payments',
      { x: plant() },
      { 'Stripe-Signature': `t=1,v1=${plant()}` },
    ),
  ).toBe(400);
  expect(await post('/v1/send', { ...mail, body: plant() }, key)).toBe(200);
  expect(await post('/v1/send', { ...mail, subject: 7, body: plant() }, key)).toBe(422);
  expect(
    await post('/v1/send', { ...mail, body: `{{ ${plant()} | no_such_filter }}` }, key),
  ).toBeGreaterThan(0);

  // PostgreSQL quotes the whole row that violates a constraint.
  await sql`alter table email add constraint no_boom check (subject <> 'boom')`.execute(api.db);
  expect(await post('/v1/send', { ...mail, subject: 'boom', body: plant() }, key)).toBe(500);
  await sql`alter table app_user add constraint no_hash check (email not like 'boom%')`.execute(
    api.db,
  );
  expect(await post('/auth/signup', { email: `boom-${email}`, password: plant() })).toBe(500);

  expect(log).toContain('no_boom');
  expect(log.split('\n').length).toBeGreaterThan(planted.length / 2);
  expect(log).not.toMatch(/\$argon2/);
  for (const secret of planted) {
    expect(log.includes(secret), `the log tells ${secret}`).toBe(false);
    expect(answers.join('\n').includes(secret), `an error tells ${secret}`).toBe(false);
  }
});
