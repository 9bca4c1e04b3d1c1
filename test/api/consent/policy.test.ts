import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** The consent policy of a project. Each test has its own project. */

async function useProject() {
  const shop = await useShop();
  const put = (body: object) => shop.call('PUT', '/consent-policy', body);
  const from = `team@${shop.domain}`;
  const template = (more: object = {}) =>
    shop.createTemplate({ body: '<a href="{{confirmUrl}}">Yes</a>', from: null, ...more });
  return { ...shop, put, from, template };
}

const faultOf = ({
  status,
  body,
}: Awaited<ReturnType<Awaited<ReturnType<typeof useShop>>['call']>>) => [
  status,
  body.error.errors?.[0]?.field,
  body.error.errors?.[0]?.code,
];

const defaults = {
  requireConfirmation: false,
  templateId: null,
  from: null,
  fromName: null,
  remindAfter: null,
  expireAfter: 604_800,
  bounceScope: 'marketing',
};

describe('the consent policy', () => {
  it('has defaults until it is set; what is left out stays', async () => {
    const { call, put, from } = await useProject();
    expect((await call('GET', '/consent-policy')).body).toEqual({ ...defaults, updatedAt: null });
    const first = await put({ from: `The Shop <${from}>`, bounceScope: 'all' });
    const set = { ...defaults, from, fromName: 'The Shop', bounceScope: 'all' };
    expect([first.status, first.body]).toEqual([200, { ...set, updatedAt: expect.any(String) }]);
    const { body } = await put({ remindAfter: 60, expireAfter: 120 });
    expect(body).toMatchObject({ ...set, remindAfter: 60, expireAfter: 120 });
    expect((await call('GET', '/consent-policy')).body).toEqual(body);
  });

  it('needs a sender where confirmations are required, also later', async () => {
    const { call, put, from, template } = await useProject();
    const refused = [422, 'from', 'required'];
    expect(faultOf(await put({ requireConfirmation: true }))).toEqual(refused);
    expect((await put({ requireConfirmation: true, from })).status).toBe(200);
    expect(faultOf(await put({ from: null }))).toEqual(refused);
    const templateId = await template({ from });
    expect((await put({ templateId, from: null })).status).toBe(200);
    expect(faultOf(await call('PATCH', `/templates/${templateId}`, { from: null }))).toEqual(
      refused,
    );
    expect(faultOf(await put({ templateId: null }))).toEqual(refused);
  });

  it('takes a TRANSACTIONAL template with the link alone', async () => {
    const { put, template } = await useProject();
    const fault = async (templateId: string) => faultOf(await put({ templateId }));
    expect(await fault(await template({ type: 'MARKETING' }))).toEqual([
      422,
      'templateId',
      'not_allowed',
    ]);
    expect(await fault(await template({ body: 'confirmUrl' }))).toEqual([
      422,
      'templateId',
      'custom',
    ]);
    expect(codeOf(await put({ templateId: randomUUID() }))).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    expect((await put({ templateId: await template() })).status).toBe(200);
  });

  it('keeps its template as it is, and its domain', async () => {
    const { call, put, from, template } = await useProject();
    const id = await template();
    await put({ templateId: id, from });
    const changed = await call('PATCH', `/templates/${id}`, { type: 'MARKETING' });
    expect(faultOf(changed)).toEqual([422, 'type', 'not_allowed']);
    expect((await call('PATCH', `/templates/${id}`, { type: 'TRANSACTIONAL' })).status).toBe(200);
    for (const remove of [
      () => call('DELETE', `/templates/${id}`),
      () => call('POST', '/templates/bulk-update', { ids: [id], delete: true }),
    ]) {
      const kept = await remove();
      expect(codeOf(kept)).toEqual([409, 'TEMPLATE_IN_USE']);
      expect(kept.body.error.details).toEqual({ workflowSteps: [], consentPolicy: true });
    }
    const [domain] = (await call('GET', '/domains')).body;
    const used = await call('DELETE', `/domains/${domain.id}`);
    expect(codeOf(used)).toEqual([409, 'DOMAIN_IN_USE']);
    expect(used.body.error.details).toEqual({ templates: [], campaigns: [], consentPolicy: true });
    await put({ templateId: null, from: null });
    expect((await call('DELETE', `/templates/${id}`)).status).toBe(204);
    expect((await call('DELETE', `/domains/${domain.id}`)).status).toBe(200);
  });

  it('refuses times that do not fit, foreign senders, and members who are no administrators', async () => {
    const { api, project, put, call } = await useProject();
    expect(faultOf(await put({ remindAfter: 9, expireAfter: 9 }))).toEqual([
      422,
      'remindAfter',
      'custom',
    ]);
    expect(faultOf(await put({ expireAfter: 31_536_001 }))).toEqual([
      422,
      'expireAfter',
      'too_big',
    ]);
    expect(codeOf(await put({ from: 'me@unknown.example' }))).toEqual([
      403,
      'DOMAIN_NOT_REGISTERED',
    ]);
    const { cookie, userId } = await api.signUp();
    const row = { project_id: project.id, user_id: userId, role: 'MEMBER' };
    await api.db.insertInto('membership').values(row).execute();
    const headers = { 'X-Project-Id': project.id };
    const asMember = { cookie, headers, body: { remindAfter: 9 } };
    expect(codeOf(await api.request('PUT', '/consent-policy', asMember))).toEqual([
      403,
      'INSUFFICIENT_ROLE',
    ]);
    expect((await call('GET', '/consent-policy')).body.updatedAt).toBeNull();
  });

  it('asks a subscribed contact for the topics it does not get, whatever topics other projects have', async () => {
    const { api, call, put, from, project } = await useProject();
    const other = await useProject();
    await put({ from });
    const topic = { name: 'News', visibility: 'public' };
    const idOf = async ({ key, ...more }: { key: string; default: string }) =>
      (await call('POST', '/topics', { ...topic, key, ...more })).body.id as string;
    const held = await idOf({ key: 'held', default: 'subscribed' });
    const missing = await idOf({ key: 'missing', default: 'unsubscribed' });
    await other.call('POST', '/topics', { ...topic, key: 'missing', default: 'subscribed' });
    const asked = { confirm: true, topics: ['held', 'missing'] };
    const email = newAddress();
    await call('POST', '/contacts', { email });
    const tracked = await api.request('POST', '/v1/track', {
      key: project.secretKey,
      body: { ...asked, email, event: 'seen' },
    });
    const added = await call('POST', '/contacts', { ...asked, email });
    expect([tracked.status, added.status]).toEqual([200, 200]);
    const requests = await api.db
      .selectFrom('opt_in')
      .select(['of_mail', 'topic_ids'])
      .where('project_id', '=', project.id)
      .execute();
    expect(requests).toEqual([{ of_mail: false, topic_ids: [missing] }]);
    expect(requests[0]?.topic_ids).not.toContain(held);
  });

  it('outlives a reset of the project, but for its template', async () => {
    const { api, project, call, put, from, template } = await useProject();
    await put({
      templateId: await template(),
      from,
      requireConfirmation: true,
      bounceScope: 'all',
    });
    await call('POST', '/contacts', { email: newAddress(), confirm: true });
    const path = `/users/@me/projects/${project.id}/reset`;
    const { cookie, userId } = await api.signUp();
    const row = { project_id: project.id, user_id: userId, role: 'ADMIN' };
    await api.db.insertInto('membership').values(row).execute();
    expect((await api.request('POST', path, { cookie })).status).toBe(200);
    expect((await call('GET', '/consent-policy')).body).toMatchObject({
      templateId: null,
      from,
      requireConfirmation: true,
      bounceScope: 'all',
    });
  });
});
