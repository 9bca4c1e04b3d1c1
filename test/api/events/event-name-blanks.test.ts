import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** Blanks around the name of an event do not matter, in any request. */

const shop = await useShop();

async function made(path: string, body: object) {
  const answer = await shop.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const workflow = await made('/workflows', { name: 'W', eventName: ' begin ' });
const subscription = await made('/event-subscriptions', {
  url: 'https://hooks.shop.example/everpost',
  events: [' paid ', 'order.* '],
});
const wait = (eventName: string) => ({
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName },
});
const segment = (name: string) => ({
  name: 'S',
  filters: { operator: 'AND', conditions: [{ field: `event.${name}`, operator: 'triggered' }] },
});

/** Every request with the name of an event, and the field of the name. */
const places: readonly [string, (name: string) => [string, string, object?], string][] = [
  ['a workflow', (eventName) => ['POST', '/workflows', { name: 'W', eventName }], 'eventName'],
  [
    'the trigger of a new workflow',
    (eventName) => ['POST', '/workflows', { name: 'W', triggerConfig: { eventName } }],
    'triggerConfig.eventName',
  ],
  [
    'a changed trigger',
    (eventName) => ['PATCH', `/workflows/${workflow.id}`, { triggerConfig: { eventName } }],
    'triggerConfig.eventName',
  ],
  [
    'an exit rule',
    (eventName) => [
      'PATCH',
      `/workflows/${workflow.id}`,
      { exitRules: [{ eventName, reason: 'x' }] },
    ],
    'exitRules.0.eventName',
  ],
  ['a wait', (name) => ['POST', `/workflows/${workflow.id}/steps`, wait(name)], 'config.eventName'],
  [
    'the graph of a workflow',
    (name) => [
      'PUT',
      `/workflows/${workflow.id}/graph`,
      {
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          { key: 'w', ...wait(name) },
        ],
        transitions: [{ from: 'trigger', to: 'w' }],
      },
    ],
    'steps.w.config.eventName',
  ],
  [
    'a simulated event',
    (name) => [
      'POST',
      `/workflows/${workflow.id}/simulate`,
      { contact: { email: newAddress() }, events: [{ name, after: 1 }] },
    ],
    'events.0.name',
  ],
  ['a segment', (name) => ['POST', '/segments', segment(name)], 'filters.conditions.0.field'],
  [
    'a subscription',
    (name) => ['PATCH', `/event-subscriptions/${subscription.id}`, { events: [name] }],
    'events.0',
  ],
  [
    'a replay',
    (eventName) => [
      'POST',
      `/event-subscriptions/${subscription.id}/replay`,
      { from: new Date().toISOString(), eventName },
    ],
    'eventName',
  ],
  [
    'the deliveries of a subscription',
    (name) => [
      'GET',
      `/event-subscriptions/${subscription.id}/deliveries?eventName=${encodeURIComponent(name)}`,
    ],
    'eventName',
  ],
  [
    'a list of events',
    (name) => ['GET', `/events?eventName=${encodeURIComponent(name)}`],
    'eventName',
  ],
  [
    'a list of fields',
    (name) => ['GET', `/workflows/fields?eventName=${encodeURIComponent(name)}`],
    'eventName',
  ],
  ['its usage', (name) => ['GET', `/events/${encodeURIComponent(name)}/usage`], 'eventName'],
  ['its deletion', (name) => ['DELETE', `/events/${encodeURIComponent(name)}`], 'eventName'],
  ['/v1/track', (event) => ['POST', '/v1/track', { email: newAddress(), event }], 'event'],
  ['/events/track', (name) => ['POST', '/events/track', { name }], 'name'],
];

describe('the name of an event', () => {
  it.each(places)('in %s is never blank, too long or of two lines', async (_, request, field) => {
    expect(refusal(await shop.call(...request('  \t')))).toEqual([
      422,
      'VALIDATION_ERROR',
      `${field} too_small`,
    ]);
    expect(refusal(await shop.call(...request('x'.repeat(101))))).toContain(`${field} too_big`);
    expect(refusal(await shop.call(...request('a\nb')))).toContain(`${field} invalid_string`);
  });

  it.each(places)('in %s may have blanks around it', async (_, request) => {
    const answer = await shop.call(...request(` ${'x'.repeat(100)} `));
    expect([undefined, 'EVENT_IN_USE']).toContain(answer.body.error?.code);
  });

  it('is stored without them', async () => {
    const step = await made(`/workflows/${workflow.id}/steps`, wait(' paid '));
    expect(step.config.eventName).toBe('paid');
    const { condition } = await made('/segments', segment(' paid '));
    expect(condition.groups[0].filters[0].field).toBe('event.paid');
    const rules = { exitRules: [{ eventName: ' bye ', reason: 'x' }] };
    const { body } = await shop.call('PATCH', `/workflows/${workflow.id}`, rules);
    expect(body.exitRules[0].eventName).toBe('bye');
    expect(subscription.events).toEqual(['paid', 'order.*']);
  });

  it('that only looks free for its blanks is reserved', async () => {
    const path = `/workflows/${workflow.id}/steps`;
    expect(refusal(await shop.call('POST', path, wait(' email.clicked ')))).toEqual([
      422,
      'VALIDATION_ERROR',
      'config.eventName reserved_event',
    ]);
    const rules = { exitRules: [{ eventName: ' email.clicked', reason: 'x' }] };
    expect(refusal(await shop.call('PATCH', `/workflows/${workflow.id}`, rules))).toEqual([
      422,
      'VALIDATION_ERROR',
      'exitRules.0.eventName reserved_event',
    ]);
    expect((await shop.call('DELETE', '/events/%20email.open%20')).body.error.code).toBe(
      'RESERVED_EVENT',
    );
  });

  it('is the same for its members, its usage and its deletion', async () => {
    await shop.track({ email: newAddress(), event: ' bought ' });
    const { memberCount } = await made('/segments', segment(' bought'));
    expect(memberCount).toBe(1);
    const usage = await shop.call('GET', '/events/%20bought%20/usage');
    expect(usage.body).toMatchObject({ totalCount: 1, canDelete: false });
    expect((await shop.call('DELETE', '/events/bought%20')).body.error.code).toBe('EVENT_IN_USE');
  });
});
