import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { failWaitingMail } from '../../emails/endings.ts';
import { signalExecutions } from '../../outbox/outbox.ts';
import {
  eventScopes,
  type EventScopesJson,
  mayBeEnded,
  namedContext,
  readEventScopes,
} from '../../sql/event-conditions.ts';
import { closingSteps } from '../../workflows/executions/closing.ts';
import { type ExitRule, exitReasonOf } from '../../../domain/workflow/exit-rules.ts';
import { among } from '../../expressions.ts';

/** Executions that end because an event meets an exit rule of the version they run on. */

/** Maximum number of events that are in memory at once, with their data, contacts and rules. */
const pageSize = 100;

/**
 * Ends the executions for which just recorded events meet an exit rule, in the caller's
 * transaction, which has locked the contacts. An execution with a running step ends with this step
 * (`exit_pending`).
 * @param eventIds at most one of each contact
 */
export async function applyExitRules(tx: Database, eventIds: readonly string[]): Promise<void> {
  for (let from = 0; from < eventIds.length; from += pageSize) {
    const met = metBy(await findCandidates(tx, eventIds.slice(from, from + pageSize)));
    if (met.length > 0) await signalExecutions(tx, await exitExecutions(tx, met));
  }
}

/** Active executions on versions with exit rules, and the data that decide which of them end. */
interface Candidates {
  executions: {
    id: string;
    eventId: string;
    /** Key in `rules` of the exit rules of the execution's version. */
    rules: number;
    /** The fields of the execution's context that the rules name; null: none. */
    context: Record<string, unknown> | null;
  }[];
  events: EventScopesJson;
  /** The exit rules of each version, by the key that `executions` refers to. */
  rules: Record<number, ExitRule[]>;
}

/**
 * Reads all candidates in one statement, with the rules of each version and each event only once.
 * It reads only the rules of a graph, because a graph may have a megabyte.
 */
async function findCandidates(tx: Database, eventIds: readonly string[]): Promise<Candidates> {
  // JSON hides the number of elements from the planner, so one plan fits all numbers.
  const { rows } = await sql<Candidates>`
    with candidate as materialized (
      select execution.id, execution.workflow_id, execution.workflow_version as version,
          execution.context, event.id as event_id
        from jsonb_array_elements_text(${JSON.stringify(eventIds)}::jsonb) as given(id)
        join event on event.id = given.id::uuid
        join execution on ${mayBeEnded('execution', 'event')}
    ), ruled as materialized (
      select used.workflow_id, used.version, stored.rules, row_number() over () as number
        from (select distinct workflow_id, version from candidate) as used
        cross join lateral (
          select coalesce(difference, whole) -> 'exitRules' as rules from workflow_graph stored
            where stored.workflow_id = used.workflow_id and stored.version = used.version
            offset 0) as stored
        where stored.rules is not null
    )
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', candidate.id, 'eventId', event_id,
            'rules', number, 'context', ${namedContext(sql`candidate.context`, sql`ruled.rules`)})), '[]')
          from candidate join ruled using (workflow_id, version)) as executions,
      ${eventScopes(sql`in (select event_id from candidate)`)} as events,
      (select coalesce(jsonb_object_agg(number, rules), '{}') from ruled) as rules`.execute(tx);
  return rows[0] ?? { executions: [], events: {}, rules: {} };
}

/** Returns the executions for which an event meets a rule of their version. */
function metBy({ executions, events, rules }: Candidates): ExitingExecution[] {
  const scopes = readEventScopes(events);
  return executions.flatMap(({ id, eventId, rules: number, context }) => {
    const event = scopes.get(eventId);
    if (!event) return [];
    const reason = exitReasonOf(rules[number] ?? [], event, { contact: event.contact, context });
    return reason === null ? [] : [{ id, reason }];
  });
}

export interface ExitingExecution {
  id: string;
  reason: string;
}

/**
 * Ends the given executions that are active, in the transaction of a caller who has locked their
 * contacts. An execution with a running step ends with this step, for the reason that was met
 * first. Only a webhook step is committed as running. Returns the executions that have ended.
 */
export async function exitExecutions(
  tx: Database,
  given: readonly ExitingExecution[],
): Promise<{ id: string; project_id: string }[]> {
  const ids = given.map(({ id }) => id);
  const { rows } = await sql<{ id: string; project_id: string }>`
    with met as (
      select execution.id, coalesce(execution.exit_pending, given.reason) as reason,
          exists (select from step_execution step where step.execution_id = execution.id
            and step.status in ('RUNNING', 'PENDING')) as is_at_work
        from unnest(${ids}::uuid[],
            ${given.map(({ reason }) => reason)}::text[]) as given(id, reason)
        join execution on execution.id = given.id
        where ${among('execution', ids)}
          and execution.status in ('RUNNING', 'WAITING')
        order by execution.id
        for no key update of execution
    ), pending as (
      update execution set exit_pending = met.reason, updated_at = now()
        from met where execution.id = met.id and met.is_at_work and execution.exit_pending is null
    ), ended as (
      update execution set status = 'EXITED', exit_reason = met.reason, exit_pending = null,
          held_at = null, completed_at = clock_timestamp(), updated_at = now()
        from met where execution.id = met.id and not met.is_at_work
        returning execution.id, execution.project_id
    ), ${closingSteps()}
    select id, project_id from ended`.execute(tx);
  const ended = rows.map(({ id }) => id);
  await failWaitingMail(tx, ended, 'execution_ended');
  return rows;
}
