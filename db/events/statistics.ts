import { type RawBuilder, sql } from 'kysely';
import { type Condition, fieldOf, filtersOf } from '../../domain/filter/filter.ts';
import { stepTypesWith } from '../../domain/workflow/steps/registry.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { momentsOf } from '../sql/mail-moments.ts';
import type { TriggerSchedule } from '../schedules/schedules.ts';
import { derivedEvents, derivedNamed, hasDerived } from '../sql/derived-events.ts';
import { listDynamicSegments } from '../segments/segments.ts';
import { noteLostEvents, noteRecorded } from '../subscriptions/upkeep.ts';
import { listedUses, listPinned } from '../sql/pinned-versions.ts';

/** Statistics of events. Counts come from `event_tally`: as exact as the rows, and always fast. */

const waitingTypes: readonly string[] = stepTypesWith(({ rests }) => rests === 'wait');

export interface EventCount {
  name: string;
  count: number;
}

/** A period, both ends included; null: open. */
export interface Period {
  from: Date;
  to: Date | null;
}

/** The names of a project's events, the most frequent first. */
export async function listEventNames(db: Database, projectId: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from event_tally where project_id = ${projectId}
      group by name having sum(count) > 0
      order by sum(count) desc, name collate "C"`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * How often each event was recorded in a period, the most frequent first. Whole UTC days are looked
 * up, the remainders at both ends are counted, by an index that has the names.
 */
export async function listEventCounts(
  db: Database,
  projectId: string,
  period: Period,
): Promise<EventCount[]> {
  const { days, edges } = splitPeriod(period);
  const parts = [
    sql`select name, sum(count)::bigint as count from event_tally
      where project_id = ${projectId} and ${days} group by name`,
    ...edges.flatMap(({ first, end }) => [
      sql`
        select name, (select count(*) from event
            where event.project_id = ${projectId} and event.name = named.name
              and created_at >= ${first} and created_at < ${end})
          from (select distinct name from event_tally
            where project_id = ${projectId} and day = ${utcDay(first)}) named`,
      ...derivedEvents.map(
        (event) => sql`
          select ${sql.lit(event.name)}, count(*)
            from ${momentsOf(projectId, event.moment, sql`at >= ${first} and at < ${end}`)}
            join email on email.id = email_id
            where ${hasDerived(event)}`,
      ),
    ]),
  ];
  const { rows } = await sql<EventCount>`
    select name, sum(count)::float8 as count
      from (${sql.join(parts, sql` union all `)}) part
      group by name having sum(count) > 0
      order by sum(count) desc, name collate "C"`.execute(db);
  return rows;
}

const dayMs = 86_400_000;

/** The whole UTC days of a period, and its remainders: each within one day. */
function splitPeriod({ from, to }: Period) {
  const firstDay = new Date(Math.ceil(from.getTime() / dayMs) * dayMs);
  // The last millisecond is included; `end` is exclusive.
  const end = to && new Date(to.getTime() + 1);
  const endDay = end && new Date(Math.floor(end.getTime() / dayMs) * dayMs);
  if (end && endDay && endDay < firstDay) {
    return { days: sql<boolean>`false`, edges: [{ first: from, end }] };
  }
  const edges = [
    { first: from, end: firstDay },
    ...(end && endDay ? [{ first: endDay, end }] : []),
  ].filter((edge) => edge.first < edge.end);
  const days = endDay
    ? sql<boolean>`day >= ${utcDay(firstDay)} and day < ${utcDay(endDay)}`
    : sql<boolean>`day >= ${utcDay(firstDay)}`;
  return { days, edges };
}

/** A moment's UTC day as a database date. */
export function utcDay(moment: Date): RawBuilder<Date> {
  return sql<Date>`(${moment}::timestamptz at time zone 'UTC')::date`;
}

export interface EventTrend extends EventCount {
  /** The count of the previous period. */
  before: number;
}

/** The most frequent events of `days` UTC days from `from`, and of as many days before. */
export async function listTopEvents(
  db: Database,
  projectId: string,
  given: { from: Date; days: number; limit: number },
): Promise<EventTrend[]> {
  const first = utcDay(given.from);
  const { rows } = await sql<EventTrend>`
    select name,
        coalesce(sum(count) filter (where day >= ${first}), 0)::float8 as count,
        coalesce(sum(count) filter (where day < ${first}), 0)::float8 as before
      from event_tally
      where project_id = ${projectId}
        and day >= ${first} - ${given.days}::int and day < ${first} + ${given.days}::int
      group by name
      having sum(count) filter (where day >= ${first}) > 0
      order by 2 desc, name collate "C"
      limit ${given.limit}`.execute(db);
  return rows;
}

/** How many events of a name a project has, and of how many contacts. */
export async function countEvents(db: Database, projectId: string, name: string) {
  const isNamed = sql`event.project_id = ${projectId} and event.name = ${name}`;
  const derived = derivedNamed(name).map(
    (event) => sql`exists (select from email
      where email.contact_id = contact.id and project_id = ${projectId} and ${hasDerived(event)})`,
  );
  // Of a contact the first message is enough: no index has the contacts of all.
  const contacts =
    derived.length === 0
      ? sql`select count(distinct contact_id)::float8 from event where ${isNamed}`
      : sql`select count(*)::float8 from contact
          where project_id = ${projectId} and (
            exists (select from event where event.contact_id = contact.id and ${isNamed})
            or ${sql.join(derived, sql` or `)})`;
  const { rows } = await sql<{ total: number; contacts: number }>`
    select
      (select coalesce(sum(count), 0)::float8 from event_tally
        where project_id = ${projectId} and name = ${name}) as total,
      (${contacts}) as contacts`.execute(db);
  const [row] = rows;
  return row ?? { total: 0, contacts: 0 };
}

export interface EventUsers {
  segments: { id: string; name: string; condition: Condition }[];
  workflows: { id: string; name: string }[];
  campaigns: { id: string; name: string }[];
}

/**
 * The segments, workflows (as drawn now, enabled or not, or in a version with active executions) and campaigns
 * whose audience may still be fixed that name an event.
 */
export async function findEventUsers(
  db: Database,
  projectId: string,
  eventName: string,
): Promise<EventUsers> {
  const segments = await listDynamicSegments(db, projectId);
  const workflows = await db
    .selectFrom('workflow')
    .select(['id', 'name', 'trigger_schedule'])
    .select(
      sql<boolean>`(trigger_type = 'EVENT' and trigger_event_name = ${eventName}
        or exists (select from workflow_step step
          where step.workflow_id = workflow.id and step.type = ${anyOf(waitingTypes, 'text')}
            and step.config ->> 'eventName' = ${eventName})
        or exit_rules @> ${JSON.stringify([{ eventName }])}::jsonb)`.as('isNamed'),
    )
    .where('project_id', '=', projectId)
    .orderBy('name')
    .orderBy('id')
    .execute();
  const isUser = (row: { isNamed: boolean; trigger_schedule: unknown }) => {
    const { filter } = (row.trigger_schedule ?? {}) as TriggerSchedule;
    return row.isNamed || (filter !== undefined && namesEvent(filter, eventName));
  };
  const inside = (await listPinned(db, projectId, [eventName])).filter(
    ({ step, rule }) =>
      rule?.eventName === eventName ||
      (step && waitingTypes.includes(step.type) && step.config['eventName'] === eventName),
  );
  const campaigns = await db
    .selectFrom('campaign')
    .select(['id', 'name', 'audience_condition as condition'])
    .where('project_id', '=', projectId)
    .where('audience_type', '=', 'FILTERED')
    .where('status', 'in', ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED'])
    .where('audience_condition', 'is not', null)
    .orderBy('name')
    .orderBy('id')
    .execute();
  const using = [
    ...workflows.filter(isUser).map(({ id, name }) => ({ id, name })),
    ...inside.map(({ workflowId, workflowName }) => ({ id: workflowId, name: workflowName })),
  ];
  return {
    segments: segments
      .filter(({ condition }) => namesEvent(condition, eventName))
      .slice(0, listedUses),
    workflows: [...new Map(using.map((one) => [one.id, one])).values()].slice(0, listedUses),
    campaigns: campaigns
      .filter(({ condition }) => namesEvent(condition as unknown as Condition, eventName))
      .map(({ id, name }) => ({ id, name }))
      .slice(0, listedUses),
  };
}

function namesEvent(condition: Condition, eventName: string): boolean {
  return filtersOf(condition).some(({ field: text }) => {
    const field = fieldOf(text);
    return field?.kind === 'event' && field.name === eventName;
  });
}

/** Events deleted in one transaction: some tens of milliseconds of work. */
const deletedAtOnce = 10_000;

/**
 * Deletes the events of a name recorded until now, in many short transactions. It keeps later ones,
 * and those that have just ended a wait: the run must still read them. Returns how many were
 * deleted.
 */
export async function deleteEvents(db: Database, projectId: string, name: string): Promise<number> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db);
  const until = sql`${rows[0]?.now ?? ''}::timestamptz`;
  let deleted = 0;
  // From the newest to the oldest: no page scans the deleted rows of earlier ones again.
  let after = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  for (;;) {
    const pages = await sql<{ deleted: number; at: string | null; id: string | null }>`
      with page as materialized (
        select id, created_at from event
          where project_id = ${projectId} and name = ${name}
            and (created_at, id) < (${after.at}::timestamptz, ${after.id}::uuid)
            and recorded_at <= ${until}
          order by created_at desc, id desc
          limit ${deletedAtOnce}
      ), gone as (
        delete from event using page
          where event.id = page.id
            and event.id not in (select event_id from wait where event_id is not null)
          returning event.id
      )
      select (select count(*)::int from gone) as deleted, created_at::text as at, id
        from (select) as always
        left join lateral (select created_at, id from page order by created_at, id limit 1) last on true`.execute(
      db,
    );
    const { at = null, id = null, deleted: more = 0 } = pages.rows[0] ?? {};
    deleted += more;
    if (at === null || id === null) {
      await noteLostEvents(db, projectId, name);
      return deleted;
    }
    after = { at, id };
  }
}

/**
 * Folds the rows of each key that has fresh ones into one; a key whose sum is 0 is deleted. Exact
 * also when others fold or record at the same time: it sums exactly the rows that it deletes.
 */
export async function foldEventTally(db: Database): Promise<void> {
  await sql`
    with touched as (
      select distinct project_id, name, day from event_tally where fresh
    ), gone as (
      delete from event_tally tally using touched
        where (tally.project_id, tally.name, tally.day)
          = (touched.project_id, touched.name, touched.day)
        returning tally.project_id, tally.name, tally.day, tally.count
    ), noted as (
      -- Of the same rows: none is folded before its subscriptions are looked at.
      ${noteRecorded}
    )
    insert into event_tally (project_id, name, day, count, fresh)
      select project_id, name, day, sum(count), false
        from gone group by 1, 2, 3 having sum(count) <> 0`.execute(db);
}
