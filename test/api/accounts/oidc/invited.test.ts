import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf } from '../../../support/api.ts';
import { useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import { errorOf, providerOf, signInAt, useOidcApi } from '../../../support/fakes/oidc.ts';
import { cookiesOf } from '../../../support/second-factor.ts';

const issuer = await useOidcIssuer();
const other = await useOidcIssuer();
const domains = ['corp.example'];
const api = await useOidcApi(
  [
    providerOf(issuer, { accounts: 'invited', domains }),
    providerOf(other, { id: 'partner', adopt: true, domains }),
  ],
  { PLATFORM_FROM_ADDRESS: 'noreply@platform.test' },
);
// The owner's address counts as verified, as after the link of the mail.
const owner = await api.signUp();
await api.db.updateTable('app_user').set({ email_verified: true }).execute();
const project = await api.createProject(owner.cookie);

let email = '';
beforeEach(() => {
  email = `${randomUUID()}@corp.example`;
  for (const one of [issuer, other]) {
    one.user = { sub: randomUUID(), email, email_verified: true };
    one.claims = {};
  }
});

const invite = (address = email) =>
  api.request('POST', `/projects/${project.id}/members`, {
    cookie: owner.cookie,
    body: { email: address },
  });
const accountOf = (address: string) =>
  api.db
    .selectFrom('app_user')
    .select(['id', 'type', 'email_verified as isVerified'])
    .where('email', '=', address)
    .executeTakeFirst();

describe('a user of a provider with accounts: invited', () => {
  it('signs in once invited, takes the account, and accepts the invitation', async () => {
    expect(errorOf(await signInAt(api, issuer))).toBe('not_invited');
    const invited = await invite();
    const { userId } = invited.body.data;
    expect([invited.status, invited.body.data]).toEqual([
      201,
      { userId, email, role: 'MEMBER', status: 'invited' },
    ]);
    const mails = await api.db.selectFrom('system_mail').selectAll().execute();
    expect(JSON.stringify(mails)).toContain(email);
    const signedIn = await signInAt(api, issuer);
    expect(errorOf(signedIn)).toBe(null);
    const cookie = cookiesOf(signedIn);
    const me = await api.request('GET', '/users/@me', { cookie });
    expect(me.body).toMatchObject({ id: userId, email, type: 'OIDC', emailVerified: true });
    const accepted = await api.request('POST', `/users/@me/invitations/${project.id}/accept`, {
      cookie,
    });
    expect(accepted.body).toMatchObject({ id: project.id, role: 'MEMBER' });
    expect(errorOf(await signInAt(api, issuer))).toBe(null);
  });

  it('takes the account once, and only with a verified address', async () => {
    await invite();
    issuer.claims = { email_verified: false };
    expect(errorOf(await signInAt(api, issuer))).toBe('email_not_verified');
    issuer.claims = {};
    const both = await Promise.all([signInAt(api, issuer), signInAt(api, issuer)]);
    expect(both.map(errorOf)).toEqual([null, null]);
    issuer.user = { ...issuer.user, sub: randomUUID() };
    expect(errorOf(await signInAt(api, issuer))).toBe('wrong_method');
  });

  it('has no other way in: no other provider, no sign-up, no new password', async () => {
    await invite();
    expect(errorOf(await signInAt(api, other, { id: 'partner' }))).toBe('wrong_method');
    const body = { email, password: 'a password' };
    expect(codeOf(await api.request('POST', '/auth/signup', { body }))[1]).toBe('EMAIL_TAKEN');
    await api.request('POST', '/auth/request-password-reset', { body: { email } });
    const account = await accountOf(email);
    const tokens = api.db.selectFrom('account_token').select('purpose');
    expect(await tokens.where('user_id', '=', account?.id ?? '').execute()).toEqual([
      { purpose: 'invitation' },
    ]);
  });

  it('is invited by two at once with one account', async () => {
    const answers = await Promise.all([invite(), invite()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });

  it('does not get in once the invitation is withdrawn, until invited again', async () => {
    const { userId } = (await invite()).body.data;
    const path = `/projects/${project.id}/members/${userId}`;
    await api.request('DELETE', path, { cookie: owner.cookie });
    expect(errorOf(await signInAt(api, issuer))).toBe('not_invited');
    expect((await invite()).body.data.userId).toBe(userId);
    expect(errorOf(await signInAt(api, issuer))).toBe(null);
    await api.request('DELETE', path, { cookie: owner.cookie });
    expect(errorOf(await signInAt(api, issuer))).toBe(null);
  });
});

describe('an invitation', () => {
  it('makes no account for an address of no such provider', async () => {
    const address = `${randomUUID()}@elsewhere.example`;
    expect(codeOf(await invite(address))).toEqual([404, 'USER_NOT_FOUND']);
    const [corp] = api.services.config.oidc;
    if (!corp) throw new Error('There is no provider.');
    corp.accounts = 'existing';
    try {
      expect(codeOf(await invite())).toEqual([404, 'USER_NOT_FOUND']);
      expect(errorOf(await signInAt(api, issuer))).toBe('not_invited');
    } finally {
      corp.accounts = 'invited';
    }
  });

  it('makes no account when it fails', async () => {
    const { id } = await api.createProject(owner.cookie);
    await api.request('DELETE', `/users/@me/projects/${id}`, { cookie: owner.cookie });
    const path = `/projects/${id}/members`;
    const answer = await api.request('POST', path, { cookie: owner.cookie, body: { email } });
    expect(answer.status).toBe(404);
    expect(await accountOf(email)).toBe(undefined);
  });
});
