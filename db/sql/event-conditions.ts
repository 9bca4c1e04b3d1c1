import { type RawBuilder, sql } from 'kysely';
import type { ContactValues } from '../../domain/filter/evaluate.ts';

/**
 * The conditions of exit rules and waits on events, and their inputs: events, contacts, contexts.
 */

/**
 * SQL that is true if an exit rule of any workflow uses an event; null or false otherwise.
 * @param event the alias of a row with `project_id` and `name`.
 */
export function isExitEvent(event: string): RawBuilder<boolean | null> {
  return isListed('exit_event', event);
}

/** SQL that is true if an event is the goal of a campaign or workflow; null or false otherwise. */
export function isGoalEvent(event: string): RawBuilder<boolean | null> {
  return isListed('goal', event);
}

/**
 * SQL that is true if a table has the project and the name of an event. Reads only the next entry
 * of the index. With a condition on the project instead, the planner may read the whole table when
 * another project has thousands of rows.
 */
function isListed(table: 'exit_event' | 'goal', event: string): RawBuilder<boolean | null> {
  const key = sql`(${sql.ref(`${event}.project_id`)}, ${sql.ref(`${event}.name`)})`;
  return sql`(
    select (inner_next.project_id, inner_next.event_name) = ${key} from ${sql.table(table)} inner_next
      where (inner_next.project_id, inner_next.event_name) >= ${key}
      order by inner_next.project_id, inner_next.event_name limit 1)`;
}

/**
 * SQL that is true if an execution is active, belongs to the contact of an event, and an exit rule
 * of its workflow uses the event. The search starts from the contact, because a workflow may have a
 * million executions, and a project ten thousand workflows with a rule. Both parameters are
 * aliases.
 */
export function mayBeEnded(execution: string, event: string): RawBuilder<boolean> {
  const ofExecution = (name: string) => sql.ref(`${execution}.${name}`);
  const ofEvent = (name: string) => sql.ref(`${event}.${name}`);
  return sql<boolean>`(${ofExecution('contact_id')} = ${ofEvent('contact_id')}
    and ${ofExecution('status')} in ('RUNNING', 'WAITING')
    and (select true from exit_event inner_exit
      where inner_exit.project_id = ${ofEvent('project_id')}
        and inner_exit.event_name = ${ofEvent('name')}
        and inner_exit.workflow_id = ${ofExecution('workflow_id')}))`;
}

export interface EventScope {
  name: string;
  data: Record<string, unknown> | null;
  contact: ContactValues;
}

/** Events with their contacts, by the event's id. Times are texts. */
export type EventScopesJson = Record<
  string,
  Omit<EventScope, 'contact'> & {
    contact: Omit<ContactValues, 'createdAt' | 'updatedAt'> & {
      createdAt: string;
      updatedAt: string;
    };
  }
>;

/** SQL that selects events by id, with their contacts: a JSON object, `EventScopesJson`. */
export function eventScopes(eventIds: RawBuilder<unknown>): RawBuilder<EventScopesJson> {
  return sql`(
    select coalesce(jsonb_object_agg(inner_event.id, jsonb_build_object('name', inner_event.name,
        'data', inner_event.data, 'contact', jsonb_build_object('email', inner_contact_of.email,
          'subscribed', inner_contact_of.subscribed, 'data', inner_contact_of.data,
          'createdAt', inner_contact_of.created_at, 'updatedAt', inner_contact_of.updated_at))), '{}')
      from event inner_event join contact inner_contact_of on inner_contact_of.id = inner_event.contact_id
      where inner_event.id ${eventIds})`;
}

export function readEventScopes(json: EventScopesJson): Map<string, EventScope> {
  return new Map(
    Object.entries(json).map(([id, { contact, ...event }]) => {
      const { createdAt, updatedAt } = contact;
      const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
      return [id, { ...event, contact: { ...contact, ...times } }];
    }),
  );
}

/** JSON path of the names that begin with `context.`, anywhere in conditions. */
const contextNames = sql.lit('$.** ? (@ starts with "context.")');

/** SQL that is true if conditions name the context of an execution. */
export function namesContext(conditions: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`jsonb_path_exists(${conditions}, ${contextNames})`;
}

/**
 * SQL that selects the part of an execution's context that conditions name; null: they name no
 * part. For example, it is `{"orderId": 7}` for conditions on `context.orderId`. The whole context
 * is not read, because it may have 64 KB, and an event may be checked against a thousand
 * executions.
 * @param conditions JSON with the names of fields anywhere in it
 */
export function namedContext(
  context: RawBuilder<unknown>,
  conditions: RawBuilder<unknown>,
): RawBuilder<Record<string, unknown> | null> {
  return sql`(
    select jsonb_object_agg(inner_named.key, ${context} -> inner_named.key)
      from (select distinct split_part(inner_name #>> '{}', '.', 2) as key
        from jsonb_path_query(${conditions}, ${contextNames}) inner_name) inner_named)`;
}
