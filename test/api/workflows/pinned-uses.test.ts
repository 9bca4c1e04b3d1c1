import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { keyed, trigger, ways } from '../../support/projects/portable-graph.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/**
 * A resource that only an older version uses cannot be deleted while executions are on that
 * version.
 */

const shop = await useShop();
const { call, api } = shop;

const entry = { type: 'EVENT', config: { eventName: 'joined' } };
const pause = keyed('pause', 'DELAY', { config: { amount: 1, unit: 'days' } });

/**
 * Creates a workflow with an execution on an older version, before a step that the new one lacks.
 */
async function pinned(type: string, config: object, exitRules: object[] = []) {
  const end = keyed('end', 'EXIT', { config: { reason: 'end' } });
  const step = keyed('used', type, { config });
  const branches = type === 'CONDITION' ? ['used:yes>end', 'used:no>end'] : ['used>end'];
  const made = await call('POST', '/workflows', {
    name: 'Pinned',
    enabled: true,
    graph: {
      trigger: entry,
      exitRules,
      steps: [trigger, pause, step, end],
      transitions: ways('trigger>pause', 'pause>used', ...branches),
    },
  });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  const { id } = made.body;
  const email = newAddress();
  await call('POST', '/v1/track', { email, event: 'joined' });
  const drawn = await call('PUT', `/workflows/${id}/graph`, {
    trigger: entry,
    exitRules: [],
    steps: [trigger, pause],
    transitions: ways('trigger>pause'),
  });
  expect(drawn.status).toBe(200);
  return {
    id: id as string,
    async leave() {
      await api.db
        .updateTable('execution')
        .set({ status: 'COMPLETED', completed_at: new Date() })
        .where('workflow_id', '=', id)
        .execute();
      await call('DELETE', `/workflows/${id}`);
    },
  };
}

describe('what an execution is still to meet', () => {
  it('keeps a template', async () => {
    const templateId = await shop.createTemplate();
    const { id, leave } = await pinned('SEND_EMAIL', { templateId });
    const usage = await call('GET', `/templates/${templateId}/usage`);
    const uses = [expect.objectContaining({ name: 'used step', workflowId: id })];
    expect(usage.body.workflowSteps).toEqual(uses);
    const refused = await call('DELETE', `/templates/${templateId}`);
    expect(codeOf(refused)).toEqual([409, 'TEMPLATE_IN_USE']);
    expect(refused.body.error.details).toEqual({ workflowSteps: uses });
    await leave();
    expect((await call('DELETE', `/templates/${templateId}`)).status).toBe(204);
  });

  it('keeps a topic', async () => {
    const topic = { key: 'news', name: 'News', visibility: 'public', default: 'subscribed' };
    const { body } = await call('POST', '/topics', topic);
    const templateId = await shop.createTemplate({ type: 'MARKETING' });
    const { leave } = await pinned('SEND_EMAIL', { templateId, topicId: body.id });
    const refused = await call('DELETE', `/topics/${body.id}`);
    expect(codeOf(refused)).toEqual([409, 'TOPIC_IN_USE']);
    expect(refused.body.error.details.workflowSteps).toHaveLength(1);
    await leave();
    expect((await call('DELETE', `/topics/${body.id}`)).status).toBe(204);
  });

  it('keeps a secret', async () => {
    await call('PUT', '/secrets/TOKEN', { value: 'x' });
    await call('PUT', '/secrets/TOKEN_2', { value: 'x' });
    const url = 'https://hooks.shop.example/{{ secret.TOKEN }}';
    const { id, leave } = await pinned('WEBHOOK', { url, method: 'POST' });
    const { body } = await call('GET', '/secrets');
    expect(body[0].usedIn).toEqual([{ workflowId: id, stepId: expect.any(String) }]);
    expect(codeOf(await call('DELETE', '/secrets/TOKEN'))).toEqual([409, 'SECRET_IN_USE']);
    expect((await call('DELETE', '/secrets/TOKEN_2')).status).toBe(204);
    await leave();
    expect((await call('DELETE', '/secrets/TOKEN')).status).toBe(204);
  });

  it.each([
    ['plan', 'CONDITION', { field: 'contact.data.plan', operator: 'equals', value: 'pro' }],
    ['pl"an', 'UPDATE_CONTACT', { updates: { 'pl"an': 1 } }],
    ['due', 'DELAY', { untilField: 'contact.data.due' }],
  ])('keeps the field %s of a %s', async (key, type, config) => {
    await call('POST', '/contacts', { email: newAddress(), data: { [key]: 'pro' } });
    const { id, leave } = await pinned(type, config);
    const path = `/contacts/fields/${encodeURIComponent(`data.${key}`)}`;
    expect((await call('GET', `${path}/usage`)).body).toMatchObject({
      usedInWorkflows: [{ id, name: 'Pinned' }],
      canDelete: false,
    });
    expect(codeOf(await call('DELETE', path))).toEqual([409, 'FIELD_IN_USE']);
    await leave();
    expect((await call('DELETE', path)).status).toBe(200);
  });

  it('keeps an event that a wait or an exit rule names', async () => {
    const wait = await pinned('WAIT_FOR_EVENT', { eventName: 'paid', timeout: 60 });
    const rule = await pinned('DELAY', { amount: 1, unit: 'days' }, [
      { eventName: 'left', reason: 'l' },
    ]);
    for (const [name, { id }] of Object.entries({ paid: wait, left: rule })) {
      const usage = await call('GET', `/events/${name}/usage`);
      expect(usage.body).toMatchObject({ usedInWorkflows: [{ id }], canDelete: false });
      expect(codeOf(await call('DELETE', `/events/${name}`))).toEqual([409, 'EVENT_IN_USE']);
    }
    await wait.leave();
    await rule.leave();
    expect((await call('DELETE', '/events/paid')).status).toBe(200);
    expect((await call('DELETE', '/events/left')).status).toBe(200);
  });

  it('is nothing of another project', async () => {
    const templateId = await shop.createTemplate();
    const { leave } = await pinned('SEND_EMAIL', { templateId });
    const { key = shop.other.secretKey } = {};
    const secret = await api.request('PUT', '/secrets/TOKEN', { key, body: { value: 'x' } });
    expect(secret.status).toBe(204);
    await pinned('WEBHOOK', {
      url: 'https://hooks.shop.example/{{secret.TOKEN}}',
      method: 'POST',
    }).catch(() => {});
    expect((await api.request('DELETE', '/secrets/TOKEN', { key })).status).toBe(204);
    await leave();
  });
});

describe('a campaign whose audience names an event', () => {
  const audience = (name: string) => ({
    name: 'Win back',
    subject: 'Hello',
    body: '<p>Hello</p>',
    from: `team@${shop.domain}`,
    audienceType: 'FILTERED',
    audienceFilter: {
      operator: 'AND',
      conditions: [{ field: `event.${name}`, operator: 'notTriggered' }],
    },
  });

  it.each([
    ['DRAFT', true],
    ['SCHEDULED', true],
    ['SENDING', true],
    ['PAUSED', true],
    ['SENT', false],
    ['CANCELLED', false],
  ])('that is %s uses it: %s', async (status, isUsed) => {
    const name = `bought-${status}`;
    await call('POST', '/v1/track', { email: newAddress(), event: name });
    const made = await call('POST', '/campaigns', audience(name));
    expect([made.status, made.body.error]).toEqual([201, undefined]);
    const { id } = made.body.data;
    await api.db
      .updateTable('campaign')
      .set({ status, paused_reason: status === 'PAUSED' ? 'requested' : null })
      .where('id', '=', id)
      .execute();
    const { body } = await call('GET', `/events/${name}/usage`);
    expect([body.usedInCampaigns, body.canDelete]).toEqual([
      isUsed ? [{ id, name: 'Win back' }] : [],
      !isUsed,
    ]);
    const answer = await call('DELETE', `/events/${name}`);
    expect(answer.status).toBe(isUsed ? 409 : 200);
  });
});

it('warns of a rename that ends the events by which workflows start', async () => {
  const filters = {
    operator: 'AND',
    conditions: [{ field: 'email', operator: 'contains', value: 'a' }],
  };
  const made = await call('POST', '/segments', { name: 'VIP', filters, trackMembership: true });
  await call('POST', '/workflows', { name: 'Welcome', eventName: 'segment.vip.entry' });
  const path = `/segments/${made.body.id}`;
  expect((await call('PATCH', path, { name: 'V.I.P.' })).body.warnings).toBeUndefined();
  expect((await call('PATCH', path, { description: 'x' })).body.warnings).toBeUndefined();
  const { body } = await call('PATCH', path, { name: 'Gold' });
  expect(body.warnings).toEqual([
    {
      code: 'event_renamed',
      eventName: 'segment.vip.entry',
      message: expect.stringContaining('segment.gold.entry'),
    },
  ]);
  expect(body.warnings[0].message).toContain('"Welcome"');
});
