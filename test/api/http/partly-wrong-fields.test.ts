import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** An invalid part of a field does not hide problems in its other parts. */

const shop = await useShop();

async function made(path: string, body: object) {
  const answer = await shop.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const workflow = await made('/workflows', { name: 'W', eventName: 'begin' });
const base = `/workflows/${workflow.id}`;
await made('/contacts', { email: newAddress(), data: { plan: 'pro' } });
await made('/topics', { key: 'news', name: 'News', default: 'subscribed' });
await shop.call('PUT', '/secrets/BOUND', { value: 'x', hosts: ['api.example'] });
const subscription = await made('/event-subscriptions', {
  url: 'https://api.example/',
  events: ['paid'],
});
const unknown = { field: 'plna', operator: 'equals', value: 1 };
const ofSegment = { field: `segment.${randomUUID()}`, operator: 'memberOfSegment' };

describe('one answer names the problems in all parts of a field', () => {
  it.each<readonly [string, string, object, string[]]>([
    [
      'PATCH',
      `/event-subscriptions/${subscription.id}`,
      { headers: { A: 5, B: '{{secret.NONE}}' } },
      ['headers.A invalid_type', 'headers not_found'],
    ],
    [
      'POST',
      '/contacts',
      { email: newAddress(), topics: ['a', 'news', 5, 'b'] },
      ['topics.2 invalid_type', 'topics.0 not_found', 'topics.3 not_found'],
    ],
    [
      'PATCH',
      base,
      {
        exitRules: [
          { eventName: ' ', reason: 'x' },
          { eventName: 'bye', reason: 'x', where: [{ ...unknown, operator: 'is' }, unknown] },
        ],
      },
      [
        'exitRules.0.eventName too_small',
        'exitRules.1.where.0.operator invalid_enum_value',
        'exitRules.1.where.1.field unsupported_field',
      ],
    ],
    [
      'POST',
      '/segments',
      {
        name: 'S',
        condition: {
          logic: 'OR',
          groups: [
            { filters: [{ field: 'email', operator: 'is' }, unknown] },
            { filters: [ofSegment] },
          ],
        },
      },
      [
        'condition.groups.0.filters.0.operator invalid_enum_value',
        'condition.groups.0.filters.1.field unsupported_field',
        'condition.groups.1.filters.0.field not_found',
      ],
    ],
    [
      'POST',
      `${base}/steps`,
      {
        type: 'WEBHOOK',
        name: 'W',
        config: { url: 'https://elsewhere.example/{{secret.BOUND}}', method: 'FETCH' },
      },
      ['config.method invalid_enum_value', 'config.url not_allowed'],
    ],
    [
      'POST',
      `${base}/dry-run`,
      { from: [98, 'x', 99], mapping: { a: 5, b: 'y' } },
      [
        'from.1 invalid_type',
        'mapping.a invalid_type',
        'mapping.b not_found',
        'from.0 not_found',
        'from.2 not_found',
      ],
    ],
  ])('%s %s %j', async (method, path, body, expected) => {
    const [status, code, ...errors] = refusal(await shop.call(method, path, body));
    expect([status, code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(errors).toEqual(expected);
  });
});
