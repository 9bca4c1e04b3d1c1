import type { Filter, Operator } from '../../../domain/filter/filter.ts';

/** The truth table of filters. Tests check both evaluators, SQL and memory, against it. */

/** Fields of a contact that a row sets; the others are as in `plainContact`. */
export interface TableContact {
  email?: string;
  subscribed?: boolean;
  createdAt?: string;
  updatedAt?: string;
  data?: Record<string, unknown> | null;
  /** Names and times. */
  events?: [name: string, at: string][];
  /** Each an email with one time. */
  activities?: [activity: string, at: string][];
  /** Each an email of a campaign or template with one event, by the name of its field. */
  mail?: [field: string, at: string][];
  /** Ids of segments with hand-picked members. */
  segments?: string[];
}

export const plainContact = {
  email: 'ann@shop.example',
  subscribed: true,
  createdAt: '2026-11-01T12:00:00.000Z',
  updatedAt: '2026-11-10T12:00:00.000Z',
  data: null,
  events: [],
  activities: [],
  mail: [],
  segments: [],
} as const satisfies TableContact;

export const now = new Date('2026-11-21T12:00:00.000Z');

export const segmentIds = {
  vip: '11111111-1111-4111-8111-111111111111',
  /** Contacts whose `data.plan` is `pro`. */
  pro: '22222222-2222-4222-8222-222222222222',
  deleted: '33333333-3333-4333-8333-333333333333',
};

export interface TableRow {
  contact: TableContact;
  filter: Filter;
  matches: boolean;
}

type Check = [operator: Operator, value: unknown, matches: boolean] | [Operator, boolean];

function rows(contact: TableContact, field: string, ...checks: Check[]): TableRow[] {
  return checks.map((check) => {
    const [operator] = check;
    const matches = check.at(-1) as boolean;
    if (check.length === 2) return { contact, filter: { field, operator }, matches };
    const value = check[1];
    const isDuration = /within$|olderThan$/i.test(operator);
    const unit = isDuration ? { unit: 'days' as const } : {};
    return { contact, filter: { field, operator, value, ...unit }, matches };
  });
}

const x = (value: unknown, ...checks: Check[]) => rows({ data: { x: value } }, 'data.x', ...checks);

const missing: Check[] = [
  ['equals', 1, false],
  ['notEquals', 1, false],
  ['contains', 'a', false],
  ['notContains', 'a', false],
  ['exists', false],
  ['notExists', true],
  ['equals', null, true],
  ['notEquals', null, false],
  ['lessThan', 1, false],
  ['greaterThanOrEqual', '', false],
  ['within', 1, false],
  ['olderThan', 1, false],
];

const dataRows: TableRow[] = [
  ...rows({ data: null }, 'data.x', ...missing),
  ...rows({ data: { y: 1 } }, 'data.x', ...missing),
  ...rows({ data: { x: { y: null } } }, 'data.x.y', ...missing),
  ...rows({ data: { x: 'text' } }, 'data.x.y', ...missing),
  ...rows({ data: { x: ['a'] } }, 'data.x.0', ...missing),
  ...rows({ data: { a: { b: { c: 'deep' } } } }, 'data.a.b.c', ['equals', 'deep', true]),
  ...x(
    5,
    ['equals', 5, true],
    ['equals', '5', false],
    ['notEquals', '5', true],
    ['equals', null, false],
    ['notEquals', null, true],
    ['greaterThan', 4, true],
    ['greaterThan', '4', true],
    ['greaterThan', 'a', false],
    ['greaterThan', true, false],
    ['greaterThanOrEqual', 5, true],
    ['lessThanOrEqual', 5, true],
    ['lessThan', 5, false],
    ['contains', '5', false],
    ['notContains', '5', true],
  ),
  ...x(152, ['contains', '5', false]),
  ...x(
    '10',
    ['greaterThan', '9', true],
    ['greaterThan', 9, true],
    ['equals', 10, false],
    ['greaterThan', 'a', false],
    ['lessThan', 'a', true],
  ),
  ...x('b', ['greaterThan', 'a', true], ['greaterThan', 'B', true]),
  ...x('', ['lessThan', 1, false], ['exists', true], ['contains', '', true]),
  ...x('007', ['greaterThan', 1, false], ['lessThan', '1', true]),
  ...x('1234567890123456', ['greaterThan', 1, false], ['lessThan', '2', true]),
  ...x('123456789012345', ['greaterThan', 1, true], ['lessThan', '2', false]),
  ...x('\u{1F600}', ['greaterThan', '\uFFFD', true]),
  ...x(
    true,
    ['equals', true, true],
    ['equals', 'true', false],
    ['notEquals', false, true],
    ['greaterThan', 0, false],
    ['exists', true],
  ),
  ...x(0, ['exists', true], ['equals', false, false]),
  ...x(false, ['exists', true], ['notExists', false]),
  ...x([], ['exists', true], ['equals', [], true]),
  ...x({}, ['exists', true], ['equals', {}, true]),
  ...x(
    'Berlin',
    ['contains', 'ber', false],
    ['contains', 'Ber', true],
    ['notContains', 'ber', true],
    ['notContains', 'Ber', false],
    ['equals', 'berlin', false],
  ),
  ...x(
    ['a', 'b'],
    ['contains', 'a', true],
    ['contains', 'A', false],
    ['contains', 1, false],
    ['notContains', 'c', true],
    ['equals', ['a', 'b'], true],
    ['equals', ['b', 'a'], false],
    ['greaterThan', 'a', false],
  ),
  ...x(['2026-11-20T08:00Z'], ['contains', '2026-11-20', true], ['contains', '2026-11-21', false]),
  ...x({ a: 1, b: [2] }, ['equals', { b: [2], a: 1 }, true], ['contains', 'a', false]),
  ...x(
    '2026-11-20T23:30:00Z',
    ['equals', '2026-11-20', true],
    ['equals', '2026-11-21T00:00:00+00:10', true],
    ['notEquals', '2026-11-20', false],
    ['notEquals', '2026-11-21', true],
    ['lessThan', '2026-11-21', true],
    ['contains', '2026-11-20', true],
    ['equals', '2026-11-20 ', false],
  ),
  ...x('2026-11-20T23:30:00-01:00', ['equals', '2026-11-21', true]),
  ...x('2026-02-30', ['equals', '2026-02-30', true], ['lessThan', '2026-03', true]),
  ...x('2026-02-30', ['within', 9999, false], ['olderThan', 1, false]),
  ...x(
    '2026-11-20',
    ['within', 1, false],
    ['within', 1.5, true],
    ['within', 2, true],
    ['olderThan', 1, true],
    ['olderThan', 1.5, false],
  ),
  ...x('2027-01-01', ['within', 0, true], ['olderThan', 0, false]),
  ...x('soon', ['within', 9, false], ['olderThan', 9, false]),
  ...x(1_732_000_000, ['within', 9999, false]),
];

const bought = (at: string) => ({ events: [['bought', at]] as [string, string][] });
const opened = (at: string) => ({ activities: [['opened', at]] as [string, string][] });
const occurrences = (...[ever, recent]: [boolean, boolean]): Check[] => [
  ['triggered', ever],
  ['notTriggered', !ever],
  ['triggeredWithin', 7, recent],
  ['triggeredOlderThan', 7, ever && !recent],
  ['notTriggeredWithin', 7, !recent],
];

const otherRows: TableRow[] = [
  ...rows(
    { email: 'x@gmail.com' },
    'email',
    ['contains', 'GMAIL', true],
    ['notContains', 'Gmail', false],
    ['notContains', 'hotmail', true],
    ['equals', 'X@Gmail.com', true],
    ['notEquals', 'X@Gmail.com', false],
    ['notEquals', 'y@gmail.com', true],
  ),
  ...rows(
    { subscribed: false },
    'subscribed',
    ['equals', false, true],
    ['equals', 'false', true],
    ['equals', 'true', false],
    ['notEquals', true, true],
    ['notEquals', 'false', false],
  ),
  ...rows(
    { createdAt: '2026-11-20T12:00:00.000Z' },
    'createdAt',
    ['equals', '2026-11-20', true],
    ['equals', '2026-11-20T01:00:00Z', true],
    ['equals', '2026-11-21', false],
    ['notEquals', '2026-11-20', false],
    ['notEquals', '2026-11-19', true],
    ['greaterThan', '2026-11-20', true],
    ['greaterThan', '2026-11-20T14:00:00+02:00', false],
    ['greaterThanOrEqual', '2026-11-20T14:00:00+02:00', true],
    ['lessThan', '2026-11-20T12:00:00.001Z', true],
    ['lessThanOrEqual', '2026-11-20', false],
    ['within', 1, true],
    ['olderThan', 1, false],
    ['olderThan', 0.9, true],
  ),
  ...rows({ updatedAt: '2026-11-20T12:00:00.000Z' }, 'updatedAt', ['equals', '2026-11-20', true]),
  ...rows({}, 'event.bought', ...occurrences(false, false)),
  ...rows(bought('2026-11-14T12:00:00.000Z'), 'event.bought', ...occurrences(true, true)),
  ...rows(bought('2026-11-14T11:59:59.999Z'), 'event.bought', ...occurrences(true, false)),
  ...rows(bought('2026-11-20T12:00:00.000Z'), 'event.Bought', ...occurrences(false, false)),
  ...rows(
    {
      events: [...bought('2026-01-01T00:00:00Z').events, ...bought('2026-11-20T00:00:00Z').events],
    },
    'event.bought',
    ...occurrences(true, true),
  ),
  ...rows({ events: [['a.b c', '2026-11-20T00:00:00Z']] }, 'event.a.b c', ['triggered', true]),
  ...rows({}, 'email.opened', ...occurrences(false, false)),
  ...rows(opened('2026-11-14T12:00:00.000Z'), 'email.opened', ...occurrences(true, true)),
  ...rows(opened('2026-11-14T11:59:59.999Z'), 'email.opened', ...occurrences(true, false)),
  ...rows(opened('2026-11-20T12:00:00.000Z'), 'email.clicked', ...occurrences(false, false)),
  ...['clicked', 'bounced', 'complained', 'sent', 'delivered'].flatMap((activity) =>
    rows(
      { activities: [[activity, '2026-11-20T12:00:00Z']] },
      `email.${activity}`,
      ...occurrences(true, true),
    ),
  ),
  ...Object.entries({
    [segmentIds.vip]: { segments: [segmentIds.vip] },
    [segmentIds.pro]: { data: { plan: 'pro' } },
  }).flatMap(([id, contact]) => [
    ...rows(contact, `segment.${id}`, ['memberOfSegment', true], ['notMemberOfSegment', false]),
    ...rows({}, `segment.${id}`, ['memberOfSegment', false], ['notMemberOfSegment', true]),
  ]),
  ...rows(
    {},
    `segment.${segmentIds.deleted}`,
    ['memberOfSegment', false],
    ['notMemberOfSegment', true],
  ),
];

export const filterTable: readonly TableRow[] = [...dataRows, ...otherRows];

/** Returns the name of a row's test. */
export function nameOf({ contact, filter, matches }: TableRow): string {
  const { field, operator, value, unit } = filter;
  const given = value === undefined ? '' : ` ${JSON.stringify(value)}`;
  const answer = matches ? 'matches' : 'does not match';
  return `${JSON.stringify(contact)} ${answer} ${field} ${operator}${given}${unit ? ` ${unit}` : ''}`;
}
