import { type RawBuilder, sql } from 'kysely';
import type { HoldoutScope } from '../../domain/holdout/holdout.ts';
import { limits } from '../../domain/limits.ts';
import { withinTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { finite } from '../expressions.ts';
import { derivedNamed, selectDerived } from '../sql/derived-events.ts';

/**
 * Counts of the events of contacts after mail of the hold-out's scope was sent to them, or was not
 * sent because they were held out.
 */
export interface GroupCounts {
  contacts: number;
  /** Contacts with at least one event of the name. */
  converted: number;
  events: number;
  /** Sum of the values of the events. */
  value: number;
}

export interface HoldoutQuery {
  scope: HoldoutScope;
  event: string;
  /** The keys that lead to the value in the data of an event; null: events have no values. */
  valuePath: readonly string[] | null;
  /** Start of the period. Start and end (`to`) are both included. */
  from: Date;
  to: Date;
}

const noCounts: GroupCounts = { contacts: 0, converted: 0, events: 0, value: 0 };

/**
 * Compares the contacts that were held out with those that were sent mail. Reads by index the mail
 * that the project queued in the period, and the events of the name. Sorts both by contact, because
 * a join would take hours if PostgreSQL expected few rows.
 * @throws Problem STATS_TOO_HEAVY
 */
export async function compareGroups(
  db: Database,
  projectId: string,
  query: HoldoutQuery,
): Promise<{ heldOut: GroupCounts; reached: GroupCounts }> {
  const { valuePath, from, to } = query;
  const value = valuePath
    ? sql`coalesce(filter_number(filter_value(data, ${valuePath}::text[])), 0)`
    : sql`0`;
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const { rows } = await sql<GroupCounts & { isHeldOut: boolean; sum: string }>`
      with happened as (
        select contact_id, status = 'FAILED' as is_held_out, 0 as value,
            -- A held-out message does not change again, so updated_at is the time of the
            -- decision.
            case when status = 'FAILED' then updated_at else sent_at end as at
          from email
          where project_id = ${projectId} and created_at between ${from} and ${to}
            and ${isPolicedMail} and ${isInScope(query.scope)}
            and case when status = 'FAILED' then error = 'held_out' else sent_at is not null end
        union all
        select contact_id, null, ${value}, created_at from (${selectNamed(projectId, query)}) as named
      ), compared as (
        select contact_id, bool_or(is_held_out) over by_contact as is_held_out, value,
            is_held_out is null and at > coalesce(min(at) filter (where is_held_out) over by_contact,
              min(at) filter (where is_held_out is not null) over by_contact) as counts
          from happened where at <= ${to} window by_contact as (partition by contact_id)
      ), recipient as (
        select is_held_out, count(*) filter (where counts) as events,
            sum(value) filter (where counts) as value
          from compared where is_held_out is not null group by contact_id, is_held_out
      )
      select is_held_out as "isHeldOut", count(*)::int as contacts,
          count(nullif(events, 0))::int as converted, sum(events)::float8 as events,
          coalesce(round(sum(value), 6), 0)::text as sum
        from recipient group by 1`.execute(tx);
    const groupOf = (isHeldOut: boolean): GroupCounts => {
      const row = rows.find((one) => one.isHeldOut === isHeldOut);
      if (!row) return noCounts;
      const { contacts, converted, events, sum } = row;
      return { contacts, converted, events, value: finite(Number(sum)) };
    };
    return { heldOut: groupOf(true), reached: groupOf(false) };
  });
}

/** The SQL form of `isPoliced` in domain/mail/send-decision.ts. */
const isPolicedMail = sql`message_class = 'MARKETING' and source_type in ('CAMPAIGN', 'WORKFLOW')
  and case when source_type = 'CAMPAIGN' then true else to_email = (select inner_recipient.email
    from contact inner_recipient where inner_recipient.id = email.contact_id) end`;

function isInScope(scope: HoldoutScope): RawBuilder<unknown> {
  if (scope === 'marketing') return sql`true`;
  if ('topicIds' in scope) return sql`topic_id = any(${scope.topicIds}::uuid[])`;
  return sql`case when workflow_execution_id is null then false else (
    select inner_execution.workflow_id from execution inner_execution
      where inner_execution.id = email.workflow_execution_id) = any(${scope.workflowIds}::uuid[]) end`;
}

/** SQL that selects the events of a name in the period, stored and derived ones. */
function selectNamed(
  projectId: string,
  { event, from, to }: Pick<HoldoutQuery, 'event' | 'from' | 'to'>,
): RawBuilder<unknown> {
  const isOf = sql`project_id = ${projectId} and created_at between ${from} and ${to}`;
  const derived = derivedNamed(event).map((one) => {
    const mail = selectDerived(one, sql`${isOf} and ${sql.ref(one.at)} <= ${to}`);
    return sql`union all select contact_id, created_at, data from (${mail}) as derived`;
  });
  return sql`select contact_id, created_at, data from event
      where ${isOf} and name = ${event} and contact_id is not null
    ${sql.join(derived, sql` `)}`;
}
