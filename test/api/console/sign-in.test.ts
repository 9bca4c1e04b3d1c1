import { expect, it } from 'vitest';
import { issueLink } from '../../../api/accounts/factors/break-glass.ts';
import { useApi } from '../../support/api.ts';
import { useOidcIssuer } from '../../support/fakes/oidc-issuer.ts';
import { dashboard, linkAt, providerOf, useOidcApi } from '../../support/fakes/oidc.ts';
import { makePasskey } from '../../support/passkey.ts';
import { addAuthenticator } from '../../support/second-factor.ts';
import { newVisitor } from '../../support/visitor.ts';

const password = 'a password';
const origin = 'https://app.shop.test';
const api = await useApi({ DASHBOARD_URL: origin });
const issuer = await useOidcIssuer();
issuer.user = { sub: 'ada', email: 'ada@corp.example', email_verified: true };

it('offers each way to sign in that the server has', async () => {
  const oidc = await useOidcApi([providerOf(issuer, { name: 'Ada & Co' })], {
    GITHUB_OAUTH_CLIENT: 'github',
    GITHUB_OAUTH_SECRET: 'a secret',
    GOOGLE_OAUTH_CLIENT: 'google',
    GOOGLE_OAUTH_SECRET: 'a secret',
    PASSWORD_SIGN_IN: 'false',
  });
  const { html, status } = await newVisitor(oidc).open('/console/auth/login');
  expect(status).toBe(200);
  expect(html).toContain(`href="${oidc.url}/oauth/github/outbound">Continue with GitHub`);
  expect(html).toContain(`href="${oidc.url}/oauth/google/outbound">Continue with Google`);
  expect(html).toContain(`href="${oidc.url}/oauth/oidc/corp/outbound">Continue with Ada &amp; Co`);
  expect(html).toContain('Sign in with a passkey');
  expect(html).not.toContain('type="password"');
  const plain = await newVisitor(api).open('/console/auth/login');
  expect(plain.html).toContain('type="password"');
  expect(plain.html).not.toContain('Continue with');
});

it.each([
  ['oauth_failed', 'The sign-in was not completed.'],
  ['email_not_verified', 'has not verified your email address'],
  ['domain_not_allowed', 'Users with an email address of this domain cannot sign in'],
  ['wrong_method', 'signs in another way'],
  ['not_invited', 'Ask an admin of a project to invite you'],
  ['signups_disabled', 'makes no new accounts'],
  ['provider_unavailable', 'does not answer'],
  ['constructor', 'The sign-in was not completed.'],
])('says on the log-in page what %s means', async (error, text) => {
  const { html } = await newVisitor(api).open(`/console/auth/login?error=${error}`);
  expect(html).toMatch(new RegExp(`role="alert">[^<]*${text}`));
});

it('leads back to the page that was asked for, also by way of a provider', async () => {
  const oidc = await useOidcApi([providerOf(issuer)]);
  const { cookie } = await oidc.signUp();
  const { id } = await oidc.createProject(cookie);
  await linkAt(oidc, issuer, cookie);
  const visitor = newVisitor(oidc);
  const asked = await visitor.open(`/console/${id}/failures`);
  expect(asked.status).toBe(401);
  const [, outbound = ''] = /href="([^"]+)">Continue with Corp/.exec(asked.html) ?? [];
  const left = await visitor.open(new URL(outbound).pathname);
  const back = issuer.authorize(left.location!);
  const returned = await visitor.open(`${back.pathname}${back.search}`);
  expect(returned.location).toBe(dashboard);
  expect((await visitor.open('/console')).location).toBe(`/console/${id}/failures`);
  expect((await visitor.open(`/console/${id}/failures`)).status).toBe(200);
  expect((await visitor.open('/console')).status).toBe(200);
});

it('asks for the second factor on a page of its own', async () => {
  const { cookie, email } = await api.signUp();
  const app = await addAuthenticator(api, cookie);
  const visitor = newVisitor(api);
  expect((await visitor.open('/console/auth/second-factor')).location).toBe('/console');
  await visitor.open('/console/auth/login');
  await visitor.submit('/console/log-in', { email, password });
  const { html, status } = await visitor.open('/console/auth/second-factor');
  expect([status, html.includes('Code of your app, or a recovery code')]).toEqual([200, true]);
  expect(html).not.toContain('Use a passkey');
  const wrong = await visitor.submit('/console/second-factor', { code: '000000' });
  expect([wrong.status, wrong.html.includes('The code is wrong')]).toEqual([401, true]);
  const right = await visitor.submit('/console/second-factor', { code: app.recoveryCodes[0]! });
  expect([right.status, right.location]).toEqual([303, '/console']);
  expect((await visitor.open('/console')).status).toBe(200);
});

it('signs in with a passkey alone', async () => {
  const { cookie } = await api.signUp();
  const owner = newVisitor(api, cookie);
  const passkey = makePasskey(origin, 'app.shop.test');
  const options = await api.request('POST', '/users/@me/factors/passkey/options', { cookie });
  await api.request('POST', '/users/@me/factors/passkey', {
    cookie: `${cookie}; ${options.headers.getSetCookie()[0]!.split(';')[0]}`,
    body: { response: passkey.create(options.body) },
  });
  expect(owner.cookie()).toBe(cookie);
  const asked = await api.request('POST', '/auth/passkey/options', { body: {} });
  const visitor = newVisitor(api, asked.headers.getSetCookie()[0]!.split(';')[0]);
  await visitor.open('/console/auth/login');
  const none = await visitor.submit('/console/passkey', { response: '' });
  expect([none.status, none.html.includes('The browser did not send a passkey')]).toEqual([
    400,
    true,
  ]);
  const response = JSON.stringify(passkey.get(asked.body.data));
  const next = '/console/account';
  const used = await visitor.submit('/console/passkey', { response, next });
  expect([used.status, used.location]).toEqual([303, next]);
  await visitor.open('/console/auth/login');
  const again = await visitor.submit('/console/passkey', { response });
  expect([again.status, again.html.includes('The passkey could not be verified')]).toEqual([
    401,
    true,
  ]);
});

it('runs only scripts of this server, on pages with passkeys', async () => {
  const visitor = newVisitor(api);
  const { headers, html } = await visitor.open('/console/auth/login');
  const rules = headers.get('content-security-policy');
  expect(rules).toContain("default-src 'none'");
  expect(rules).toContain("script-src 'self'; connect-src 'self'");
  expect(rules).not.toContain('unsafe');
  const [, path = ''] = /<script src="([^"]+)"/.exec(html) ?? [];
  const script = await visitor.open(path);
  expect(script.headers.get('content-type')).toMatch(/^text\/javascript/);
  const others = await visitor.open('/console/auth/linked');
  expect(others.headers.get('content-security-policy')).not.toContain('script-src');
});

it('logs in by a link of the operator, once, and not before the button is pressed', async () => {
  const { email } = await api.signUp();
  const link = await issueLink(api.db, api.services.config, email, { removeFactors: false });
  const { search } = new URL(link!);
  const visitor = newVisitor(api);
  const page = `/console/auth/break-glass${search}`;
  await visitor.open(page);
  const { html } = await visitor.open(page);
  expect(html).toContain('The operator of the server has made this link');
  const fields = { link: search.replace('?token=', '') };
  expect((await visitor.submit('/console/break-glass', fields)).location).toBe('/console');
  expect((await visitor.open('/console')).status).toBe(200);
  await visitor.open(page);
  const again = await visitor.submit('/console/break-glass', fields);
  expect(again.html).toContain('This link is no longer valid');
});

it('says if a provider was linked', async () => {
  const oidc = await useOidcApi([providerOf(issuer)]);
  const visitor = newVisitor(oidc);
  const linked = await visitor.open('/console/auth/linked?provider=corp');
  expect(linked.html).toContain('Corp is linked to your account');
  const taken = await visitor.open('/console/auth/linked?error=identity_taken');
  expect(taken.html).toContain('is already linked to another account');
});
