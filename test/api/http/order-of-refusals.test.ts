import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';

/**
 * A request with faults of several kinds is refused for the kind that comes first: wrong fields,
 * then what does not exist, then states and rules.
 */

const { shop, draft, made, inState } = await useCampaignShop();
const { db } = shop.api;
const unknown = randomUUID();
const unverified = 'news@unknown.test';
const past = new Date(Date.now() - 1000).toISOString();
const far = '2999-01-01T00:00:00';

const templateId = await shop.createTemplate();
const senderless = await shop.createTemplate({ from: undefined });
const draftId = (await made()).id as string;
const sentId = (await inState('SENT')).id as string;
const scheduledId = (await inState('SCHEDULED')).id as string;
const brokenId = (await inState('SENT')).id as string;
await db.updateTable('campaign').set({ body: '{% if' }).where('id', '=', brokenId).execute();
const contact = async (given: object = {}) =>
  (await shop.call('POST', '/contacts', { email: newAddress(), ...given })).body;
const [one, other] = [await contact({ data: { a: 'x'.repeat(40_000) } }), await contact()];
const { id: workflowId } = (await shop.call('POST', '/workflows', { name: 'W', eventName: 'go' }))
  .body;
await shop.call('PUT', '/secrets/BOUND', { value: 'x', hosts: ['api.shop.test'] });
const subscription = { url: 'https://hooks.shop.test/', events: ['*'] };
for (let count = 0; count < 20; count += 1) {
  expect((await shop.call('POST', '/event-subscriptions', subscription)).status).toBe(201);
}

const template = { name: 'T', subject: 'S', body: 'B', type: 'MARKETING' };
const mail = { to: newAddress(), subject: 'S', body: 'B' };
const tooMuch = { data: { b: 'y'.repeat(40_000) } };
const ofSegment = { audienceType: 'SEGMENT', segmentId: unknown };

type Case = [string, string, string, object, (string | number)[]];

const cases: Case[] = [
  [
    'segment, sender',
    'POST',
    '/campaigns',
    draft({ ...ofSegment, from: unverified }),
    [404, 'SEGMENT_NOT_FOUND'],
  ],
  [
    'topic, sender',
    'POST',
    '/campaigns',
    draft({ topicId: unknown, from: unverified }),
    [404, 'TOPIC_NOT_FOUND'],
  ],
  [
    'template, sender',
    'POST',
    '/campaigns',
    draft({ templateId: unknown, from: unverified }),
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  ['segment, state', 'PUT', `/campaigns/${sentId}`, ofSegment, [404, 'SEGMENT_NOT_FOUND']],
  ['topic, state', 'PUT', `/campaigns/${sentId}`, { topicId: unknown }, [404, 'TOPIC_NOT_FOUND']],
  [
    'template, state',
    'PUT',
    `/campaigns/${sentId}`,
    { templateId: unknown },
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  ['segment, lock', 'PUT', `/campaigns/${scheduledId}`, ofSegment, [404, 'SEGMENT_NOT_FOUND']],
  [
    'segment, sender',
    'PUT',
    `/campaigns/${draftId}`,
    { ...ofSegment, from: unverified },
    [404, 'SEGMENT_NOT_FOUND'],
  ],
  [
    'topic, sender',
    'PUT',
    `/campaigns/${draftId}`,
    { topicId: unknown, from: unverified },
    [404, 'TOPIC_NOT_FOUND'],
  ],
  [
    'field, state',
    'PUT',
    `/campaigns/${sentId}`,
    { audienceType: 'SEGMENT' },
    [422, 'VALIDATION_ERROR', 'segmentId invalid_type'],
  ],
  [
    'time, state',
    'POST',
    `/campaigns/${sentId}/send`,
    { localTime: far },
    [422, 'VALIDATION_ERROR', 'localTime too_big'],
  ],
  [
    'time, campaign',
    'POST',
    `/campaigns/${unknown}/send`,
    { localTime: far },
    [422, 'VALIDATION_ERROR', 'localTime too_big'],
  ],
  [
    'text, state',
    'POST',
    `/campaigns/${brokenId}/send`,
    {},
    [422, 'VALIDATION_ERROR', 'body invalid_template'],
  ],
  [
    'state, time',
    'POST',
    `/campaigns/${sentId}/send`,
    { scheduledFor: past },
    [400, 'CAMPAIGN_NOT_SENDABLE'],
  ],
  [
    'topic, sender',
    'POST',
    '/templates',
    { ...template, topicId: unknown, from: unverified },
    [404, 'TOPIC_NOT_FOUND'],
  ],
  [
    'topic, sender',
    'PATCH',
    `/templates/${templateId}`,
    { type: 'MARKETING', topicId: unknown, from: unverified },
    [404, 'TOPIC_NOT_FOUND'],
  ],
  [
    'template, sender',
    'POST',
    '/v1/send',
    { ...mail, template: unknown, from: unverified },
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  [
    'template, time',
    'POST',
    '/v1/send',
    { ...mail, template: unknown, scheduledFor: past },
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  [
    'sender, time',
    'POST',
    '/v1/send',
    { to: mail.to, template: senderless, scheduledFor: past },
    [422, 'VALIDATION_ERROR', 'from required'],
  ],
  [
    'data, template',
    'POST',
    '/v1/send',
    { ...mail, to: one.email, template: unknown, ...tooMuch },
    [422, 'VALIDATION_ERROR', 'data too_big'],
  ],
  [
    'data, sender',
    'POST',
    '/v1/send',
    { ...mail, to: one.email, from: unverified, ...tooMuch },
    [422, 'VALIDATION_ERROR', 'data too_big'],
  ],
  [
    'data, address',
    'PATCH',
    `/contacts/${one.id}`,
    { email: other.email, ...tooMuch },
    [422, 'VALIDATION_ERROR', 'data too_big'],
  ],
  [
    'template, sender',
    'PUT',
    '/consent-policy',
    { templateId: unknown, from: unverified },
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  [
    'field, workflow',
    'POST',
    `/workflows/${unknown}/steps`,
    { type: 'CONDITION', name: 'C', config: { field: 'unknown', operator: 'equals', value: 1 } },
    [422, 'VALIDATION_ERROR', 'config.field unsupported_field'],
  ],
  [
    'template, trigger',
    'POST',
    `/workflows/${workflowId}/steps`,
    { type: 'TRIGGER', name: 'T', config: {}, templateId: unknown },
    [404, 'TEMPLATE_NOT_FOUND'],
  ],
  [
    'contact, state',
    'POST',
    `/workflows/${workflowId}/executions`,
    { contactId: unknown },
    [404, 'CONTACT_NOT_FOUND'],
  ],
  [
    'header, limit',
    'POST',
    '/event-subscriptions',
    { ...subscription, headers: { 'X-Key': '{{secret.BOUND}}' } },
    [422, 'VALIDATION_ERROR', 'headers.X-Key not_allowed'],
  ],
  [
    'campaign, state',
    'POST',
    '/campaigns/bulk-update',
    { ids: [scheduledId, unknown], delete: true },
    [404, 'CAMPAIGN_NOT_FOUND'],
  ],
];

describe('a request with two faults', () => {
  it.each(cases)('(%s) %s %s is refused for the first', async (_, method, path, body, expected) => {
    expect(refusal(await shop.call(method, path, body))).toEqual(expected);
  });
});
