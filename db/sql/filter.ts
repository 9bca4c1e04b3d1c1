import { type RawBuilder, sql } from 'kysely';
import { references } from '../columns.ts';
import { derivedNamed, hasDerived } from './derived-events.ts';
import { mailEventAt } from './mail-status.ts';
import { comparedValue } from '../../domain/filter/evaluate.ts';
import {
  type Condition,
  type Field,
  fieldOf,
  type Filter,
  filtersOf,
  type MailField,
  type OccurrenceOperator,
  type OrderOperator,
  type ValueField,
} from '../../domain/filter/filter.ts';
import type { Segments } from '../../domain/filter/references.ts';
import {
  cutOff,
  firstInstant,
  instantOf,
  numberOf,
  startOfDay,
} from '../../domain/filter/value.ts';

/**
 * Compiles conditions to SQL that uses the indexes of our tables. All values that a customer wrote
 * become parameters.
 */

type Sql = RawBuilder<boolean>;

export interface ConditionSqlOptions {
  now: Date;
  /** The segments of the project. Unknown ones have no members. */
  segments: Segments;
  /** The alias of the table `contact` in the query. */
  contact?: string;
  /**
   * The project, if all contacts of the query belong to one: speeds up the search for events and
   * mail.
   */
  projectId?: string;
}

/**
 * Compiles a condition to an expression on a row of `contact` that is true or false, never null.
 * The query must filter by project.
 * @param condition as `parseCondition` returns it.
 */
export function conditionSql(condition: Condition, options: ConditionSqlOptions): Sql {
  const { now, segments, contact = 'contact', projectId } = options;
  const { repeated, order } = findRepeated(condition, segments);
  const shared = new Map<string, Sql>();
  const scope: Scope = { now, segments, contact, projectId, repeated, shared };
  // A segment that is used twice is evaluated once per contact. Otherwise the SQL could grow
  // exponentially with a few segments that refer to each other. Each such segment becomes a column
  // of a nested row; `offset 0` keeps the planner from undoing this.
  let row: RawBuilder<unknown> | null = null;
  const names: string[] = [];
  for (const [index, id] of order.entries()) {
    const name = `segment_${index}`;
    const holds = compile(scope, segments.get(id)!);
    const before: RawBuilder<unknown> = row ? sql`${references(names, 'shared')}, ` : sql``;
    const from: RawBuilder<unknown> = row ? sql`from ${row}` : sql``;
    row = sql`(select ${before}${holds} as ${sql.ref(name)} ${from} offset 0) as shared`;
    names.push(name);
    shared.set(id, sql<boolean>`${sql.ref(`shared.${name}`)}`);
  }
  const whole = compile(scope, condition);
  return row ? sql<boolean>`(select ${whole} from ${row})` : whole;
}

interface Scope {
  now: Date;
  segments: Segments;
  contact: string;
  projectId: string | undefined;
  /** Segments that have a condition and are used more than once. */
  repeated: ReadonlySet<string>;
  /** The segments of `repeated` that are compiled already. */
  shared: ReadonlyMap<string, Sql>;
}

/**
 * Finds segments that have a condition and are used more than once. In `order`, each comes after
 * the segments that it refers to.
 */
function findRepeated(condition: Condition, segments: Segments) {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const finished: string[] = [];
  const visit = (from: Condition): void => {
    for (const filter of filtersOf(from)) {
      const field = fieldOf(filter.field);
      const next = field?.kind === 'segment' ? segments.get(field.id) : null;
      if (field?.kind !== 'segment' || !next) continue;
      if (seen.has(field.id)) {
        repeated.add(field.id);
      } else {
        seen.add(field.id);
        visit(next);
        finished.push(field.id);
      }
    }
  };
  visit(condition);
  return { repeated, order: finished.filter((id) => repeated.has(id)) };
}

function compile(scope: Scope, { logic, groups }: Condition): Sql {
  const parts = groups.map(({ filters, conditions }) => {
    const all = filters.map((filter) => filterSql(scope, filter));
    return joined(sql` and `, conditions ? [...all, compile(scope, conditions)] : all);
  });
  return joined(logic === 'AND' ? sql` and ` : sql` or `, parts);
}

function joined(word: RawBuilder<unknown>, parts: Sql[]): Sql {
  return parts.length === 1 ? parts[0]! : sql<boolean>`(${sql.join(parts, word)})`;
}

const no = sql<boolean>`false`;

/** Negates an expression that is never null, unlike expressions on JSON. */
function not(expression: Sql): Sql {
  return sql<boolean>`not (${expression})`;
}

function filterSql(scope: Scope, filter: Filter): Sql {
  const field = fieldOf(filter.field);
  if (!field) return no;
  switch (field.kind) {
    case 'event':
    case 'activity':
    case 'mail':
      return occurrenceSql(scope, filter, field);
    case 'segment': {
      const isMember = memberSql(scope, field.id);
      return filter.operator === 'memberOfSegment' ? isMember : not(isMember);
    }
    case 'data':
      return dataFilterSql(scope, filter, field.path);
    default:
      return columnSql(scope, filter, field);
  }
}

function memberSql(scope: Scope, id: string): Sql {
  const condition = scope.segments.get(id);
  if (condition === undefined) return no;
  if (condition === null) {
    const contactId = sql.ref(`${scope.contact}.id`);
    return sql<boolean>`exists (select from segment_member as inner_member
      where inner_member.segment_id = ${id} and inner_member.contact_id = ${contactId})`;
  }
  // A repeated segment that is not compiled yet is circular. Checked conditions have no such
  // segment.
  return scope.repeated.has(id) ? (scope.shared.get(id) ?? no) : compile(scope, condition);
}

/**
 * SQL that is true if an event of a name exists since a moment: stored, or derived from the row of
 * a campaign's message. Two `exists`, because for one over both, PostgreSQL would read the events
 * of all contacts.
 * @param isOwn a condition on the contact of `inner_seen`
 */
function hasEvent(name: string, isOwn: RawBuilder<unknown>, from: RawBuilder<Date>) {
  const parts = [
    sql`exists (select from event as inner_seen
      where ${isOwn} and inner_seen.name = ${name} and inner_seen.created_at >= ${from})`,
    ...derivedNamed(name).map(
      (event) => sql`exists (select from email as inner_seen
        where ${isOwn} and ${hasDerived(event)} and ${sql.ref(`inner_seen.${event.at}`)} >= ${from})`,
    ),
  ];
  return sql<boolean>`(${sql.join(parts, sql` or `)})`;
}

function occurrenceSql(
  { contact, now, projectId }: Scope,
  filter: Filter,
  field: Field & { kind: 'event' | 'activity' | 'mail' },
): Sql {
  const contactId = sql.ref(`${contact}.id`);
  const inProject =
    projectId === undefined ? sql`` : sql` and inner_seen.project_id = ${projectId}`;
  const since = instantSql(filter.unit ? cutOff(filter, now) : Number.NEGATIVE_INFINITY);
  const isOwn = sql`inner_seen.contact_id = ${contactId}${inProject}`;
  const seen = (from: RawBuilder<Date>) => {
    if (field.kind === 'event') return hasEvent(field.name, isOwn, from);
    const isNamed = field.kind === 'mail' ? isMailOf(field) : sql``;
    const at =
      field.kind === 'mail'
        ? mailEventAt('inner_seen', field.event, field.id)
        : mailEventAt('inner_seen', field.name);
    return sql<boolean>`exists (select from email as inner_seen
      where ${isOwn}${isNamed} and ${at} >= ${from})`;
  };
  const ever = seen(instantSql(Number.NEGATIVE_INFINITY));
  switch (filter.operator as OccurrenceOperator) {
    case 'triggered':
      return ever;
    case 'notTriggered':
      return not(ever);
    case 'triggeredWithin':
      return seen(since);
    case 'triggeredOlderThan':
      return sql<boolean>`(${ever} and ${not(seen(since))})`;
    case 'notTriggeredWithin':
      return not(seen(since));
  }
}

/** SQL that narrows `inner_seen` to the mail of a campaign or template. */
function isMailOf({ source, id }: MailField): RawBuilder<unknown> {
  return sql` and ${sql.ref(`inner_seen.${source}_id`)} = ${id}`;
}

const columns = {
  email: 'email',
  subscribed: 'subscribed',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;

/** A filter on a column, which always has a value. */
function columnSql(
  { contact, now }: Scope,
  filter: Filter,
  field: Exclude<ValueField, { kind: 'data' }>,
): Sql {
  const column = sql.ref(`${contact}.${columns[field.kind === 'time' ? field.name : field.kind]}`);
  if (field.kind === 'time') return timeSql(filter, column, now);
  const given = comparedValue(field, filter.value);
  const positive = /contains/i.test(filter.operator)
    ? sql<boolean>`strpos(${column}, ${given}) > 0`
    : sql<boolean>`${column} = ${given}`;
  return filter.operator.startsWith('not') ? not(positive) : positive;
}

/** SQL for a filter on an instant `at`; it is null when `at` is null. */
function timeSql(filter: Filter, at: RawBuilder<unknown>, now: Date): Sql {
  const { operator } = filter;
  if (operator === 'within') return sql<boolean>`${at} >= ${instantSql(cutOff(filter, now))}`;
  if (operator === 'olderThan') return sql<boolean>`${at} < ${instantSql(cutOff(filter, now))}`;
  const given = instantOf(filter.value)!;
  if (operator === 'equals') return onDay(at, given);
  if (operator === 'notEquals') return not(onDay(at, given));
  return sql<boolean>`${at} ${symbols[operator as OrderOperator]} ${instantSql(given)}`;
}

/** True when `at` lies in the UTC day of an instant. */
function onDay(at: RawBuilder<unknown>, instant: number): Sql {
  const start = instantSql(startOfDay(instant));
  return sql<boolean>`(${at} >= ${start} and ${at} < ${start} + interval '24 hours')`;
}

/** An instant in milliseconds since 1970, or `-infinity`. */
function instantSql(instant: number): RawBuilder<Date> {
  const text = instant < firstInstant ? '-infinity' : new Date(instant).toISOString();
  return sql<Date>`${text}::timestamptz`;
}

const symbols: Readonly<Record<OrderOperator, RawBuilder<unknown>>> = {
  greaterThan: sql`>`,
  lessThan: sql`<`,
  greaterThanOrEqual: sql`>=`,
  lessThanOrEqual: sql`<=`,
};

/**
 * The JSON value at a path, null when it is missing. A key that has the whole path as its name
 * comes first, as in `readPath`.
 */
export function valueSql(data: RawBuilder<unknown>, path: readonly string[]): RawBuilder<unknown> {
  const name = path.join('.');
  const own = sql`nullif(${data} -> ${name}::text, 'null')`;
  if (path.length === 1) return own;
  // `#>` is fast, but would take a key of digits as the index in a list.
  const inside = path.some((key) => /[0-9]$/.test(key))
    ? sql`filter_value(${data}, ${path}::text[])`
    : sql`nullif(${data} #> ${path}::text[], 'null')`;
  return sql`case when ${data} ? ${name}::text then ${own} else ${inside} end`;
}

/** A filter on a JSON value. It may be null instead of false. */
function dataSql(filter: Filter, value: RawBuilder<unknown>, now: Date): Sql {
  const { operator, value: given } = filter;
  const isPresent = sql<boolean>`${value} is not null`;
  switch (operator) {
    case 'exists':
      return isPresent;
    case 'notExists':
      return sql<boolean>`${value} is null`;
    case 'equals':
      return equalsSql(value, given);
    case 'notEquals':
      return sql<boolean>`${isPresent} and not coalesce(${equalsSql(value, given)}, false)`;
    case 'contains':
      return containsSql(value, given);
    case 'notContains':
      return sql<boolean>`${isPresent} and not coalesce(${containsSql(value, given)}, false)`;
    case 'within':
    case 'olderThan':
      return timeSql(filter, sql`filter_date(${value})`, now);
    default:
      return orderSql(operator as OrderOperator, value, given);
  }
}

function dataFilterSql({ contact, now }: Scope, filter: Filter, path: readonly string[]): Sql {
  const data = sql.ref(`${contact}.data`);
  const quick = dataEqualsSql(filter, data, path);
  if (quick) return sql<boolean>`coalesce(${quick}, false)`;
  const holds = dataSql(filter, valueSql(data, path), now);
  if (!showsInText(filter)) return sql<boolean>`coalesce(${holds}, false)`;
  // This quick test is cheaper than the full one, and excludes most values.
  const name = path.join('.');
  const own = sql`${data} ->> ${name}::text`;
  const text = path.length === 1 ? own : sql`coalesce(${own}, ${data} #>> ${path}::text[])`;
  return sql<boolean>`case when strpos(${text}, ${filter.value}) > 0
    then coalesce(${holds}, false) else false end`;
}

/**
 * Returns true if the text of the filter appears unchanged in the text form of each JSON value that
 * contains it.
 */
function showsInText({ operator, value }: Filter): boolean {
  return (
    operator === 'contains' &&
    JSON.stringify(value) === `"${String(value)}"` &&
    instantOf(value) === null
  );
}

/**
 * SQL for `equals` with a plain value, if the cheaper operator `@>` is equivalent; null for all
 * other filters. In objects, `@>` requires the same keys and, at their end, an equal scalar.
 */
function dataEqualsSql(
  { operator, value: given }: Filter,
  data: RawBuilder<unknown>,
  path: readonly string[],
): Sql | null {
  if (operator !== 'equals' || typeof given === 'object' || instantOf(given) !== null) return null;
  const holds = (keys: readonly string[]) => {
    const document = keys.reduceRight(
      (inner, key) => `{${JSON.stringify(key)}:${inner}}`,
      JSON.stringify(given),
    );
    return sql<boolean>`${data} @> ${document}::jsonb`;
  };
  if (path.length === 1) return holds(path);
  const name = path.join('.');
  return sql<boolean>`(${holds([name])} or ${holds(path)} and not ${data} ? ${name}::text)`;
}

function equalsSql(value: RawBuilder<unknown>, given: unknown): Sql {
  if (given === null) return sql<boolean>`${value} is null`;
  const day = instantOf(given);
  if (day !== null) return onDay(sql`filter_date(${value})`, day);
  return sql<boolean>`${value} = ${JSON.stringify(given)}::jsonb`;
}

function containsSql(value: RawBuilder<unknown>, given: unknown): Sql {
  const inText =
    typeof given === 'string' ? sql<boolean>`strpos(${value} #>> '{}', ${given}) > 0` : no;
  const inList =
    instantOf(given) === null
      ? sql<boolean>`${value} @> ${JSON.stringify(given)}::jsonb`
      : sql<boolean>`exists (select from jsonb_array_elements(${value}) as item
          where ${equalsSql(sql`item`, given)})`;
  return sql<boolean>`case jsonb_typeof(${value})
    when 'string' then ${inText} when 'array' then ${inList} end`;
}

/**
 * Compares as numbers, as dates or as texts by code points: by the first of these types that fits
 * both values.
 */
function orderSql(operator: OrderOperator, value: RawBuilder<unknown>, given: unknown): Sql {
  const symbol = symbols[operator];
  const readings: Sql[] = [];
  const number = numberOf(given);
  if (number !== null) {
    readings.push(sql<boolean>`filter_number(${value}) ${symbol} ${String(given)}::numeric`);
  }
  if (typeof given === 'string') {
    const instant = instantOf(given);
    if (instant !== null) {
      readings.push(sql<boolean>`filter_date(${value}) ${symbol} ${instantSql(instant)}`);
    }
    readings.push(sql<boolean>`case when jsonb_typeof(${value}) = 'string'
      then (${value} #>> '{}') collate "C" ${symbol} ${given}::text end`);
  }
  return readings.length === 0 ? no : sql<boolean>`coalesce(${sql.join(readings)})`;
}
