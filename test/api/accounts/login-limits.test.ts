import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertToken } from '../../../db/accounts/users.ts';
import { hashToken } from '../../../api/accounts/mail.ts';
import { useApi } from '../../support/api.ts';

/** Three tries per network in 15 minutes, thirty for an account in an hour. */

const api = await useApi({
  RATE_LIMIT_ENABLED: 'true',
  RATE_LIMIT_AUTH_PER_MINUTE: '3',
  TRUST_PROXY: 'true',
});

const password = 'a password';
const home = '203.0.113.7';
const from = (ip: string) => ({ 'X-Forwarded-For': ip });
const logIn = async (email: string, ip: string, given = password) => {
  const body = { email, password: given };
  return api.request('POST', '/auth/login', { body, headers: from(ip) });
};
/** Resets the limit of requests a minute, which is not under test here. */
const nextMinute = () => api.db.deleteFrom('rate_limit').where('key', 'like', 'auth:%').execute();

async function account(): Promise<{ email: string; userId: string }> {
  await nextMinute();
  const email = `${randomUUID()}@users.test`;
  const body = { email, password };
  const made = await api.request('POST', '/auth/signup', { body, headers: from(home) });
  expect(made.status).toBe(200);
  return { email, userId: made.body.data.id as string };
}

/** Logs in with wrong passwords, each from a different network. */
async function guess(email: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1) {
    statuses.push((await logIn(email, `198.51.100.${i + 1}`, 'wrong')).status);
  }
  return statuses;
}

describe('guesses from one network', () => {
  it('are stopped there, and nowhere else', async () => {
    const { email } = await account();
    const attacker = '198.51.100.200';
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      await nextMinute();
      statuses.push((await logIn(email, attacker, 'wrong')).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
    await nextMinute();
    expect((await logIn(email, attacker)).status).toBe(429);
    expect((await logIn(email, home)).status).toBe(200);
    expect((await logIn(email, '192.0.2.9')).status).toBe(200);
  });

  it('are one network within a /64', async () => {
    const { email } = await account();
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      await nextMinute();
      statuses.push((await logIn(email, `2001:db8:0:1::${i + 1}`, 'wrong')).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
  });
});

describe('guesses from many networks', () => {
  it('are stopped for the account; its owner gets in from where they have been', async () => {
    const { email } = await account();
    const statuses = await guess(email, 31);
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429]);
    const stranger = await logIn(email, '192.0.2.77');
    expect([stranger.status, stranger.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(stranger.headers.get('retry-after'))).toBeGreaterThan(60);
    expect((await logIn(email, home)).status).toBe(200);
    expect((await logIn(email, home, 'wrong')).status).toBe(401);
  });

  it('do not keep out an owner who is somewhere new and chooses a new password by mail', async () => {
    const { email, userId } = await account();
    await guess(email, 31);
    const abroad = '192.0.2.88';
    expect((await logIn(email, abroad)).status).toBe(429);
    const token = 'ab'.repeat(32);
    await insertToken(api.db, { userId, purpose: 'reset_password', hash: hashToken(token) });
    const newPassword = 'a better password';
    const reset = await api.request('POST', '/auth/reset-password', {
      body: { token, newPassword },
      headers: from(abroad),
    });
    expect(reset.status).toBe(200);
    expect((await logIn(email, abroad, newPassword)).status).toBe(200);
    expect((await logIn(email, '192.0.2.89', newPassword)).status).toBe(429);
  });

  it('are answered alike where there is no account', async () => {
    const { email } = await account();
    const known = await guess(email, 32);
    const unknown = await guess(`${randomUUID()}@users.test`, 32);
    expect(unknown).toEqual(known);
  });
});

it('right passwords use nothing up', async () => {
  const { email } = await account();
  const statuses = new Set<number>();
  for (let i = 0; i < 33; i += 1) statuses.add((await logIn(email, `192.0.2.${i + 1}`)).status);
  expect([...statuses]).toEqual([200]);
});

it('a login that is refused for its number has a line in the security log', async () => {
  const { email } = await account();
  await guess(email, 31);
  expect(api.log.entries()).toContainEqual(
    expect.objectContaining({
      event: 'login.refused',
      ip: '198.51.100.31',
      details: { reason: 'rate limit' },
    }),
  );
});
