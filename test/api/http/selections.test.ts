import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { endpoints } from '../../../api/endpoints.ts';
import { openApiDocument } from '../../../api/docs/openapi.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** A filter with an unknown key must be refused: it must never select every contact. */

type Schema = z.core.JSONSchema.JSONSchema;

const settings = { apiUrl: 'http://localhost:8080', version: '0.0.0' };
const document = JSON.parse(JSON.stringify(openApiDocument(endpoints, settings))) as {
  paths: Record<
    string,
    Record<
      string,
      { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } }
    >
  >;
  components: { schemas: Record<string, Schema> };
};

/** Keys that select contacts or executions, or that restrict when a rule applies. */
const selecting = ['groups', 'field', 'search', 'contactIds', 'executionIds', 'excludeIds', 'ids'];
const narrowing = ['versions', 'failedAfter', 'onlyFailed', 'where', 'cron', 'timeout', 'branches'];

/** Returns every object schema in the request bodies, with its path. */
function objectsOf(schema: Schema, path: string, seen: Schema[]): [string, Schema][] {
  if (schema.$ref) {
    const named = document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return named ? objectsOf(named, path, seen) : [];
  }
  if (seen.includes(schema)) return [];
  const inside = [...seen, schema];
  const below = (part: unknown, name: string) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? objectsOf(part as Schema, `${path}.${name}`, inside)
      : [];
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...(schema.properties ? [[path, schema] as [string, Schema]] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, part]) => below(part, name)),
    ...below(schema.items, '*'),
    ...alternatives.flatMap((part) => objectsOf(part, path, inside)),
  ];
}

const objects = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ operationId, requestBody }) =>
    Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
      objectsOf(schema, operationId, []),
    ),
  );

describe('what a request selects by', () => {
  it('is closed to unknown keys in every schema, however new', () => {
    const selections = objects.filter(([, { properties = {} }]) =>
      [...selecting, ...narrowing].some((key) => key in properties),
    );
    const names = new Set(selections.map(([path]) => path));
    expect([...names]).toEqual(
      expect.arrayContaining([
        'bulkDeleteContacts',
        'bulkDeleteContacts.filter',
        'createSegment.condition',
        'createSegment.condition.groups.*.filters.*',
        'createCampaign.audienceCondition',
        'updateWorkflow.exitRules.*',
        'updateWorkflow.triggerConfig',
        'migrateExecutions',
        'retryAllExecutions',
        'moveWaits',
        'replayEvents',
      ]),
    );
    const open = selections.filter(([, schema]) => schema.additionalProperties !== false);
    expect(open.map(([path]) => path)).toEqual([]);
  });
});

const shop = await useShop();
const lenient = { Prefer: 'handling=lenient' };
const filter = { field: 'data.plan', operator: 'equals', value: 'pro' };
const condition = { logic: 'AND', groups: [{ filters: [filter] }] };

async function made(path: string, body: object) {
  const answer = await shop.call('POST', path, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const workflow = await made('/workflows', { name: 'W', eventName: 'begin' });
const step = await made(`/workflows/${workflow.id}/steps`, {
  type: 'DELAY',
  name: 'Wait',
  config: { amount: 1, unit: 'days' },
});
const base = `/workflows/${workflow.id}`;
const ofStep = (type: string, config: object) =>
  ['POST', `${base}/steps`, { type, name: 'S', config }] as const;
const campaign = {
  name: 'C',
  subject: 's',
  body: 'b',
  from: `team@${shop.domain}`,
  audienceType: 'FILTERED',
  type: 'MARKETING',
};

describe('a selection with a key that it does not know', () => {
  it.each<readonly [string, readonly [string, string, object], string]>([
    [
      'of contacts by a query',
      ['POST', '/contacts/bulk-delete', { mode: 'query', filter: { segment: 'vip' } }],
      'filter.segment',
    ],
    ['of contacts that are listed', ['POST', '/contacts/query', { segment: 'vip' }], 'segment'],
    ['of contacts that are exported', ['POST', '/contacts/export', { segment: 'vip' }], 'segment'],
    [
      'of contacts, misspelt',
      ['POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter: {}, excludeIDs: [] }],
      'excludeIDs',
    ],
    [
      'of a segment',
      ['POST', '/segments', { name: 'S', condition: { ...condition, limit: 1 } }],
      'condition.limit',
    ],
    [
      'of a filter of a segment',
      [
        'POST',
        '/segments',
        { name: 'S', filters: { operator: 'AND', conditions: [{ ...filter, not: true }] } },
      ],
      'filters.conditions.0.not',
    ],
    [
      'of a campaign',
      [
        'POST',
        '/campaigns',
        { ...campaign, audienceCondition: { logic: 'AND', groups: [{ filters: [filter], x: 1 }] } },
      ],
      'audienceCondition.groups.0.x',
    ],
    [
      'of a schedule',
      [
        'PATCH',
        base,
        {
          triggerType: 'SCHEDULE',
          triggerConfig: { cron: '0 9 * * *', timeZone: 'UTC', segmentID: randomUUID() },
        },
      ],
      'triggerConfig.segmentID',
    ],
    [
      'of an exit rule',
      ['PATCH', base, { exitRules: [{ eventName: 'e', reason: 'r', were: [] }] }],
      'exitRules.0.were',
    ],
    [
      'of the condition of an exit rule',
      [
        'PATCH',
        base,
        { exitRules: [{ eventName: 'e', reason: 'r', where: [{ ...filter, a: 1 }] }] },
      ],
      'exitRules.0.where.0.a',
    ],
    ['of a CONDITION step', ofStep('CONDITION', { ...filter, negate: true }), 'config.negate'],
    ['of a wait', ofStep('WAIT_FOR_EVENT', { eventName: 'e', filters: [] }), 'config.filters'],
    ['of a migration', ['POST', `${base}/migrate`, { executionIDs: [] }], 'executionIDs'],
    [
      'of retries',
      ['POST', `${base}/executions/retry-all`, { failedSince: '2026-01-01' }],
      'failedSince',
    ],
    ['of a cancellation', ['POST', `${base}/executions/cancel-all`, { version: 1 }], 'version'],
    [
      'of a cancellation, in its query',
      ['POST', `${base}/executions/cancel-all?version=1`, {}],
      'version',
    ],
    [
      'of waits',
      ['POST', `${base}/steps/${step.id}/move-waits`, { shiftBySeconds: 1, filters: condition }],
      'filters',
    ],
    ['of a dry run', ['POST', `${base}/dry-run`, { versions: [1] }], 'versions'],
    [
      'of records',
      ['POST', '/templates/bulk-update', { ids: [randomUUID()], remove: true }],
      'remove',
    ],
  ])('%s is refused, whatever is preferred', async (_, request, field) => {
    for (const headers of [{}, lenient, { Prefer: 'handling=strict' }]) {
      expect(refusal(await shop.call(...request, headers))).toEqual([
        422,
        'VALIDATION_ERROR',
        `${field} unknown_field`,
      ]);
    }
  });

  it('selects no contact, so none is unsubscribed', async () => {
    const email = newAddress();
    await shop.call('POST', '/contacts', { email });
    const asked = { mode: 'query', filter: { subscribd: true } };
    const answer = await shop.call('POST', '/contacts/bulk-unsubscribe', asked, lenient);
    expect(answer.body.error.errors[0].message).toContain('"subscribed"');
    expect(await shop.api.db.selectFrom('job').selectAll().execute()).toEqual([]);
  });
});
