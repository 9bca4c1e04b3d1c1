import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { lockSegmentReferences } from '../../../db/segments/segments.ts';
import { keyed, trigger, ways } from '../../support/projects/portable-graph.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';

/** A CONDITION with filters: drawn, refused, listed as a usage, and simulated. */

const shop = await useShop();
const { call } = shop;

const compare = (field: string, operator: string, more: object = {}) => ({
  field,
  operator,
  ...more,
});
const flat = (...conditions: object[]) => ({ operator: 'AND', conditions });
const byFilter = (...filters: object[]) => ({
  mode: 'filter',
  branches: filters.map((filter, index) => ({ id: `b${index}`, name: `B ${index}`, filter })),
});

async function segment(given: object): Promise<string> {
  const { status, body } = await call('POST', '/segments', { name: randomUUID(), ...given });
  expect([status, body.error]).toEqual([201, undefined]);
  return body.id;
}

/** Draws a workflow whose first step has this config. */
function draw(config: object, more: object = {}) {
  const graph = {
    trigger: { type: 'EVENT', config: { eventName: 'joined' } },
    exitRules: [],
    steps: [
      trigger,
      keyed('which', 'CONDITION', { config }),
      keyed('a', 'EXIT', { config: { reason: 'a' } }),
      keyed('b', 'EXIT', { config: { reason: 'b' } }),
    ],
    transitions: ways('trigger>which', 'which:b0>a', 'which:default>b'),
  };
  return call('POST', '/workflows', { name: 'W', graph, ...more });
}

async function drawn(config: object, more: object = {}) {
  const { status, body } = await draw(config, more);
  expect([status, body.error]).toEqual([201, undefined]);
  const { body: graph } = await call('GET', `/workflows/${body.id}/graph`);
  return { id: body.id as string, graph, config: graph.steps[1].config };
}

async function simulated(id: string, given: object) {
  const { status, body } = await call('POST', `/workflows/${id}/simulate`, given);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

describe('a CONDITION by filters', () => {
  it('is answered as conditions, with full names, and can be sent back', async () => {
    await call('POST', '/contacts', { email: newAddress(), data: { plan: 'pro' } });
    const { id, graph, config } = await drawn(
      byFilter(
        flat(
          compare('plan', 'equals', { value: 'pro' }),
          compare('contact.email', 'contains', { value: '@' }),
          compare('event.total', 'equals', { valueOf: 'contact.data.total' }),
          compare('event.bought', 'triggered'),
        ),
      ),
    );
    expect(config.branches[0].filter).toEqual({
      logic: 'AND',
      groups: [
        {
          filters: [
            compare('data.plan', 'equals', { value: 'pro' }),
            compare('email', 'contains', { value: '@' }),
            compare('event.total', 'equals', { valueOf: 'contact.data.total' }),
            compare('event.bought', 'triggered'),
          ],
        },
      ],
    });
    const { version } = (await call('GET', `/workflows/${id}`)).body;
    const put = await call('PUT', `/workflows/${id}/graph`, graph);
    expect([put.status, put.body.version]).toEqual([200, version]);
    const picture = await call('GET', `/workflows/${id}/graph.svg`);
    expect(picture.body).toContain('>B 0</text>');
  });

  it('refuses unknown and foreign segments, and names that no contact has, where they stand', async () => {
    const { body: foreign } = await shop.api.request('POST', '/segments', {
      key: shop.other.secretKey,
      body: { name: 'Foreign', type: 'STATIC' },
    });
    const { status, body } = await draw(
      byFilter(flat(compare('data.a', 'exists'), compare('plam', 'exists')), {
        logic: 'OR',
        groups: [
          {
            filters: [
              compare(`segment.${randomUUID()}`, 'memberOfSegment'),
              compare(`segment.${foreign.id}`, 'memberOfSegment'),
            ],
          },
        ],
      }),
    );
    const at = 'graph.steps.which.config.branches';
    expect([status, ...errorFields(body)]).toEqual([
      422,
      `${at}.0.filter.conditions.1.field unsupported_field`,
      `${at}.1.filter.groups.0.filters.0.field not_found`,
      `${at}.1.filter.groups.0.filters.1.field not_found`,
    ]);
  });

  it('is refused at once while another transaction changes segments', async () => {
    const config = byFilter(flat(compare(`segment.${randomUUID()}`, 'memberOfSegment')));
    const { id, graph } = await drawn(byFilter(flat(compare('data.a', 'exists'))));
    const [, which] = graph.steps;
    const step = `/workflows/${id}/steps`;
    const { steps } = (await call('GET', `/workflows/${id}`)).body;
    const stepId = steps.find(({ type }: { type: string }) => type === 'CONDITION').id;
    await shop.api.db.transaction().execute(async (tx) => {
      await lockSegmentReferences(tx, shop.project.id);
      const refused = await Promise.all([
        draw(config),
        call('PUT', `/workflows/${id}/graph`, {
          ...graph,
          steps: [graph.steps[0], { ...which, config }, ...graph.steps.slice(2)],
        }),
        call('POST', step, { type: 'CONDITION', config }),
        call('PATCH', `${step}/${stepId}`, { name: '', config }),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
    });
  });

  it('keeps the segments, fields and events that it names', async () => {
    const key = `k${Date.now()}`;
    const email = newAddress();
    await call('POST', '/v1/track', { email, event: `${key} bought`, data: { [key]: 1 } });
    const segmentId = await segment({ type: 'STATIC' });
    const { id } = await drawn(
      byFilter(
        flat(
          compare(`segment.${segmentId}`, 'memberOfSegment'),
          compare(`event.${key} bought`, 'triggered'),
          compare(`event.${key} only context`, 'exists'),
          compare('data.other', 'equals', { valueOf: `contact.data.${key}` }),
        ),
      ),
    );
    const user = expect.objectContaining({ id, name: 'W' });
    const inUse = async (path: string) => {
      const { status, body } = await call('DELETE', path);
      const { workflows, usedInWorkflows } = body.error?.details ?? {};
      return [status, body.error?.code, workflows ?? usedInWorkflows];
    };
    const event = `/events/${encodeURIComponent(`${key} bought`)}`;
    expect(await inUse(`/segments/${segmentId}`)).toEqual([409, 'SEGMENT_IN_USE', [user]]);
    expect(await inUse(`/contacts/fields/${key}`)).toEqual([409, 'FIELD_IN_USE', [user]]);
    expect(await inUse(event)).toEqual([409, 'EVENT_IN_USE', [user]]);
    await call('DELETE', `/workflows/${id}`);
    for (const path of [`/segments/${segmentId}`, `/contacts/fields/${key}`, event]) {
      expect((await call('DELETE', path)).status).toBeLessThan(300);
    }
  });

  it('keeps the segment of a version with active executions', async () => {
    const segmentId = await segment({ type: 'STATIC' });
    const config = byFilter(flat(compare(`segment.${segmentId}`, 'memberOfSegment')));
    const { id, graph } = await drawn(config, { enabled: true });
    const { body: contact } = await call('POST', '/contacts', { email: newAddress() });
    await call('POST', `/workflows/${id}/executions`, { contactId: contact.id });
    const rest = { ...graph, steps: [graph.steps[0], graph.steps[2]], transitions: [] };
    const put = await call('PUT', `/workflows/${id}/graph`, {
      ...rest,
      transitions: ways('trigger>a'),
    });
    expect([put.status, put.body.error]).toEqual([200, undefined]);
    const { status, body } = await call('DELETE', `/segments/${segmentId}`);
    expect([status, body.error?.code]).toEqual([409, 'SEGMENT_IN_USE']);
  });

  it('is not restored with a segment that was deleted', async () => {
    const segmentId = await segment({ type: 'STATIC' });
    const config = byFilter(flat(compare(`segment.${segmentId}`, 'memberOfSegment')));
    const { id, graph } = await drawn(config);
    const { version } = (await call('GET', `/workflows/${id}`)).body;
    const steps = [graph.steps[0], graph.steps[2]];
    const put = { ...graph, steps, transitions: ways('trigger>a') };
    expect((await call('PUT', `/workflows/${id}/graph`, put)).status).toBe(200);
    expect((await call('DELETE', `/segments/${segmentId}`)).status).toBeLessThan(300);
    const { status, body } = await call('POST', `/workflows/${id}/versions/${version}/restore`);
    expect([status, body.error?.code]).toEqual([404, 'SEGMENT_NOT_FOUND']);
  });
});

describe('a simulated CONDITION by filters', () => {
  it('has the history, the segments and the values of a stored contact', async () => {
    const email = newAddress();
    const event = `bought ${randomUUID()}`;
    await call('POST', '/v1/track', { email, event, data: { plan: { value: 'pro' } } });
    const { body: found } = await call('GET', `/contacts?search=${encodeURIComponent(email)}`);
    const contactId = found.data?.[0]?.id ?? found.contacts?.[0]?.id;
    const handPicked = await segment({ type: 'STATIC' });
    await call('POST', `/segments/${handPicked}/members`, { emails: [email] });
    const buyers = await segment({ filters: flat(compare(`event.${event}`, 'triggered')) });
    for (const condition of [
      compare(`event.${event}`, 'triggeredWithin', { value: 1, unit: 'hours' }),
      compare(`segment.${handPicked}`, 'memberOfSegment'),
      compare(`segment.${buyers}`, 'memberOfSegment'),
    ]) {
      const { id } = await drawn(byFilter(flat(condition)));
      const stored = await simulated(id, { contactId });
      const madeUp = await simulated(id, { contact: { email: newAddress() } });
      expect([condition, stored.exitReason, madeUp.exitReason]).toEqual([condition, 'a', 'b']);
      expect(stored.path[1].output).toEqual({
        mode: 'filter',
        branch: 'b0',
        result: true,
        checked: [{ id: 'b0', result: true }],
      });
    }
  });

  it('has the events of the simulation, the starting one too', async () => {
    const happened = compare('event.joined', 'triggeredWithin', { value: 1, unit: 'minutes' });
    const { id } = await drawn(byFilter(flat(happened)));
    expect((await simulated(id, { contact: { email: newAddress() } })).exitReason).toBe('a');
  });
});
