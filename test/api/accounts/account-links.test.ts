import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { codeOf, cookieOf, useApi } from '../../support/api.ts';
import { overtaken } from '../../support/overtaken.ts';

/** Who may use the links of account mails, and when they expire. */

const api = await useApi({
  PLATFORM_FROM_ADDRESS: 'noreply@platform.test',
  DASHBOARD_URL: 'https://app.shop.example',
});

const post = (path: string, body: unknown, cookie?: string) =>
  api.request('POST', path, { body, ...(cookie ? { cookie } : {}) });
const me = async (cookie: string) => (await api.request('GET', '/users/@me', { cookie })).body;
const logIn = (email: string, password: string) => post('/auth/login', { email, password });

/** Returns the token of the newest link to a page of the dashboard in the mailbox of an address. */
async function tokenTo(email: string, page: string): Promise<string> {
  const mails = await api.db
    .selectFrom('system_mail')
    .select('html')
    .where('to_email', '=', email)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  const link = new RegExp(`https://app\\.shop\\.example/auth/${page}\\?token=([0-9a-f]{64})`);
  const [token] = mails.flatMap(({ html }) => link.exec(html)?.[1] ?? []);
  if (!token) throw new Error(`No mail to ${email} leads to ${page}.`);
  return token;
}

const verificationOf = (email: string) => tokenTo(email, 'verify-email');
async function resetOf(email: string): Promise<string> {
  await post('/auth/request-password-reset', { email });
  return tokenTo(email, 'reset-password');
}

describe('the link that verifies an address', () => {
  it('does not verify an account that another user made with the address', async () => {
    // The attacker knows the password; the link goes to the victim, who follows it.
    const attacker = await api.signUp();
    const token = await verificationOf(attacker.email);
    const victim = await api.signUp();
    for (const cookie of [undefined, victim.cookie, 'everpost_session=nonsense']) {
      const clicked = await post('/auth/verify-email', { token }, cookie);
      expect(codeOf(clicked)).toEqual([401, 'UNAUTHORIZED']);
    }
    expect(await me(attacker.cookie)).toMatchObject({ emailVerified: false });
    expect(await me(victim.cookie)).toMatchObject({ emailVerified: false });
    const refused = await post('/users/@me/projects', { name: 'Shop' }, attacker.cookie);
    expect(codeOf(refused)).toEqual([403, 'EMAIL_VERIFICATION_REQUIRED']);
  });

  it('is still good after that, for any session of its account', async () => {
    const { email } = await api.signUp();
    const token = await verificationOf(email);
    await post('/auth/verify-email', { token });
    const other = cookieOf(await logIn(email, 'a password'));
    expect((await post('/auth/verify-email', { token }, other)).status).toBe(200);
    expect(await me(other)).toMatchObject({ emailVerified: true });
    expect(codeOf(await post('/auth/verify-email', { token }, other))).toEqual([
      400,
      'INVALID_TOKEN',
    ]);
  });

  it('is not followed for a page of another site', async () => {
    const { email, cookie } = await api.signUp();
    const token = await verificationOf(email);
    const headers = { Origin: 'https://evil.example' };
    const body = { token };
    const forged = await api.request('POST', '/auth/verify-email', { cookie, headers, body });
    expect(codeOf(forged)).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(await me(cookie)).toMatchObject({ emailVerified: false });
  });

  it('returns 400 INVALID_TOKEN for an unknown token, with and without a session', async () => {
    const { cookie } = await api.signUp();
    for (const as of [undefined, cookie]) {
      const refused = await post('/auth/verify-email', { token: '0'.repeat(64) }, as);
      expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
    }
  });

  it('verifies once when it is followed twice at the same moment', async () => {
    const { email, cookie } = await api.signUp();
    const token = await verificationOf(email);
    const answers = await Promise.all(
      [1, 2, 3].map(() => post('/auth/verify-email', { token }, cookie)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
  });
});

describe('the link that sets a new password', () => {
  it('takes an unverified account with the address over, and verifies it', async () => {
    const attacker = await api.signUp();
    const token = await resetOf(attacker.email);
    const newPassword = 'the victim chose this';
    expect((await post('/auth/reset-password', { token, newPassword })).status).toBe(200);
    expect(codeOf(await logIn(attacker.email, 'a password'))).toEqual([401, 'INVALID_CREDENTIALS']);
    const refused = await api.request('GET', '/users/@me', { cookie: attacker.cookie });
    expect(codeOf(refused)).toEqual([401, 'UNAUTHORIZED']);
    const victim = cookieOf(await logIn(attacker.email, newPassword));
    expect(await me(victim)).toMatchObject({ email: attacker.email, emailVerified: true });
  });

  it('dies with a change of the password', async () => {
    const { email, cookie } = await api.signUp();
    const token = await resetOf(email);
    const changed = await post(
      '/users/@me/password',
      { currentPassword: 'a password', newPassword: 'another password' },
      cookie,
    );
    expect(changed.status).toBe(200);
    const refused = await post('/auth/reset-password', { token, newPassword: 'a third password' });
    expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
    expect((await logIn(email, 'another password')).status).toBe(200);
    // A newer link works.
    const body = { token: await resetOf(email), newPassword: 'a third password' };
    expect((await post('/auth/reset-password', body)).status).toBe(200);
  });

  it('dies with a reset by another link', async () => {
    const { email } = await api.signUp();
    const first = await resetOf(email);
    const second = await resetOf(email);
    expect(second).not.toBe(first);
    const newPassword = 'another password';
    expect((await post('/auth/reset-password', { token: second, newPassword })).status).toBe(200);
    const refused = await post('/auth/reset-password', { token: first, newPassword });
    expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
  });

  it.each([
    ['the address', { email: `${randomUUID()}@users.test` }],
    ['the kind of account', { type: 'GITHUB_OAUTH', password_hash: null }],
    ['the password, by another program', { password_hash: '$argon2id$v=19$other' }],
  ])('dies when %s changes in the database', async (_, change) => {
    const { email, userId } = await api.signUp();
    const token = await resetOf(email);
    await api.db.updateTable('app_user').set(change).where('id', '=', userId).execute();
    const refused = await post('/auth/reset-password', { token, newPassword: 'another password' });
    expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
  });

  it('dies with the account', async () => {
    const { email, cookie } = await api.signUp();
    const token = await resetOf(email);
    const body = { password: 'a password' };
    await api.request('DELETE', '/users/@me', { cookie, body });
    const refused = await post('/auth/reset-password', { token, newPassword: 'another password' });
    expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
  });

  it('sets one password when it is followed twice at the same moment', async () => {
    const { email } = await api.signUp();
    const token = await resetOf(email);
    const passwords = ['the first password', 'the second password', 'the third password'];
    const answers = await Promise.all(
      passwords.map((newPassword) => post('/auth/reset-password', { token, newPassword })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    const logins = await Promise.all(passwords.map((password) => logIn(email, password)));
    expect(logins.map(({ status }) => status)).toEqual(
      answers.map((a) => (a.status === 200 ? 200 : 401)),
    );
  });

  it('does not outlive a change of the password that commits while it is followed', async () => {
    const { email, userId } = await api.signUp();
    const token = await resetOf(email);
    const answer = await overtaken(
      api,
      (tx) =>
        tx
          .updateTable('app_user')
          .set({ password_hash: '$argon2id$v=19$other' })
          .where('id', '=', userId)
          .execute(),
      () => post('/auth/reset-password', { token, newPassword: 'another password' }),
    );
    expect(answer).toEqual([400, 'INVALID_TOKEN']);
  });
});

describe('a new address', () => {
  it('is not verified by a link that went to the old one', async () => {
    const { email, userId, cookie } = await api.signUp();
    const token = await verificationOf(email);
    await api.db
      .updateTable('app_user')
      .set({ email: `${randomUUID()}@users.test` })
      .where('id', '=', userId)
      .execute();
    const refused = await post('/auth/verify-email', { token }, cookie);
    expect(codeOf(refused)).toEqual([400, 'INVALID_TOKEN']);
  });
});
