import { describe, expect, it } from 'vitest';
import { type StepType, stepModules } from '../../../domain/workflow/steps/registry.ts';

/** Returns the faults of a config as `place code`. */
function faults(type: StepType, config: unknown): string[] {
  const parsed = stepModules[type].config.safeParse(config, { reportInput: true });
  return (parsed.error?.issues ?? []).map((issue) => {
    const code = issue.code === 'custom' ? (issue.params?.['code'] as string) : issue.code;
    return `${issue.path.join('.')} ${code}`;
  });
}

const branch = { id: 'p', name: 'Pro', operator: 'equals', value: 'pro' };
const multi = (...branches: object[]) => ({ mode: 'multi', field: 'data.plan', branches });
const flat = (length = 1) => ({
  operator: 'OR',
  conditions: Array.from({ length }, () => compare('data.plan', 'equals', 'pro')),
});
const byFilter = (...filters: unknown[]) => ({
  mode: 'filter',
  branches: filters.map((filter, index) => ({ id: `b${index}`, name: 'B', filter })),
});
/** Returns conditions nested so many levels deep. */
const deep = (levels: number): object => ({
  logic: 'AND',
  groups: [levels === 1 ? flat(1).conditions : deep(levels - 1)].map((inner) =>
    Array.isArray(inner) ? { filters: inner } : { filters: [], conditions: inner },
  ),
});
const hour = { for: { amount: 1, unit: 'hours' } };
const arm = { id: 'a', name: 'A', weight: 50 };
const arms = (...more: object[]) => ({ arms: [arm, ...more] });
const compare = (field: string, operator: string, value?: unknown) => ({ field, operator, value });

describe('a config is accepted', () => {
  it.each<[StepType, unknown]>([
    ['SEND_EMAIL', {}],
    ['SEND_EMAIL', { recipient: { type: 'CUSTOM', customEmail: 'a@x.example' } }],
    ['SEND_EMAIL', { recipient: { type: 'CUSTOM', customEmail: '{{ manager }}' } }],
    ['SEND_EMAIL', { templateId: null }],
    ['DELAY', { amount: 365, unit: 'days' }],
    ['DELAY', { amount: 1, unit: 'minutes' }],
    ['DELAY', { until: { time: '09:00' } }],
    ['DELAY', { until: { time: '09:00:30', days: ['mon'], timeZone: 'contact' } }],
    ['DELAY', { until: { time: '00:00', timeZone: 'europe/kyiv' } }],
    ['DELAY', { untilField: 'contact.data.due' }],
    ['DELAY', { untilField: 'contact.createdAt', offset: { amount: 3650, unit: 'days' } }],
    ['DELAY', { untilField: 'event.at', offset: { amount: -1, unit: 'hours' }, ifPast: 'exit' }],
    ['WAIT_FOR_EVENT', { eventName: 'bought' }],
    ['WAIT_FOR_EVENT', { eventName: 'bought', timeout: 31_536_000 }],
    ['DIGEST', { eventName: 'bought', for: { amount: 365, unit: 'days' } }],
    ['DIGEST', { eventName: 'bought', for: { amount: 1, unit: 'hours' }, immediateFirst: true }],
    ['DIGEST', { eventName: 'bought', until: { time: '18:00' }, max: 1000, since: 'step' }],
    ['CONDITION', compare('contact.email', 'contains', '@x.example')],
    ['CONDITION', compare('contact.subscribed', 'equals', 'true')],
    ['CONDITION', compare('contact.createdAt', 'lessThan', '2026-02-28')],
    ['CONDITION', compare('contact.updatedAt', 'equals', '2026-02-28T10:00:00+02:00')],
    ['CONDITION', compare('contact.data.plan', 'equals', null)],
    ['CONDITION', compare('data.tags', 'equals', ['a'])],
    ['CONDITION', compare('event.total', 'greaterThanOrEqual', 5)],
    ['CONDITION', compare('workflow.total', 'notExists')],
    ['CONDITION', multi(branch)],
    ['CONDITION', multi(...Array.from({ length: 20 }, (_, i) => ({ ...branch, id: `b${i}` })))],
    ['CONDITION', byFilter(flat(100), flat(100))],
    ['CONDITION', byFilter(deep(5))],
    ['SPLIT', arms({ ...arm, id: 'b', weight: 0 })],
    ['SPLIT', { ...arms({ ...arm, id: 'b' }), by: 'key', salt: 'x'.repeat(100) }],
    ['WEBHOOK', { url: 'https://{{host}}/hook' }],
    ['WEBHOOK', { url: 'HTTP://x.example', method: 'PUT', body: [1, null], onFailure: 'fail' }],
    ['WEBHOOK', { url: 'http://x.example', headers: { 'content-type': 'text/plain' } }],
    ['UPDATE_CONTACT', { updates: { plan: null } }],
    ['UPDATE_CONTACT', { subscriptionAction: 'unsubscribe' }],
    ['EXIT', {}],
    ['EXIT', { reason: 'x'.repeat(200) }],
  ])('%s %j', (type, config) => {
    expect(faults(type, config)).toEqual([]);
  });

  it('and stored as it was sent, but for unknown keys', () => {
    const config = { url: 'http://x.example', headers: { 'X-A': '1' }, body: { deep: [true] } };
    expect(stepModules.WEBHOOK.config.parse({ ...config, colour: 'red' })).toEqual(config);
    expect(stepModules.CONDITION.config.parse(compare('data.a', 'exists'))).toStrictEqual(
      compare('data.a', 'exists'),
    );
  });
});

describe('a config is refused', () => {
  it.each<[StepType, unknown, ...string[]]>([
    ['SEND_EMAIL', { templateId: 'x' }, 'templateId invalid_string'],
    ['SEND_EMAIL', { recipient: { type: 'CUSTOM' } }, 'recipient.customEmail required'],
    ['SEND_EMAIL', { recipient: { type: 'ALL' } }, 'recipient.type invalid_value'],
    [
      'SEND_EMAIL',
      { recipient: { type: 'CUSTOM', customEmail: 'nobody' } },
      'recipient.customEmail invalid_string',
    ],
    ['DELAY', { amount: 0, unit: 'days' }, 'amount too_small'],
    ['DELAY', { amount: 366, unit: 'days' }, 'amount too_big'],
    ['DELAY', { amount: 365 * 24 + 1, unit: 'hours' }, 'amount too_big'],
    ['DELAY', { amount: 1.5, unit: 'weeks' }, 'amount invalid_type', 'unit invalid_value'],
    ['DELAY', {}, 'amount invalid_type', 'unit invalid_type'],
    ['DELAY', { amount: 1, until: { time: '09:00' } }, 'until not_allowed', 'unit invalid_type'],
    ['DELAY', { until: { time: '09:00' }, unit: 'days' }, 'unit not_allowed'],
    [
      'DELAY',
      { until: { time: '09:00' }, untilField: 'data.a', ifPast: 'exit' },
      'untilField not_allowed',
      'ifPast not_allowed',
    ],
    ['DELAY', { until: {} }, 'until.time invalid_type'],
    ['DELAY', { until: { time: '24:00' } }, 'until.time invalid_string'],
    ['DELAY', { until: { time: '09:00', days: [] } }, 'until.days too_small'],
    ['DELAY', { until: { time: '09:00', days: ['Mon'] } }, 'until.days.0 invalid_value'],
    ['DELAY', { until: { time: '09:00', timeZone: '+02:00' } }, 'until.timeZone invalid_string'],
    ['DELAY', { untilField: 'contact.email' }, 'untilField unsupported_field'],
    ['DELAY', { untilField: 'subscribed' }, 'untilField unsupported_field'],
    ['DELAY', { untilField: 'segment.x' }, 'untilField unsupported_field'],
    ['DELAY', { untilField: 'data.a', ifPast: 'fail' }, 'ifPast invalid_value'],
    ['DELAY', { untilField: 'data.a', offset: { amount: 1 } }, 'offset.unit invalid_value'],
    [
      'DELAY',
      { untilField: 'data.a', offset: { amount: 3651, unit: 'days' } },
      'offset.amount too_big',
    ],
    [
      'DELAY',
      { untilField: 'data.a', offset: { amount: -3651, unit: 'days' } },
      'offset.amount too_small',
    ],
    ['WAIT_FOR_EVENT', {}, 'eventName invalid_type'],
    ['WAIT_FOR_EVENT', { eventName: '' }, 'eventName too_small'],
    ['WAIT_FOR_EVENT', { eventName: 'x'.repeat(101) }, 'eventName too_big'],
    ['WAIT_FOR_EVENT', { eventName: 'e', timeout: 0 }, 'timeout too_small'],
    ['WAIT_FOR_EVENT', { eventName: 'e', timeout: 31_536_001 }, 'timeout too_big'],
    ['DIGEST', { eventName: 'e' }, 'for required'],
    ['DIGEST', { eventName: 'e', ...hour, until: { time: '18:00' } }, 'until not_allowed'],
    ['DIGEST', { eventName: 'e', for: { amount: 366, unit: 'days' } }, 'for.amount too_big'],
    ['DIGEST', { eventName: 'e', for: { amount: 0, unit: 'days' } }, 'for.amount too_small'],
    ['DIGEST', { ...hour, max: 1001 }, 'eventName invalid_type', 'max too_big'],
    ['DIGEST', { eventName: 'e', ...hour, since: 'now' }, 'since invalid_value'],
    [
      'DIGEST',
      { eventName: 'e', until: { time: '18:00' }, immediateFirst: true },
      'immediateFirst not_allowed',
    ],
    ['CONDITION', compare('', 'equals', 'a'), 'field unsupported_field'],
    ['CONDITION', compare('data.', 'equals', 'a'), 'field unsupported_field'],
    ['CONDITION', compare('contact.phone', 'equals', 'a'), 'field unsupported_field'],
    ['CONDITION', compare('data.a', 'within', 1), 'operator invalid_value'],
    ['CONDITION', compare('contact.email', 'exists'), 'operator unsupported_operator'],
    ['CONDITION', compare('contact.email', 'greaterThan', 'a'), 'operator unsupported_operator'],
    ['CONDITION', compare('contact.subscribed', 'contains', true), 'operator unsupported_operator'],
    ['CONDITION', compare('contact.createdAt', 'contains', '1'), 'operator unsupported_operator'],
    ['CONDITION', compare('contact.email', 'equals', 5), 'value invalid_type'],
    ['CONDITION', compare('contact.subscribed', 'equals', 'yes'), 'value invalid_type'],
    ['CONDITION', compare('contact.createdAt', 'equals', 5), 'value invalid_type'],
    ['CONDITION', compare('contact.createdAt', 'equals', '2026-02-30'), 'value invalid_date'],
    ['CONDITION', compare('data.a', 'equals'), 'value invalid_type'],
    ['CONDITION', compare('data.a', 'contains', null), 'value invalid_type'],
    ['CONDITION', compare('data.a', 'lessThan', ['a']), 'value invalid_type'],
    ['CONDITION', multi(), 'branches too_small'],
    [
      'CONDITION',
      multi(...Array.from({ length: 21 }, (_, i) => ({ ...branch, id: `b${i}` }))),
      'branches too_big',
    ],
    ['CONDITION', multi(branch, branch), 'branches.1.id custom'],
    ['CONDITION', multi({ ...branch, id: 'default' }), 'branches.0.id custom'],
    [
      'CONDITION',
      multi(branch, { ...branch, id: 'q', value: undefined }),
      'branches.1.value invalid_type',
    ],
    ['CONDITION', { ...multi(branch), field: 'contact.x' }, 'field unsupported_field'],
    ['CONDITION', byFilter(), 'branches too_small'],
    ['CONDITION', byFilter(flat(101)), 'branches.0.filter.conditions too_big'],
    ['CONDITION', byFilter(flat(100), flat(100), flat(1)), 'branches too_big'],
    [
      'CONDITION',
      byFilter(deep(6)),
      `branches.0.filter.${'groups.0.conditions.'.repeat(5).slice(0, -1)} too_big`,
    ],
    ['CONDITION', byFilter(undefined), 'branches.0.filter invalid_type'],
    [
      'CONDITION',
      byFilter(flat(), {
        logic: 'AND',
        groups: [{ filters: [compare('email', 'exists')] }],
      }),
      'branches.1.filter.groups.0.filters.0.operator unsupported_operator',
    ],
    ['CONDITION', { ...byFilter(flat()), field: 'data.a' }, ' unrecognized_keys'],
    ['SPLIT', {}, 'arms invalid_type'],
    ['SPLIT', arms(), 'arms too_small'],
    [
      'SPLIT',
      arms(...Array.from({ length: 10 }, (_, i) => ({ ...arm, id: `b${i}` }))),
      'arms too_big',
    ],
    ['SPLIT', arms(arm), 'arms.1.id custom'],
    ['SPLIT', arms({ ...arm, id: 'default' }), 'arms.1.id custom'],
    [
      'SPLIT',
      { arms: [arm, { ...arm, id: 'b' }].map((one) => ({ ...one, weight: 0 })) },
      'arms custom',
    ],
    [
      'SPLIT',
      arms({ id: 'b', name: '', weight: 0.5 }),
      'arms.1.name too_small',
      'arms.1.weight invalid_type',
    ],
    ['SPLIT', arms({ ...arm, id: 'b', weight: 1001 }), 'arms.1.weight too_big'],
    ['SPLIT', arms({ ...arm, id: 'b', weight: -1 }), 'arms.1.weight too_small'],
    [
      'SPLIT',
      { ...arms({ ...arm, id: 'b' }), by: 'email', salt: '' },
      'by invalid_value',
      'salt too_small',
    ],
    ['WEBHOOK', { url: 'ftp://x.example' }, 'url invalid_format'],
    ['WEBHOOK', { url: '{{url}}' }, 'url invalid_format'],
    ['WEBHOOK', { url: 'http://x.example', method: 'HEAD' }, 'method invalid_value'],
    ['WEBHOOK', { url: 'http://x.example', onFailure: 'stop' }, 'onFailure invalid_value'],
    ['WEBHOOK', { url: 'http://x.example', headers: ['a'] }, 'headers invalid_type'],
    [
      'WEBHOOK',
      { url: 'http://x.example', headers: { HOST: 'a', 'X-A': 1, 'X B': 'b', 'X-C': 'c\nd' } },
      'headers.HOST not_allowed',
      'headers.X-A invalid_type',
      'headers.X B invalid_string',
      'headers.X-C invalid_string',
    ],
    ['UPDATE_CONTACT', {}, 'updates required'],
    ['UPDATE_CONTACT', { updates: { id: 'x', name: '' } }, 'updates required'],
    ['UPDATE_CONTACT', { updates: {}, subscriptionAction: 'none' }, 'updates required'],
    ['UPDATE_CONTACT', { updates: { locale: 5 } }, 'updates.locale invalid_type'],
    ['UPDATE_CONTACT', { updates: [1] }, 'updates invalid_type'],
    ['EXIT', { reason: 'x'.repeat(201) }, 'reason too_big'],
    ['EXIT', null, ' invalid_type'],
  ])('%s %j', (type, config, ...expected) => {
    expect(faults(type, config)).toEqual(expected);
  });

  it.each([
    'User-Agent',
    'everpost-delivery',
    'Everpost-Signature',
    'host',
    'Content-Length',
    'Transfer-Encoding',
    'CONNECTION',
  ])('a webhook that sets %s', (name) => {
    expect(faults('WEBHOOK', { url: 'http://x.example', headers: { [name]: 'a' } })).toEqual([
      `headers.${name} not_allowed`,
    ]);
  });
});
