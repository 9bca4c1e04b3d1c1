import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
await shop.call('POST', '/contacts', { email: newAddress(), data: { plan: 'pro' } });
await shop.call('POST', '/contacts', { email: newAddress(), data: { plan: 'free', seats: 2 } });

const where = (field: string) => ({
  operator: 'AND',
  conditions: [{ field, operator: 'equals', value: 'pro' }],
});
const makeSegment = (field: string) =>
  shop.call('POST', '/segments', { name: field, filters: where(field) });
const makeWorkflow = async () => (await shop.call('POST', '/workflows', { name: 'W' })).body;
const compare = (field: string) => ({
  type: 'CONDITION',
  name: 'Pro?',
  config: { field, operator: 'equals', value: 'pro' },
});

describe('a field of contacts', () => {
  it.each(['plan', 'data.plan', 'contact.data.plan'])(
    'may be called %s in a segment',
    async (n) => {
      const { status, body } = await makeSegment(n);
      expect([status, body.memberCount]).toEqual([201, 1]);
      expect(body.filters.conditions[0].field).toBe('data.plan');
    },
  );

  it('may be called so in the audience of a campaign', async () => {
    for (const field of ['plan', 'contact.data.plan']) {
      const { status, body } = await shop.call('POST', '/campaigns', {
        name: 'C',
        subject: 's',
        body: 'b',
        from: `team@${shop.domain}`,
        audienceType: 'FILTERED',
        audienceFilter: where(field),
      });
      expect([status, body.data?.totalRecipients]).toEqual([201, 1]);
    }
  });

  it('may be called so in a condition, an exit rule and /contacts/fields', async () => {
    const { id } = await makeWorkflow();
    const step = await shop.call('POST', `/workflows/${id}/steps`, compare('plan'));
    expect([step.status, step.body.config.field]).toEqual([201, 'data.plan']);
    const path = `/workflows/${id}/steps/${step.body.id}`;
    const changed = await shop.call('PATCH', path, { config: compare('seats').config });
    expect([changed.status, changed.body.config.field]).toEqual([200, 'data.seats']);
    const rule = { eventName: 'e', reason: 'r', where: [compare('plan').config] };
    const saved = await shop.call('PATCH', `/workflows/${id}`, { exitRules: [rule] });
    expect(saved.body.exitRules[0].where[0].field).toBe('data.plan');
    for (const field of ['plan', 'contact.data.plan']) {
      const { body } = await shop.call('GET', `/contacts/fields/${field}/values`);
      expect(body.values.toSorted()).toEqual(['free', 'pro']);
    }
  });

  it('may be called so in a template', async () => {
    const contact = { email: newAddress(), data: { plan: 'pro', 'first name': 'Ada' } };
    const preview = async (subject: string, data?: object) =>
      (await shop.call('POST', '/templates/preview', { subject, body: 'b', contact, data })).body
        .data;
    const all = '{{plan}} {{data.plan}} {{contact.data.plan}} {{contact.data.first name}}';
    expect(await preview(all)).toMatchObject({ subject: 'pro pro pro Ada', warnings: [] });
    expect((await preview('{{contact.email}}')).subject).toBe(contact.email);
    const own = await preview('{{contact.name}} {{contact.data.plan}}', { contact: { name: 'X' } });
    expect(own.subject).toBe('X');
  });

  it('that no contact has needs the prefix, and a near one is named', async () => {
    const refused = await makeSegment('plna');
    expect(refusal(refused)).toEqual([
      422,
      'VALIDATION_ERROR',
      'filters.conditions.0.field unsupported_field',
    ]);
    expect(refused.body.error.errors[0].message).toContain('Did you mean "plan"?');
    expect((await makeSegment('data.plna')).status).toBe(201);
    const far = await makeSegment('telephone');
    expect(far.body.error.errors[0].message).not.toContain('Did you mean');
  });

  it('that no contact has is refused in a condition, an exit rule and a graph', async () => {
    const { id } = await makeWorkflow();
    const step = await shop.call('POST', `/workflows/${id}/steps`, compare('plna'));
    expect(refusal(step)).toEqual([422, 'VALIDATION_ERROR', 'config.field unsupported_field']);
    expect(step.body.error.errors[0].message).toContain('"plan"');
    const rule = { eventName: 'e', reason: 'r', where: [compare('plna').config] };
    const rules = await shop.call('PATCH', `/workflows/${id}`, { exitRules: [rule] });
    expect(refusal(rules)[2]).toBe('exitRules.0.where.0.field unsupported_field');
    const graph = {
      steps: [{ type: 'TRIGGER' }, { key: 'pro', ...compare('plna') }],
      transitions: [{ from: 'trigger', to: 'pro' }],
    };
    const drawn = await shop.call('PUT', `/workflows/${id}/graph`, graph);
    expect(refusal(drawn)[2]).toBe('steps.pro.config.field unsupported_field');
  });

  it('of another project is unknown here', async () => {
    const { secretKey: key } = shop.other;
    const body = { name: 'S', filters: where('plan') };
    expect((await shop.api.request('POST', '/segments', { key, body })).status).toBe(422);
  });
});

describe('an event of mail that never happens', () => {
  const wait = (eventName: string) => ({
    type: 'WAIT_FOR_EVENT',
    name: 'Wait',
    config: { eventName },
  });

  it('starts no workflow, and the one that was meant is named', async () => {
    const { id } = await makeWorkflow();
    const set = (eventName: string) =>
      shop.call('PATCH', `/workflows/${id}`, { triggerConfig: { eventName } });
    const refused = await set('email.clicked');
    expect(refusal(refused)).toEqual([
      422,
      'VALIDATION_ERROR',
      'triggerConfig.eventName reserved_event',
    ]);
    expect(refused.body.error.errors[0].message).toContain('email.click');
    expect((await set('contact.created')).status).toBe(200);
    expect((await set('email.click')).status).toBe(200);
    const made = await shop.call('POST', '/workflows', { name: 'W', eventName: 'email.opened' });
    expect(refusal(made)[2]).toBe('eventName reserved_event');
  });

  it('ends no wait and no execution', async () => {
    const { id } = await makeWorkflow();
    const step = await shop.call('POST', `/workflows/${id}/steps`, wait('email.opened'));
    expect(refusal(step)[2]).toBe('config.eventName reserved_event');
    const rule = { eventName: 'email.bounced', reason: 'r' };
    const rules = await shop.call('PATCH', `/workflows/${id}`, { exitRules: [rule] });
    expect(refusal(rules)[2]).toBe('exitRules.0.eventName reserved_event');
    const graph = {
      trigger: { type: 'EVENT', config: { eventName: 'email.clicked' } },
      steps: [{ type: 'TRIGGER' }],
      transitions: [],
    };
    const drawn = await shop.call('PUT', `/workflows/${id}/graph`, graph);
    expect(refusal(drawn)[2]).toBe('trigger.config.eventName reserved_event');
  });
});
