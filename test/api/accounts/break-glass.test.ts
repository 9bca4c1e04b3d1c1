import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, cookieOf, useApi } from '../../support/api.ts';
import { addAuthenticator } from '../../support/second-factor.ts';

const api = await useApi({
  PLATFORM_FROM_ADDRESS: 'everpost@platform.test',
  DASHBOARD_URL: 'https://app.shop.test',
});
const root = join(import.meta.dirname, '../../..');

/** Runs the command of the operator with only the settings that it needs. */
async function breakGlass(...args: string[]) {
  const { databaseUrl } = api.services.config;
  const run = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'api/break-glass.ts', ...args],
    {
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: databaseUrl,
        DASHBOARD_URL: 'https://app.shop.test',
        PLATFORM_FROM_ADDRESS: 'everpost@platform.test',
      },
    },
  );
  return run.then(
    ({ stdout }) => ({ code: 0, out: stdout.trim(), err: '' }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, out: '', err: stderr }),
  );
}

const open = (token: string) => api.request('POST', '/auth/break-glass', { body: { token } });
const tokenOf = (link: string) => new URL(link).searchParams.get('token') ?? '';

describe('a link of the operator', () => {
  it('lets a user in once, with a factor, for an hour, and is told by mail', async () => {
    const { email, userId, cookie } = await api.signUp();
    await addAuthenticator(api, cookie);
    const { code, out } = await breakGlass(email.toUpperCase());
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^https:\/\/app\.shop\.test\/auth\/break-glass\?token=[0-9a-f]{64}$/),
    ]);
    const used = await open(tokenOf(out));
    expect([used.status, used.body.data]).toEqual([200, { id: userId, email }]);
    const sessions = await api.request('GET', '/users/@me/sessions', { cookie: cookieOf(used) });
    const current = sessions.body.find((session: { current: boolean }) => session.current);
    expect(current).toMatchObject({ method: 'break_glass', secondFactor: 'recovery' });
    const minutes = (Date.parse(current.expiresAt) - Date.now()) / 60_000;
    expect(Math.round(minutes)).toBe(60);
    expect(codeOf(await open(tokenOf(out)))).toEqual([400, 'INVALID_TOKEN']);
    const { rows: mails } = await sql<{ subject: string }>`
      select subject from system_mail where to_email = ${email} and subject like '%operator'`.execute(
      api.db,
    );
    expect(mails.map(({ subject }) => subject).toSorted()).toEqual([
      'A link to your account was made by the operator',
      'A link to your account was used by the operator',
    ]);
    const { rows: events } = await sql<{ event: string }>`
      select event from security_event where user_id = ${userId} and event like 'break%'
        order by id`.execute(api.db);
    expect(events.map(({ event }) => event)).toEqual(['break_glass.issued', 'break_glass.used']);
  });

  it('ends the former one, and takes the factors with it if asked to', async () => {
    const { email, cookie } = await api.signUp();
    await addAuthenticator(api, cookie);
    const first = await breakGlass(email);
    const second = await breakGlass(email, '--remove-factors');
    expect(codeOf(await open(tokenOf(first.out)))).toEqual([400, 'INVALID_TOKEN']);
    expect((await open(tokenOf(second.out))).status).toBe(200);
    const login = await api.request('POST', '/auth/login', {
      body: { email, password: 'a password' },
    });
    expect(login.status).toBe(200);
  });

  it('is over after 15 minutes', async () => {
    const { email } = await api.signUp();
    const { out } = await breakGlass(email);
    await sql`update break_glass set expires_at = now() - interval '1 minute'`.execute(api.db);
    expect(codeOf(await open(tokenOf(out)))).toEqual([400, 'INVALID_TOKEN']);
  });

  it('needs the address of an account', async () => {
    const unknown = await breakGlass('no-one@shop.test');
    expect([unknown.code, unknown.err]).toEqual([
      1,
      'No account has the address no-one@shop.test.\n',
    ]);
    const none = await breakGlass();
    expect([none.code, none.err.includes('Usage: npm run break-glass')]).toEqual([2, true]);
  });
});
