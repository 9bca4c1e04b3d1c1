import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  type Condition,
  emailActivities,
  fieldOf,
  type Filter,
  mailEvents,
  mailFieldName,
  needsOf,
  type Operator,
  operatorsOf,
} from '../../../domain/filter/filter.ts';
import { evaluateCondition, type Subject } from '../../../domain/filter/evaluate.ts';
import { parseCondition } from '../../../domain/filter/parse.ts';
import type { Segments } from '../../../domain/filter/references.ts';
import { instantOfText } from '../../../domain/filter/value.ts';
import { hasForbiddenText } from '../../../domain/text-rules.ts';
import { now, type TableContact } from '../../domain/filter/filter-table.ts';
import { dates, fields, texts, values } from '../../domain/filter/filter-values.ts';
import { alone, useFilterDatabase } from '../../support/projects/filter-database.ts';

const database = await useFilterDatabase();
const { store, ask } = database;

/** Returns the contacts as they are stored, for evaluation in memory. */
async function subjectsOf(contacts: TableContact[], ids: string[], segments: Segments) {
  const rows = await database.db
    .selectFrom('contact')
    .selectAll()
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return contacts.map((given, index) => {
    const row = rowOf.get(ids[index]!)!;
    const last = (all: readonly [string, string][] | undefined, name: string) => {
      const times = (all ?? []).flatMap(([one, at]) => (one === name ? [Date.parse(at)] : []));
      return times.length === 0 ? null : new Date(Math.max(...times));
    };
    const subject: Subject = {
      email: row.email,
      subscribed: row.subscribed,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      data: row.data as Subject['data'],
      lastEvent: (name) => last(given.events, name),
      lastActivity: (name) => last(activitiesOf(given), name),
      lastMail: (field) => last(given.mail, mailFieldName(field)),
      isMember(id) {
        const condition = segments.get(id);
        if (condition) return evaluateCondition(condition, subject, now);
        return condition === null && (given.segments ?? []).includes(id);
      },
    };
    return subject;
  });
}

/** The activities of all mail of a contact. */
function activitiesOf({ activities = [], mail = [] }: TableContact): [string, string][] {
  const ofMail = mail.map(([field, at]): [string, string] => [field.split('.')[2]!, at]);
  return [...activities, ...ofMail];
}

/** Operators by kind of field, with the results seen so far. */
class Coverage {
  private readonly seen = new Set<string>();

  add({ field, operator }: Filter, answer: boolean): void {
    this.seen.add(`${fieldOf(field)!.kind} ${operator} ${answer}`);
  }

  missing(kinds: readonly (keyof typeof operatorsOf)[]): string[] {
    return kinds
      .flatMap((kind) => operatorsOf[kind].map((operator) => `${kind} ${operator}`))
      .flatMap((name) => [`${name} true`, `${name} false`])
      .filter((name) => !this.seen.has(name));
  }
}

/** Changes only letters of ASCII, as in addresses. */
const inCapitals = (text: string) => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());

const units = ['minutes', 'hours', 'days'] as const;
const amounts = [0, 0.5, 1, 1.7, 24, 9999, 1e9, 1e308];

/** Returns every valid filter of the field with the given comparison values. */
function allFilters(field: string, given: readonly unknown[]): Filter[] {
  const { kind } = fieldOf(field)!;
  const filters = operatorsOf[kind].flatMap((operator: Operator): Filter[] => {
    switch (needsOf(operator)) {
      case 'nothing':
        return [{ field, operator }];
      case 'duration':
        return amounts.flatMap((value) =>
          units.map((unit): Filter => ({ field, operator, value, unit })),
        );
      case 'value':
        return given.map((value): Filter => ({ field, operator, value }));
    }
  });
  return filters.filter((filter) => parseCondition(alone(filter), '').problems.length === 0);
}

describe('the database and the memory agree', () => {
  it('on every value against every other, by every operator', async () => {
    const contacts = [{}, ...values.map((x) => ({ data: { x } }))];
    const filters = allFilters('data.x', values);
    const ids = await store(contacts, new Map());
    const subjects = await subjectsOf(contacts, ids, new Map());
    const answers = await ask(filters.map(alone), ids, new Map());
    const coverage = new Coverage();
    const different: unknown[] = [];
    subjects.forEach((subject, row) => {
      filters.forEach((filter, column) => {
        const expected = evaluateCondition(alone(filter), subject, now);
        const answer = answers[row]![column];
        coverage.add(filter, expected);
        if (answer !== expected) different.push({ data: subject.data, filter, expected, answer });
      });
    });
    expect(different).toEqual([]);
    expect(coverage.missing(['data'])).toEqual([]);
    expect(subjects.length * filters.length).toBeGreaterThan(80_000);
  });

  it('on what is a date, in every form of its parts', async () => {
    const days = ['2026-11-20', '20261120', '2026-02-30', '2024-02-29', '2026-1120', '00010101'];
    const times = [
      '',
      'T23:30',
      'T2330',
      'T23:30:15',
      'T233015',
      'T24:00',
      'T2360',
      'T23',
      ' 23:30',
    ];
    const fractions = ['', '.5', ',25', '.1239', ',', '.'];
    const offsets = [
      '',
      'Z',
      'z',
      '+02:00',
      '+0200',
      '+02',
      '-23:59',
      '-2359',
      '+24',
      '+2',
      '+02:0',
    ];
    const parts = [days, times, fractions, offsets] as const;
    const given = parts.reduce<string[]>(
      (heads, tails) => heads.flatMap((head) => tails.map((tail) => head + tail)),
      [''],
    );
    const { rows } = await sql<{ text: string; instant: number | null }>`
      select text, (extract(epoch from filter_date(to_jsonb(text))) * 1000)::float8 as instant
        from unnest(${given}::text[]) text`.execute(database.db);
    const different = rows.filter(({ text, instant }) => instantOfText(text) !== instant);
    expect(different).toEqual([]);
    const read = rows.filter(({ instant }) => instant !== null).length;
    expect([rows.length > 3_000, read > 100]).toEqual([true, true]);
  });

  it('on times and addresses', async () => {
    const contacts = dates.flatMap((at, index) => {
      const instant = instantOfText(at);
      if (instant === null) return [];
      const createdAt = new Date(instant).toISOString();
      return [{ createdAt, updatedAt: createdAt, email: `${index}zoë_%@x.example` }];
    });
    expect(contacts.length).toBeGreaterThan(15);
    const filters = ['createdAt', 'updatedAt', 'email', 'subscribed'].flatMap((field) =>
      allFilters(field, [...values, 'ZOË', '_%', 'x.EXAMPLE', inCapitals(contacts[0]!.email)]),
    );
    const ids = await store([...contacts, { subscribed: false }], new Map());
    const subjects = await subjectsOf([...contacts, { subscribed: false }], ids, new Map());
    const answers = await ask(filters.map(alone), ids, new Map());
    const coverage = new Coverage();
    subjects.forEach((subject, row) => {
      filters.forEach((filter, column) => {
        const expected = evaluateCondition(alone(filter), subject, now);
        coverage.add(filter, expected);
        expect([subject, filter, answers[row]![column]]).toEqual([subject, filter, expected]);
      });
    });
    expect(coverage.missing(['email', 'subscribed', 'time'])).toEqual([]);
  });

  it('on conditions of any shape over all that a contact has', async () => {
    const contacts = fc.sample(someContact, { numRuns: 150, seed: 4711 });
    const ids = await store(contacts, randomSegments);
    const subjects = await subjectsOf(contacts, ids, randomSegments);
    const coverage = new Coverage();
    let pairs = 0;
    const property = fc.asyncProperty(
      fc.array(someCondition, { minLength: 1, maxLength: 15 }),
      async (conditions) => {
        const answers = await ask(conditions, ids, randomSegments);
        subjects.forEach((subject, row) => {
          const expected = conditions.map((one) => evaluateCondition(one, subject, now));
          expect([subject.data, answers[row]]).toEqual([subject.data, expected]);
          pairs += conditions.length;
          for (const { filters } of conditions.flatMap(({ groups }) => groups)) {
            for (const filter of filters) {
              coverage.add(filter, evaluateCondition(alone(filter), subject, now));
            }
          }
        });
      },
    );
    await fc.assert(property, { numRuns: 100 });
    expect(coverage.missing(['event', 'activity', 'mail', 'segment'])).toEqual([]);
    expect(pairs).toBeGreaterThan(20_000);
  }, 120_000);
});

const someValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...values) },
  // Few values, so that both sides often have the same one.
  { weight: 4, arbitrary: fc.constantFrom('a', 'ab', 5, '5', true, '2026-11-20', ['a', 5]) },
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.string({ unit: 'binary' }).filter((text) => !hasForbiddenText(text)),
  fc.integer().map(String),
  fc
    .date({ noInvalidDate: true, min: new Date(-1e13), max: new Date(1e13) })
    .map((at) => at.toJSON()),
);

/** Around the present, and exactly at the edge of a window. */
const someTime = fc
  .tuple(
    fc.constantFrom(...amounts.slice(0, 6)),
    fc.constantFrom(60e3, 3600e3, 86_400e3),
    fc.integer({ min: -1, max: 1 }),
  )
  .map(([amount, unit, nudge]) => new Date(now.getTime() - amount * unit + nudge).toISOString());

const keys = ['x', 'y', '0', 'a b', '__proto__', 'constructor', "'", '"', '\\', 'Zoë', ''];
/** Keys with dots are read before nested objects. */
const keysWithDots = [...keys, 'x.y', 'x.0', 'y.x.y', 'x.', '.'];

const someData = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 2 }, someValue, tie('object')),
  object: fc
    .array(fc.tuple(fc.constantFrom(...keysWithDots), tie('value')), { maxLength: 6 })
    // fromEntries makes __proto__ an own key, as JSON.parse does.
    .map((entries) => Object.fromEntries(entries)),
})).object;

const segmentId = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;

const someMailField = fc
  .tuple(
    fc.constantFrom('campaign', 'template'),
    fc.constantFrom(segmentId(7), segmentId(8)),
    fc.constantFrom(...mailEvents),
  )
  .map((parts) => parts.join('.'));

/** A contact has one email of a campaign, and any number of a template. */
const someMail = fc.uniqueArray(fc.tuple(someMailField, someTime), {
  maxLength: 5,
  selector: ([field, at]) => (field.startsWith('campaign') ? field.split('.')[1] : field + at),
});

const someContact: fc.Arbitrary<TableContact> = fc.record({
  email: fc.constantFrom('ann@x.example', 'zoë_0@y.example', 'b%@x.test'),
  subscribed: fc.boolean(),
  createdAt: someTime,
  updatedAt: someTime,
  data: someData,
  events: fc.array(
    fc.tuple(fc.constantFrom('bought', 'Bought', "it's", 'email.opened'), someTime),
    {
      maxLength: 4,
    },
  ),
  activities: fc.array(fc.tuple(fc.constantFrom(...emailActivities), someTime), { maxLength: 4 }),
  mail: someMail,
  segments: fc.subarray([segmentId(1), segmentId(2)]),
});

const someField = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .array(fc.constantFrom(...keys), { minLength: 1, maxLength: 3 })
      .map((path) => `data.${path.join('.')}`)
      .filter((field) => field !== 'data.'),
  },
  fc.constantFrom(...fields),
  fc.constantFrom(...emailActivities).map((activity) => `email.${activity}`),
  someMailField,
  fc.constantFrom('bought', 'Bought', "it's", 'email.opened').map((name) => `event.${name}`),
  fc.integer({ min: 1, max: 6 }).map((digit) => `segment.${segmentId(digit)}`),
);

const someFilter: fc.Arbitrary<Filter> = someField.chain((field) => {
  const { kind } = fieldOf(field)!;
  const value =
    kind === 'email'
      ? fc.oneof(fc.constantFrom('@', 'X.example', 'Ann@x.EXAMPLE'), fc.constantFrom(...texts))
      : kind === 'subscribed'
        ? fc.constantFrom(true, false, 'true', 'false')
        : kind === 'time'
          ? fc.oneof(
              someTime,
              fc.constantFrom('2026-11-20', '2026-11-21', '2026-11-20T23:00+05:30'),
            )
          : someValue;
  return fc
    .tuple(
      fc.constantFrom(...operatorsOf[kind]),
      value,
      fc.constantFrom(...amounts),
      fc.constantFrom(...units),
    )
    .map(([operator, value, amount, unit]): Filter => {
      const needs = needsOf(operator);
      if (needs === 'nothing') return { field, operator };
      return needs === 'value'
        ? { field, operator, value }
        : { field, operator, value: amount, unit };
    })
    .filter((filter) => parseCondition(alone(filter), '').problems.length === 0);
});

const someCondition = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.record({
    logic: fc.constantFrom('AND', 'OR'),
    groups: fc.array(
      fc.oneof(
        { depthSize: 'small', maxDepth: 3 },
        fc.array(someFilter, { minLength: 1, maxLength: 3 }).map((filters) => ({ filters })),
        fc.record({
          filters: fc.array(someFilter, { maxLength: 2 }),
          conditions: tie('condition'),
        }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  }),
})).condition;

/** Two with hand-picked members, three that refer to each other, and a deleted one. */
const randomSegments: Segments = new Map<string, Condition | null>([
  [segmentId(1), null],
  [segmentId(2), null],
  [segmentId(3), alone({ field: 'subscribed', operator: 'equals', value: true })],
  [segmentId(4), naming('OR', [3, 1], [2])],
  [segmentId(5), naming('AND', [4, 3], [3], [4])],
]);

/** A condition with groups that refer to segments. */
function naming(logic: 'AND' | 'OR', ...groups: number[][]): Condition {
  const filter = (digit: number): Filter => ({
    field: `segment.${segmentId(digit)}`,
    operator: digit % 2 === 0 ? 'notMemberOfSegment' : 'memberOfSegment',
  });
  return { logic, groups: groups.map((digits) => ({ filters: digits.map(filter) })) };
}
