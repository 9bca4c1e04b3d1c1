import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { cookieOf, useApi } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';

/** Account mail as users see it: from the request to the link in the mailbox. */

const sender = 'noreply@platform.test';
const engine = await useEngine({ DASHBOARD_URL: 'https://app.shop.example' });
const api = engine.api;
// Set only now, because otherwise the engine's own user would have to verify its address.
api.services.config.platformFrom = sender;

const password = 'a good password';
const newEmail = () => `${randomUUID()}@users.test`;
const post = (path: string, body: unknown, cookie?: string) =>
  api.request('POST', path, { body, ...(cookie ? { cookie } : {}) });
const signUp = async (email = newEmail()) => {
  const made = await post('/auth/signup', { email, password });
  expect(made.status).toBe(200);
  return { email, cookie: cookieOf(made), userId: made.body.data.id as string };
};
const isVerified = async (cookie: string) =>
  (await api.request('GET', '/users/@me', { cookie })).body.emailVerified as boolean;

/** The token of the newest link to a page of the dashboard, once there are `count` mails. */
/** The token of the newest mail that leads to a page; mails may overtake one another. */
async function tokenTo(email: string, page: string, count = 1): Promise<string> {
  const link = new RegExp(`https://app\\.shop\\.example/auth/${page}\\?token=([0-9a-f]{64})`);
  for (const { id } of (await engine.mailsTo(email, count)).toReversed()) {
    const { body } = await api.request('GET', `/local/mailbox/${id}`);
    expect(body.from).toContain(sender);
    const token = link.exec(body.html as string)?.[1];
    if (token) return token;
  }
  throw new Error(`No mail to ${email} leads to ${page}.`);
}

describe('a new address', () => {
  it('is verified by the link of the mail, once', async () => {
    const { email, cookie } = await signUp();
    expect(await isVerified(cookie)).toBe(false);
    const token = await tokenTo(email, 'verify-email');
    const verified = await post('/auth/verify-email', { token }, cookie);
    expect([verified.status, verified.body]).toEqual([
      200,
      { success: true, data: { message: expect.any(String) } },
    ]);
    expect(await isVerified(cookie)).toBe(true);
    const again = await post('/auth/verify-email', { token }, cookie);
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN']);
  });

  it('is needed for projects, not for looking at oneself', async () => {
    const { cookie } = await signUp();
    const refused = await post('/users/@me/projects', { name: 'Shop' }, cookie);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'EMAIL_VERIFICATION_REQUIRED']);
    expect((await api.request('GET', '/users/@me/projects', { cookie })).status).toBe(200);
  });

  it('gets three more mails an hour, then 429 with Retry-After', async () => {
    const { email, cookie, userId } = await signUp();
    for (let sent = 1; sent <= 3; sent += 1) {
      const answer = await post('/auth/request-verification', {}, cookie);
      expect(answer.status).toBe(200);
    }
    const refused = await post('/auth/request-verification', {}, cookie);
    expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
    await sql`update account_token set created_at = created_at - interval '50 minutes'
      where user_id = ${userId}`.execute(api.db);
    const later = await post('/auth/request-verification', {}, cookie);
    expect(Number(later.headers.get('retry-after'))).toBeGreaterThan(500);
    expect(Number(later.headers.get('retry-after'))).toBeLessThanOrEqual(600);
    const token = await tokenTo(email, 'verify-email', 4);
    expect((await post('/auth/verify-email', { token }, cookie)).status).toBe(200);
    // Already verified: same response, no mail, no rate limit.
    expect((await post('/auth/request-verification', {}, cookie)).status).toBe(200);
  });

  it('asks for a session before it sends anything', async () => {
    expect((await post('/auth/request-verification', {})).status).toBe(401);
  });
});

describe('a forgotten password', () => {
  it('is replaced by the link of the mail: old sessions and the old password are dead', async () => {
    const { email, cookie } = await signUp();
    await post('/auth/request-password-reset', { email });
    const token = await tokenTo(email, 'reset-password', 2);
    const body = { token, newPassword: 'a better password' };
    const short = await post('/auth/reset-password', { token, newPassword: 'short' });
    expect(short.status).toBe(422);
    expect((await post('/auth/reset-password', body)).status).toBe(200);
    expect((await api.request('GET', '/users/@me', { cookie })).status).toBe(401);
    expect((await post('/auth/login', { email, password })).status).toBe(401);
    const login = await post('/auth/login', { email, password: body.newPassword });
    expect(login.status).toBe(200);
    const again = await post('/auth/reset-password', body);
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN']);
  });

  it('answers a known and an unknown address alike', async () => {
    const { email } = await signUp();
    const [known, unknown] = [
      await post('/auth/request-password-reset', { email }),
      await post('/auth/request-password-reset', { email: newEmail() }),
    ];
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body]);
    expect(known.status).toBe(200);
  });

  it('sends at most three mails an hour, silently', async () => {
    const { email, userId } = await signUp();
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(() => post('/auth/request-password-reset', { email })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { count } = await api.db
      .selectFrom('account_token')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('user_id', '=', userId)
      .where('purpose', '=', 'reset_password')
      .executeTakeFirstOrThrow();
    expect(count).toBe(3);
  });

  it('refuses a link of another purpose, an expired one and an unknown one', async () => {
    const { email, userId } = await signUp();
    const verification = await tokenTo(email, 'verify-email');
    await post('/auth/request-password-reset', { email });
    const token = await tokenTo(email, 'reset-password', 2);
    await sql`update account_token set created_at = now() - interval '61 minutes'
      where user_id = ${userId} and purpose = 'reset_password'`.execute(api.db);
    for (const wrong of [verification, token, '0'.repeat(64)]) {
      const refused = await post('/auth/reset-password', { token: wrong, newPassword: password });
      expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_TOKEN']);
    }
    const malformed = await post('/auth/reset-password', { token: 'x', newPassword: password });
    expect(malformed.status).toBe(422);
  });

  it('leaves no token readable in the database once the mail has left', async () => {
    const { email } = await signUp();
    const token = await tokenTo(email, 'verify-email');
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(t::text, ''), '') as text from (
        select row_to_json(a)::text as t from account_token a
        union all select row_to_json(m)::text from system_mail m
        union all select row_to_json(w)::text from outbox w) texts`.execute(api.db);
    expect(rows[0]?.text).not.toContain(token);
  });
});

describe('the run of an account mail', () => {
  it('is called platform-mail and names no address', async () => {
    const { email } = await signUp();
    const [mail] = await engine.mailsTo(email, 1);
    const handle = engine.temporal.client.workflow.getHandle(`platform-mail-${mail?.id}`);
    const { events = [] } = await handle.fetchHistory();
    const input = events![0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const text = input.map(({ data }) => Buffer.from(data ?? []).toString()).join('');
    expect(text).toContain(mail?.id);
    expect(text).not.toContain(email);
    expect(text).not.toMatch(/[0-9a-f]{64}/);
  });
});

describe('who is invited to a project', () => {
  it('finds one mail about it, without a link but that to the dashboard', async () => {
    const { email, userId, cookie } = await signUp();
    await engine.mailsTo(email, 1);
    await api.db
      .updateTable('project')
      .set({ name: 'Visit https://evil.example' })
      .where('id', '=', engine.project.id)
      .execute();
    const path = `/projects/${engine.project.id}/members`;
    const { status, body } = await engine.call('POST', path, { email });
    expect([status, body.data]).toEqual([
      201,
      { userId, email, role: 'MEMBER', status: 'invited' },
    ]);
    const mails = await engine.mailsTo(email, 2);
    const invitations = mails.filter(({ subject }) => subject.startsWith('Invitation'));
    expect(invitations.map(({ subject }) => subject)).toEqual([
      'Invitation to the project “Visit https evil example”',
    ]);
    const { body: mail } = await api.request('GET', `/local/mailbox/${invitations[0]?.id}`);
    for (const part of [mail.subject, mail.html, mail.text] as string[]) {
      const links = part.match(/https?:\/\/[^\s<")]+/g) ?? [];
      expect(links.filter((link) => link !== 'https://app.shop.example')).toEqual([]);
      expect(part).toContain('Visit https evil example');
    }
    const token = await tokenTo(email, 'verify-email', 2);
    await post('/auth/verify-email', { token }, cookie);
    const accepted = await post(
      `/users/@me/invitations/${engine.project.id}/accept`,
      undefined,
      cookie,
    );
    expect(accepted.status).toBe(200);
  });
});

describe('with PLATFORM_FROM_ADDRESS', () => {
  it('an address is not verified at first, and its mail is on its way', async () => {
    const hosted = await useApi({ PLATFORM_FROM_ADDRESS: sender });
    const { cookie } = await hosted.signUp();
    const { body } = await hosted.request('GET', '/users/@me', { cookie });
    const runs = hosted.dispatched;
    expect(body.emailVerified).toBe(false);
    expect(runs).toEqual([expect.stringMatching(/^platform-mail-/)]);
  });
});

describe('without PLATFORM_FROM_ADDRESS', () => {
  it('addresses count as verified and nothing is sent', async () => {
    api.services.config.platformFrom = null;
    const { cookie, email } = await signUp();
    api.services.config.platformFrom = sender;
    expect(await isVerified(cookie)).toBe(true);
    expect((await api.request('GET', `/local/mailbox?to=${email}`)).body).toEqual([]);
  });
});
