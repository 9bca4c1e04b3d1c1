import { type RawBuilder, sql } from 'kysely';
import { columnList } from '../columns.ts';
import { isoTime } from '../expressions.ts';
import type { Moment } from './mail-moments.ts';
import { itemsMatch } from './subscribed-events.ts';

/**
 * Events of campaign mail that need not be stored, because the message's row has the times when it
 * was sent and delivered. Such an event is stored only if a workflow, a wait, an exit rule or a
 * goal needs it. All other readers of events also read derived events; event subscriptions find
 * them by `derived_event_log`.
 */

export interface DerivedEvent {
  name: 'email.sent' | 'email.delivery';
  /** The event's bit in `email.derived_events`. */
  bit: 1 | 2;
  /** The column with the time of the event. */
  at: 'sent_at' | 'delivered_at';
  /** The name of the event's kind in `email_moment`. */
  moment: Moment;
  /** The field of the event's data that has its time. */
  field: 'sentAt' | 'deliveredAt';
  /**
   * Version of the event's id, a UUID (RFC 9562). Apart from the version, this id equals the id of
   * the message, which has version 7. Events of the same moment are ordered by id: sent, then
   * delivered.
   */
  version: '6' | '8';
  /** SQL that is true for messages that have the time of the event. */
  happened: RawBuilder<boolean>;
}

export const derivedEvents: readonly DerivedEvent[] = [
  {
    name: 'email.sent',
    bit: 1,
    at: 'sent_at',
    moment: 'sent',
    field: 'sentAt',
    version: '6',
    happened: sql`sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND'`,
  },
  {
    name: 'email.delivery',
    bit: 2,
    at: 'delivered_at',
    moment: 'delivered',
    field: 'deliveredAt',
    version: '8',
    happened: sql`delivered_at is not null`,
  },
];

/** Returns the derived events of a name; undefined: of all names. */
export function derivedNamed(name: string | undefined): readonly DerivedEvent[] {
  return derivedEvents.filter((event) => name === undefined || event.name === name);
}

/**
 * The names of all derived events as SQL rows. These are literals, because PostgreSQL would plan a
 * statement with parameters at each execution.
 */
const derivedNames = sql.join(derivedEvents.map(({ name }) => sql`(${sql.lit(name)}::text)`));

export function hasDerived({ bit, happened }: DerivedEvent): RawBuilder<boolean> {
  return sql`${happened} and derived_events & ${sql.lit(bit)} <> 0`;
}

/** The events of messages that need not be stored. */
export interface Derivable {
  /** The sum of the bits (1, 2) of these events. */
  bits: number;
  /** The subscriptions that deliver them. */
  subscriptionIds: readonly string[];
}

/**
 * SQL that selects the derived events that need not be stored, because no workflow, exit rule, goal
 * or wait uses them. It has the columns `name`, and `"subscriptionIds"`: the subscriptions that
 * deliver the event, null for none. Lock the contacts in an earlier statement: otherwise a wait that
 * needs the event may begin meanwhile.
 */
export function selectDerivable(
  projectId: string,
  contactIds: readonly string[],
): RawBuilder<unknown> {
  return sql`
    select name, (select array_agg(id) from event_subscription
          where project_id = ${projectId} and enabled
            and ${itemsMatch(sql`events`, sql`named.name`)}) as "subscriptionIds"
      from (values ${derivedNames}) as named(name)
      where not exists (select from workflow
          where project_id = ${projectId} and trigger_event_name = named.name
            and enabled and trigger_type = 'EVENT')
        and not exists (select from exit_event
          where project_id = ${projectId} and event_name = named.name)
        and not exists (select from goal
          where project_id = ${projectId} and event_name = named.name)
        and not exists (select from unnest(${contactIds}::uuid[]) as receiver(id)
          join wait on wait.contact_id = receiver.id
          where wait.event_name = named.name and wait.event_id is null)`;
}

/** SQL, as a part of a statement, that lets subscriptions read the derived events of messages. */
export function loggingDerived(
  projectId: string,
  from: string,
  where: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> {
  return sql`insert into derived_event_log (project_id, email_ids)
    select ${projectId}::uuid, array_agg(id order by id) from ${sql.table(from)}
      where derived_events <> 0 and ${where} having count(*) > 0`;
}

/** SQL that makes the id of a derived event from the id of its message. */
export function derivedId({ version }: DerivedEvent, emailId: RawBuilder<unknown>) {
  return sql<string>`overlay(${emailId}::text placing ${sql.lit(version)} from 15 for 1)::uuid`;
}

/**
 * SQL, as a part of a statement, that counts the derived events of messages.
 * @param sign -1 if the messages were deleted, so that their events no longer count.
 */
export function tallying(from: string, sign: 1 | -1 = 1): RawBuilder<unknown> {
  const parts = derivedEvents.map(
    ({ name, bit, at }) => sql`
      select project_id, ${sql.lit(name)}, (${sql.ref(at)} at time zone 'UTC')::date, ${sql.lit(sign)} * count(*)
        from ${sql.table(from)} where derived_events & ${sql.lit(bit)} <> 0 group by 1, 3`,
  );
  return sql`insert into event_tally (project_id, name, day, count) ${sql.join(parts, sql` union all `)}`;
}

/**
 * SQL that selects derived events, with the columns of `event`.
 * @param where a condition on `email`.
 * @param from `email`, or a query with the same columns and more.
 */
export function selectDerived(
  event: DerivedEvent,
  where: RawBuilder<unknown>,
  from: RawBuilder<unknown> = sql`email`,
): RawBuilder<unknown> {
  const at = sql.ref(event.at);
  return sql`
    select ${derivedId(event, sql`id`)} as id, project_id,
        contact_id, ${sql.lit(event.name)} as name,
        jsonb_build_object('subject', subject, 'from', from_email, 'fromName', from_name,
          'messageId', message_id, 'emailId', id, 'templateId', template_id,
          'campaignId', campaign_id, 'sourceType', source_type,
          ${sql.lit(event.field)}, ${isoTime(at)}) as data,
        ${at} as created_at, ${at} as recorded_at, id as email_id, null::xid8 as tx
      from ${from} where ${hasDerived(event)} and ${where}`;
}

/**
 * Returns the message of a derived event, by the id of the event; null for the id of a stored
 * event.
 */
export function derivedFrom(id: string): { event: DerivedEvent; emailId: string } | null {
  const event = derivedEvents.find(({ version }) => id[14] === version);
  return event ? { event, emailId: `${id.slice(0, 14)}7${id.slice(15)}` } : null;
}

/**
 * SQL that selects events by id, with the columns of `event`: stored events, and those derived from
 * a message (`email.sent`, `email.delivery`). An unknown id gives no row.
 */
export function selectEvents(ids: readonly string[]): RawBuilder<unknown> {
  const parts = derivedEvents.flatMap((event) => {
    const emailIds = ids.flatMap((id) => {
      const from = derivedFrom(id);
      return from?.event === event ? from.emailId : [];
    });
    if (emailIds.length === 0) return [];
    const mail = selectDerived(event, sql`email.id = any(${emailIds}::uuid[])`);
    return [sql`union all select ${columnList('event', 'mail')} from (${mail}) as mail`];
  });
  return sql`select ${columnList('event')} from event where id = any(${ids}::uuid[])
    ${sql.join(parts, sql` `)}`;
}
