import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { Browser, useIndependentProvider } from '../../../support/fakes/independent-oidc.ts';
import { dashboard, useOidcApi } from '../../../support/fakes/oidc.ts';
import { cookiesOf } from '../../../support/second-factor.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** With an OpenID provider that others maintain, which demands PKCE. */

const provider = await useIndependentProvider();
const { id: clientId, secret: clientSecret } = provider.client;
const api = await useOidcApi([
  {
    id: 'corp',
    name: 'Corp',
    issuer: provider.url,
    clientId,
    clientSecret,
    scopes: ['email', 'groups'],
    domains: ['corp.example'],
    projects: '*',
  },
]);
provider.serve(api.url);

async function signIn(browser: Browser, query = '') {
  const left = await api.request('GET', `/oauth/oidc/corp/outbound${query}`);
  const back = await browser.open(left.headers.get('location') ?? '');
  const returned = await api.request('GET', `${back.pathname}${back.search}`, {
    cookie: cookiesOf(left),
  });
  expect(returned.headers.get('location')).toBe(dashboard);
  return cookiesOf(returned);
}

const me = (cookie: string) => api.request('GET', '/users/@me', { cookie });

it('signs a user in, with the claims that only the userinfo endpoint has', async () => {
  const owner = await api.signUp();
  const { id } = await api.createProject(owner.cookie);
  const rules = [{ provider: 'corp', claim: 'groups', value: 'admins', role: 'ADMIN' }];
  await api.request('PUT', `/users/@me/projects/${id}/sign-in-policy`, {
    cookie: owner.cookie,
    body: { rules },
  });
  const user = randomUUID();
  const cookie = await signIn(new Browser(provider.url, user));
  const { body } = await me(cookie);
  expect(body).toMatchObject({ email: `${user}@corp.example`, type: 'OIDC', emailVerified: true });
  const { body: projects } = await api.request('GET', '/users/@me/projects', { cookie });
  expect(projects).toMatchObject([{ id, role: 'ADMIN' }]);
});

it('asks the user again with fresh=true, and finds the same account', async () => {
  const browser = new Browser(provider.url, randomUUID());
  const first = await me(await signIn(browser));
  const again = await me(await signIn(browser, '?fresh=true'));
  expect([again.status, again.body.id]).toEqual([200, first.body.id]);
});

it('ends the session of a user who logs out at the provider, and no other', async () => {
  const user = randomUUID();
  const [browser, elsewhere] = [1, 2].map(() => new Browser(provider.url, user));
  if (!browser || !elsewhere) throw new Error('There are no browsers.');
  const cookie = await signIn(browser);
  const other = await signIn(elsewhere);
  await browser.open(`${provider.url}/session/end`);
  await waitFor('the end of the session', async () => (await me(cookie)).status === 401);
  expect((await me(other)).status).toBe(200);
});
