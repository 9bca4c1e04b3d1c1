import { describe, expect, it } from 'vitest';
import { issueLink } from '../../../api/accounts/factors/break-glass.ts';
import { useApi } from '../../support/api.ts';
import { addAuthenticator } from '../../support/second-factor.ts';

const api = await useApi({ DASHBOARD_URL: 'https://app.shop.test', PLATFORM_FROM_ADDRESS: '' });
const ada = await api.signUp();
const project = await api.createProject(ada.cookie);
const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, body });

async function newest(event: string) {
  const { body } = await call('GET', `/security-events?event=${event}&limit=1`);
  return body.data[0];
}

describe('the security event of a changed setting', () => {
  it('shows the fields of a mail provider, but not its password', async () => {
    const made = await call('POST', '/providers', {
      name: 'Postmark EU',
      kind: 'smtp',
      host: 'smtp.postmarkapp.com',
      user: '3f0c',
      password: 'the-first-password',
    });
    const changed = { ratePerSecond: 5, password: 'the-second-password', name: 'Postmark EU' };
    expect((await call('PATCH', `/providers/${made.body.id}`, changed)).status).toBe(200);
    expect((await newest('provider.changed')).changes).toEqual([
      { field: 'password', before: '•••', after: '•••' },
      { field: 'ratePerSecond', before: null, after: 5 },
    ]);
  });

  it('shows the routes before and after, and none if they are equal', async () => {
    const routes = [
      { match: {}, providers: [{ id: 'default', weight: 1 }], onDown: 'hold' as const },
    ];
    for (const _ of [1, 2]) await call('PUT', '/routing', { routes });
    const { body } = await call('GET', '/security-events?event=routing.changed');
    expect(body.data).toMatchObject([
      { count: 1, changes: [{ field: 'routes', before: [], after: routes }] },
    ]);
  });

  it('shows what a project demands of the sign-in of its members', async () => {
    const path = `/users/@me/projects/${project.id}`;
    const { cookie } = await addAuthenticator(api, ada.cookie);
    const body = { requireSecondFactor: true };
    await api.request('PUT', `${path}/sign-in-policy`, { cookie, body });
    expect(await newest('project.policy_changed')).toMatchObject({
      changes: [{ field: 'requireSecondFactor', before: false, after: true }],
    });
  });
});

describe('the own security events of a user', () => {
  it('name the second factor, and the account of a break-glass link', async () => {
    const { cookie, userId, email } = await api.signUp();
    const factor = await addAuthenticator(api, cookie);
    await issueLink(api.db, api.services.config, email, { removeFactors: true });
    const own = await api.request('GET', '/users/@me/security-events', { cookie: factor.cookie });
    expect(own.body.data).toMatchObject([
      { event: 'break_glass.issued', target: { type: 'user', id: userId } },
      { event: 'factor.removed', target: { type: 'factor', id: factor.id } },
      { event: 'factor.added', target: { type: 'factor', id: factor.id } },
      { event: 'account.created' },
    ]);
  });
});
