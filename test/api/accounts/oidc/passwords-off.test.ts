import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashToken } from '../../../../api/accounts/mail.ts';
import { readConfig } from '../../../../config.ts';
import { useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import { useFakeOAuth } from '../../../support/fakes/oauth.ts';
import { createOAuth } from '../../../../providers/login/oauth.ts';
import {
  dashboard,
  errorOf,
  providerOf,
  signInAt,
  useOidcApi,
} from '../../../support/fakes/oidc.ts';
import { cookiesOf } from '../../../support/second-factor.ts';

const issuer = await useOidcIssuer();

const takingPasswords = ['login', 'signup', 'request-password-reset', 'reset-password'];

it('refuses all passwords with PASSWORD_SIGN_IN=false, whatever the body has', async () => {
  const api = await useOidcApi([providerOf(issuer)], { PASSWORD_SIGN_IN: 'false' });
  issuer.user = { sub: randomUUID(), email: `${randomUUID()}@x.example`, email_verified: true };
  const cookie = cookiesOf(await signInAt(api, issuer));
  const answers = await Promise.all([
    ...takingPasswords.map((path) => api.request('POST', `/auth/${path}`, { body: {} })),
    api.request('POST', '/users/@me/password', { body: {}, cookie }),
  ]);
  for (const { status, body } of answers) {
    expect([status, body.error.code]).toEqual([403, 'PASSWORD_SIGN_IN_DISABLED']);
  }
  const methods = await api.request('GET', '/auth/methods');
  expect(methods.body.data).toMatchObject({ password: false, signUp: false });
});

it('does not start with PASSWORD_SIGN_IN=false and no other way to sign in', () => {
  const required = { DATABASE_URL: 'postgres://localhost/everpost', JWT_SECRET: 'x'.repeat(32) };
  const settings = { ...required, PASSWORD_SIGN_IN: 'false' };
  expect(() => readConfig(settings)).toThrow('PASSWORD_SIGN_IN can only be false with another way');
  const github = { GITHUB_OAUTH_CLIENT: 'client', GITHUB_OAUTH_SECRET: 'secret' };
  expect(readConfig({ ...settings, ...github }).passwordSignIn).toBe(false);
});

it('keeps addresses of a domain to its provider, known or not', async () => {
  const fake = await useFakeOAuth();
  const { id, secret } = fake.client;
  const settings = { domains: ['corp.example'], required: true };
  const api = await useOidcApi([providerOf(issuer, settings)], {
    GITHUB_OAUTH_CLIENT: id,
    GITHUB_OAUTH_SECRET: secret,
  });
  api.services.oauth = createOAuth(api.services.config.oauth, fake);
  issuer.user = { sub: randomUUID(), email: `ada@corp.example`, email_verified: true };
  const known = await signInAt(api, issuer);
  expect(known.headers.get('location')).toBe(dashboard);
  for (const email of ['ada@corp.example', ' New@CORP.example']) {
    for (const path of ['login', 'signup', 'request-password-reset']) {
      const { status, body } = await api.request('POST', `/auth/${path}`, { body: { email } });
      expect([status, body.error.code, body.error.details]).toEqual([
        403,
        'SSO_REQUIRED',
        { provider: 'corp' },
      ]);
    }
  }
  const cookie = cookiesOf(known);
  const change = await api.request('POST', '/users/@me/password', { body: {}, cookie });
  expect([change.status, change.body.error.code]).toEqual([403, 'SSO_REQUIRED']);
  fake.user = { id: '1', email: 'bob@corp.example', verified: true };
  const left = await api.request('GET', '/oauth/github/outbound');
  const there = await fetch(left.headers.get('location') ?? '', { redirect: 'manual' });
  const back = new URL(there.headers.get('location') ?? '');
  const github = await api.request('GET', `${back.pathname}${back.search}`, {
    cookie: cookiesOf(left),
  });
  expect(errorOf(github)).toBe('wrong_method');
  await api.signUp('eve@elsewhere.example');
});

it('refuses to reset the password of an address that is kept to a provider', async () => {
  const mailing = { PLATFORM_FROM_ADDRESS: 'noreply@platform.test' };
  const api = await useOidcApi([providerOf(issuer)], mailing);
  await api.signUp('ada@corp.example');
  await api.request('POST', '/auth/request-password-reset', {
    body: { email: 'ada@corp.example' },
  });
  await api.db
    .updateTable('account_token')
    .set({ token_hash: hashToken('ab'.repeat(32)) })
    .where('purpose', '=', 'reset_password')
    .execute();
  api.services.config.oidc = api.services.config.oidc.map((provider) => ({
    ...provider,
    required: true,
    domains: ['corp.example'],
  }));
  const body = { token: 'ab'.repeat(32), newPassword: 'correct horse battery' };
  const answer = await api.request('POST', '/auth/reset-password', { body });
  expect([answer.status, answer.body.error.code]).toEqual([403, 'SSO_REQUIRED']);
});
