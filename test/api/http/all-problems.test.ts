import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { endpoints } from '../../../api/endpoints.ts';
import type { AnyEndpoint } from '../../../api/http/endpoint.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** A refused request names everything that is wrong with it in one response. */

const shop = await useShop();

type Schema = z.core.$ZodTypes;

/**
 * Returns the schema of the object in a request body, without transformations; null: the body is
 * no object.
 */
function objectIn(schema: z.core.$ZodType | undefined): z.core.$ZodObject | null {
  if (!schema) return null;
  const { def } = (schema as Schema)._zod;
  if (def.type === 'object') return schema as z.core.$ZodObject;
  if (def.type !== 'pipe') return null;
  return objectIn(def.in) ?? objectIn(def.out);
}

/** Returns every object schema within a schema. */
function objectsIn(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): Schema[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { def } = (schema as Schema)._zod;
  const parts: z.core.$ZodType[] =
    def.type === 'object'
      ? Object.values(def.shape)
      : def.type === 'array'
        ? [def.element]
        : def.type === 'union'
          ? [...def.options]
          : def.type === 'pipe'
            ? [def.in, def.out]
            : 'innerType' in def
              ? [def.innerType]
              : [];
  const own = def.type === 'object' ? [schema as Schema] : [];
  return [...own, ...parts.flatMap((part) => objectsIn(part, seen))];
}

const withBody = endpoints.filter(({ body, asSent, upload }) => body && !asSent && !upload);
const named = (list: readonly AnyEndpoint[]) =>
  list.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

const cookie = (await shop.api.signUp()).cookie;

/** Returns the fields that the response to this body names. */
async function fieldsOf(endpoint: AnyEndpoint, body: object): Promise<string[]> {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, () => randomUUID());
  const credentials =
    endpoint.access === 'session'
      ? { cookie }
      : endpoint.access === 'open'
        ? {}
        : { key: shop.project.secretKey };
  const answer = await shop.api.request(endpoint.method, path, { ...credentials, body });
  const errors = (answer.body.error?.errors ?? []) as { field: string }[];
  return errors.map(({ field }) => field.split('.')[0] ?? '');
}

describe('the rules between the fields of a request', () => {
  it('say which fields they read, so that others may be wrong', () => {
    const schemas = withBody.flatMap(({ id, body, query }) =>
      [body, query].flatMap((schema) =>
        schema ? objectsIn(schema).map((object) => [id, object] as const) : [],
      ),
    );
    const rules = schemas.flatMap(([id, { _zod }]) =>
      (_zod.def.checks ?? []).flatMap((check) => {
        const { def } = check._zod as { def: { check: string; when?: unknown } };
        return def.check === 'custom' ? [{ id, isAlways: def.when === undefined }] : [];
      }),
    );
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.filter(({ isAlways }) => isAlways)).toEqual([]);
  });
});

describe('an empty body', () => {
  it.each(named(withBody))('of %s is told every required field', async (_, endpoint) => {
    const object = objectIn(endpoint.body);
    if (!object) return;
    const required = Object.entries(object._zod.def.shape)
      .filter(([, field]) => !(field as z.ZodType).safeParse(undefined).success)
      .map(([name]) => name);
    const fields = await fieldsOf(endpoint, {});
    expect(required.filter((name) => !fields.includes(name))).toEqual([]);
  });
});

const candidates = [5, 'x'.repeat(300), true, [1], { nothing: 1 }, null];

describe('a body of which every field is wrong', () => {
  it.each(named(withBody))('of %s is told all of them', async (_, endpoint) => {
    const object = objectIn(endpoint.body);
    if (!object) return;
    const wrong = Object.entries(object._zod.def.shape).flatMap(([name, field]) => {
      const isWrong = (value: unknown) => !(field as z.ZodType).safeParse(value).success;
      const value = candidates.find(isWrong);
      return value === undefined ? [] : [[name, value] as const];
    });
    // Without a service such as payments, the server returns an error about that.
    if (endpoint.unavailable?.(shop.api.services.config)) return;
    const fields = await fieldsOf(endpoint, Object.fromEntries(wrong));
    // These fields are ignored beside others.
    const idle = endpoint.path === '/v1/send' ? ['name'] : [];
    const untold = wrong.map(([name]) => name).filter((name) => !fields.includes(name));
    expect(untold.filter((name) => !idle.includes(name))).toEqual([]);
  });
});

async function made(path: string, body: object) {
  const answer = await shop.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const senderless = await shop.createTemplate({ from: undefined });
const segment = await made('/segments', {
  name: 'S',
  filters: { operator: 'AND', conditions: [{ field: 'email', operator: 'contains', value: '@' }] },
});
const workflow = await made('/workflows', { name: 'W', eventName: 'begin' });
const step = await made(`/workflows/${workflow.id}/steps`, {
  type: 'DELAY',
  name: 'Wait',
  config: { amount: 1, unit: 'days' },
});
await shop.call('POST', '/contacts', { email: newAddress(), data: { plan: 'pro' } });
const topic = await made('/topics', { key: 'news', name: 'News', default: 'subscribed' });
const base = `/workflows/${workflow.id}`;
const ofSegment = (field: string) => ({
  logic: 'AND',
  groups: [{ filters: [{ field, operator: 'memberOfSegment' }] }],
});
const bare = { field: 'plna', operator: 'equals', value: 1 };
const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
const file = { filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' };

const bound = 'https://elsewhere.example/{{secret.BOUND}}';
await shop.call('PUT', '/secrets/BOUND', {
  value: 'x',
  hosts: ['api.example'],
});
const webhook = await made(`/workflows/${workflow.id}/steps`, {
  type: 'WEBHOOK',
  name: 'Call',
  config: { url: 'https://api.example/', headers: { A: '{{secret.BOUND}}' } },
});
const awaiting = await made(`/workflows/${workflow.id}/steps`, {
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName: 'paid', timeout: 60 },
});
const out = await made(`/workflows/${workflow.id}/steps`, {
  type: 'EXIT',
  name: 'Out',
  config: {},
  autoConnect: false,
});
await made(`/workflows/${workflow.id}/transitions`, {
  fromStepId: awaiting.id,
  toStepId: out.id,
  branch: 'event',
});
const subscription = await made('/event-subscriptions', {
  url: 'https://api.example/',
  events: ['paid'],
  headers: { A: '{{secret.BOUND}}' },
});
const full = newAddress();
const { body: fullContact } = await shop.call('POST', '/contacts', {
  email: full,
  data: { text: 'x'.repeat(60_000) },
});
const tooMuch = { more: 'x'.repeat(10_000) };

/** Creates an execution that has failed at the waiting step. */
async function failedExecution(): Promise<string> {
  const { db } = shop.api;
  const project_id = shop.project.id;
  await shop.call('PATCH', base, { enabled: true });
  const started = await made(`${base}/executions`, { contactId: fullContact.id });
  await db
    .updateTable('execution')
    .set({ status: 'FAILED', current_step_id: awaiting.id })
    .where('id', '=', started.id)
    .execute();
  await db
    .insertInto('step_execution')
    .values({ project_id, execution_id: started.id, step_id: awaiting.id, status: 'FAILED' })
    .execute();
  return started.id;
}

describe('one answer names the problems of the schema, between fields and of references', () => {
  it.each<readonly [string, string, object, string[]]>([
    ['POST', '/v1/send', {}, ['to invalid_type', 'template custom', 'from required']],
    [
      'POST',
      '/v1/send',
      { to: 'x', template: senderless, attachments: Array.from({ length: 11 }, () => file) },
      ['to invalid_string', 'attachments too_big', 'from required'],
    ],
    [
      'POST',
      '/v1/send',
      { attachments: [{ disposition: 'inline' }], data: { text: 'x'.repeat(70_000) } },
      [
        'to invalid_type',
        'data too_big',
        'attachments.0.filename invalid_type',
        'attachments.0.content invalid_type',
        'attachments.0.contentType invalid_type',
        'attachments.0.contentId required',
        'template custom',
        'from required',
      ],
    ],
    [
      'POST',
      '/v1/track',
      { topics: ['a', 'news', 'b'], confirm: true, subscribed: false },
      [
        'email invalid_type',
        'event invalid_type',
        'confirm custom',
        'topics.0 not_found',
        'topics.2 not_found',
      ],
    ],
    [
      'POST',
      '/contacts',
      { topics: ['a'], data: { locale: 5 } },
      ['email invalid_type', 'data.locale invalid_type', 'topics.0 not_found'],
    ],
    [
      'POST',
      '/campaigns',
      {},
      [
        'name invalid_type',
        'audienceType invalid_type',
        'subject invalid_type',
        'body invalid_type',
        'from invalid_type',
      ],
    ],
    [
      'POST',
      '/campaigns',
      {
        templateId: senderless,
        type: 'TRANSACTIONAL',
        topicId: topic.id,
        audienceType: 'FILTERED',
        audienceCondition: ofSegment(`segment.${randomUUID()}`),
        maxPerMinute: 0,
      },
      [
        'name invalid_type',
        'maxPerMinute too_small',
        'topicId not_allowed',
        'from required',
        'audienceCondition.groups.0.filters.0.field not_found',
      ],
    ],
    [
      'POST',
      '/campaigns',
      { name: '', type: 'SEGMENT', subject: '{% if' },
      [
        'name too_small',
        'subject invalid_template',
        'body invalid_type',
        'from invalid_type',
        'segmentId invalid_type',
      ],
    ],
    ['POST', '/segments', {}, ['name invalid_type', 'condition invalid_type']],
    [
      'POST',
      '/segments',
      { type: 'STATIC', condition: ofSegment(`segment.${randomUUID()}`) },
      ['name invalid_type', 'condition not_allowed'],
    ],
    [
      'PATCH',
      `/segments/${segment.id}`,
      {
        name: ' ',
        type: 'STATIC',
        condition: {
          logic: 'OR',
          groups: [{ filters: [bare] }, ...ofSegment(`segment.${segment.id}`).groups],
        },
      },
      [
        'name too_small',
        'type not_allowed',
        'condition.groups.0.filters.0.field unsupported_field',
        'condition.groups.1.filters.0.field circular_reference',
      ],
    ],
    [
      'POST',
      '/templates',
      { type: 'TRANSACTIONAL', topicId: topic.id, subject: 'a', body: '{{' },
      ['name invalid_type', 'body invalid_template', 'topicId not_allowed'],
    ],
    [
      'POST',
      '/event-subscriptions',
      {
        events: ['email.clicked', ' '],
        enabled: false,
        from: inAnHour,
        headers: { A: '{{secret.ONE}}', B: '{{secret.TWO}}' },
      },
      [
        'url invalid_type',
        'events.0 reserved_event',
        'events.1 too_small',
        'from too_big',
        'headers not_found',
        'headers not_found',
      ],
    ],
    [
      'POST',
      '/event-subscriptions',
      { url: 'http://10.0.0.1/', events: [], from: new Date().toISOString(), enabled: false },
      ['events too_small', 'from not_allowed', 'url not_allowed'],
    ],
    [
      'POST',
      '/workflows',
      {
        eventName: 'email.clicked',
        graph: {
          trigger: { type: 'MANUAL', config: { eventName: 'a' } },
          exitRules: [{ eventName: 'bye', reason: 'x', where: [bare] }],
          steps: [
            { key: 'c', type: 'CONDITION', name: 'C', config: bare },
            { key: 'd', type: 'DELAY', name: 'D', config: { untilField: 'untli' } },
          ],
          transitions: [{ from: 'x', to: 'y' }],
        },
      },
      [
        'name invalid_type',
        'eventName reserved_event',
        'graph.steps required',
        'graph.transitions.0.from not_found',
        'graph.transitions.0.to not_found',
        'graph.exitRules.0.where.0.field unsupported_field',
        'graph.trigger.config.eventName not_allowed',
        'graph.steps.c.config.field unsupported_field',
        'graph.steps.d.config.untilField unsupported_field',
      ],
    ],
    [
      'PATCH',
      base,
      {
        name: '',
        triggerType: 'MANUAL',
        triggerConfig: { eventName: 'a', cron: '0 9 * * *', timeZone: 'UTC' },
        exitRules: [{ eventName: 'bye', reason: 'x', where: [bare] }],
      },
      [
        'name too_small',
        'triggerConfig.eventName not_allowed',
        'triggerConfig.cron not_allowed',
        'triggerConfig.timeZone not_allowed',
        'exitRules.0.where.0.field unsupported_field',
      ],
    ],
    [
      'POST',
      `${base}/steps`,
      { type: 'CONDITION', config: bare },
      ['name invalid_type', 'config.field unsupported_field'],
    ],
    [
      'PATCH',
      `${base}/steps/${step.id}`,
      { name: '', config: { amount: 0 } },
      ['name too_small', 'config.amount too_small', 'config.unit invalid_type'],
    ],
    [
      'POST',
      `${base}/dry-run`,
      { from: [98, 1, 99], mapping: { a: 'x', b: 'y' }, examples: -1 },
      [
        'examples too_small',
        'mapping.a not_found',
        'mapping.b not_found',
        'from.0 not_found',
        'from.2 not_found',
      ],
    ],
    [
      'POST',
      `${base}/steps/${step.id}/move-waits`,
      {
        until: '2200-01-01',
        forever: true,
        versions: [99],
        filter: ofSegment(`segment.${randomUUID()}`),
      },
      [
        'until too_big',
        'forever not_allowed',
        'versions.0 not_found',
        'filter.groups.0.filters.0.field not_found',
      ],
    ],
    [
      'PUT',
      '/consent-policy',
      { requireConfirmation: true, remindAfter: 100, expireAfter: 50, fromName: 'x\ny' },
      ['fromName invalid_string', 'remindAfter custom', 'from required'],
    ],
    [
      'PATCH',
      `/topics/${topic.id}`,
      { key: 'other', default: 'unsubscribed', name: '' },
      ['name too_small', 'key not_allowed', 'default not_allowed'],
    ],
    [
      'POST',
      '/contacts/bulk-delete',
      { mode: 'query', excludeIds: ['x'] },
      ['excludeIds.0 invalid_string', 'filter required'],
    ],
    [
      'POST',
      `${base}/simulate`,
      { until: inAnHour, horizonDays: 1, events: [{ name: ' ' }] },
      [
        'events.0.name too_small',
        'events.0.after required',
        'contactId required',
        'horizonDays not_allowed',
      ],
    ],
    [
      'POST',
      '/contacts',
      { email: full, topics: ['a'], data: tooMuch },
      ['topics.0 not_found', 'data too_big'],
    ],
    [
      'PATCH',
      `/contacts/${fullContact.id}`,
      { email: 'x', data: tooMuch },
      ['email invalid_string', 'data too_big'],
    ],
    ['POST', '/v1/track', { email: full, data: tooMuch }, ['event invalid_type', 'data too_big']],
    [
      'POST',
      '/events/track',
      { email: full, event: 'paid', topics: ['a'], data: tooMuch },
      ['topics.0 not_found', 'data too_big'],
    ],
    [
      'POST',
      '/v1/send',
      { to: [newAddress(), full], subject: 'a', from: `a@${shop.domain}`, data: tooMuch },
      ['template custom', 'data too_big'],
    ],
    [
      'POST',
      `${base}/transitions`,
      { fromStepId: step.id, toStepId: 'x', condition: { branch: 'yes' }, waitOutcome: 'EVENT' },
      ['toStepId invalid_string', 'waitOutcome not_allowed', 'condition.branch not_allowed'],
    ],
    [
      'POST',
      `${base}/transitions`,
      { fromStepId: awaiting.id, branch: 'no', condition: { branch: 'yes' } },
      ['toStepId invalid_type', 'branch custom', 'condition.branch invalid_enum_value'],
    ],
    [
      'POST',
      `${base}/transitions`,
      { fromStepId: awaiting.id, branch: 5, waitOutcome: 'TIMEOUT' },
      ['toStepId invalid_type', 'branch invalid_type'],
    ],
    [
      'POST',
      `${base}/simulate`,
      { webhooks: { a: {}, b: {} }, startAt: 'x' },
      [
        'startAt invalid_date',
        'contactId required',
        'webhooks.a not_found',
        'webhooks.b not_found',
      ],
    ],
    [
      'POST',
      `${base}/steps`,
      { type: 'WEBHOOK', config: { url: bound, headers: { Authorization: '•••' } } },
      ['name invalid_type', 'config.headers.Authorization not_allowed', 'config.url not_allowed'],
    ],
    [
      'POST',
      `${base}/steps`,
      { type: 'WEBHOOK', config: { url: bound } },
      ['name invalid_type', 'config.url not_allowed'],
    ],
    [
      'PATCH',
      `${base}/steps/${webhook.id}`,
      { name: '', config: { url: bound } },
      ['name too_small', 'config.url not_allowed'],
    ],
    [
      'POST',
      '/event-subscriptions',
      { url: 'https://elsewhere.example/', headers: { A: '{{secret.BOUND}}' } },
      ['events invalid_type', 'headers.A not_allowed'],
    ],
    [
      'PATCH',
      `/event-subscriptions/${subscription.id}`,
      { url: 'https://elsewhere.example/', paused: 1 },
      ['paused invalid_type', 'headers.A not_allowed'],
    ],
  ])('%s %s %j', async (method, path, body, expected) => {
    const [status, code, ...errors] = refusal(await shop.call(method, path, body));
    expect([status, code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(errors).toEqual(expected);
  });

  it('name the contact whose data would be too large', async () => {
    const to = [newAddress(), full];
    const { body } = await shop.call('POST', '/v1/send', { to, data: tooMuch });
    const messages = body.error.errors.map(({ message }: { message: string }) => message);
    expect(messages.at(-1)).toMatch(
      new RegExp(
        `^The contact ${full} must have at most .* The data that it already has also count\\.$`,
      ),
    );
  });

  it('also what the step of an execution says of a branch or version', async () => {
    const strict = { Prefer: 'handling=strict' };
    const path = `${base}/executions/${await failedExecution()}`;
    const skipped = await shop.call('POST', `${path}/skip`, { brnach: 'event' }, strict);
    expect(refusal(skipped).slice(2)).toEqual(['brnach unknown_field', 'branch required']);
    const retried = await shop.call('POST', `${path}/retry`, { version: 99, to: 1 }, strict);
    expect(refusal(retried).slice(2)).toEqual(['to unknown_field', 'version not_found']);
    const early = await shop.call('POST', `${path}/retry`, { version: 1, to: 1 }, strict);
    expect(refusal(early).slice(2)).toEqual(['to unknown_field', 'version not_allowed']);
  });

  it('also for each message of a batch', async () => {
    const messages = [{}, { to: 'x', template: senderless }];
    const { body } = await shop.call('POST', '/v1/send/batch', { messages });
    const errorsOf = (result: { error: { errors: { field: string; code: string }[] } }) =>
      result.error.errors.map(({ field, code }) => `${field} ${code}`);
    expect(body.data.results.map(errorsOf)).toEqual([
      ['to invalid_type', 'template custom', 'from required'],
      ['to invalid_string', 'from required'],
    ]);
    const atomic = await shop.call('POST', '/v1/send/batch', { messages, atomic: true });
    expect(refusal(atomic).slice(2)).toEqual([
      'messages.0.to invalid_type',
      'messages.0.template custom',
      'messages.0.from required',
    ]);
  });

  it('before what does not exist, and that before states', async () => {
    const missing = `/segments/${randomUUID()}`;
    expect(refusal(await shop.call('PATCH', missing, { name: '' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'name too_small',
    ]);
    const answer = await shop.call('PATCH', missing, { type: 'STATIC' });
    expect([answer.status, answer.body.error.code]).toEqual([404, 'SEGMENT_NOT_FOUND']);
    const [, , segmentId] = missing.split('/');
    expect(answer.body.error.message).toBe(`There is no such segment: ${segmentId}.`);
    const past = { to: newAddress(), scheduledFor: '2020-01-01' };
    const senderMissing = await shop.call('POST', '/v1/send', { ...past, template: senderless });
    expect(refusal(senderMissing)).toEqual([422, 'VALIDATION_ERROR', 'from required']);
    const given = { ...past, from: `a@${shop.domain}`, subject: 'Hi', body: 'Hi' };
    const late = await shop.call('POST', '/v1/send', given);
    expect([late.status, late.body.error.code]).toEqual([400, 'SCHEDULE_IN_PAST']);
  });
});
