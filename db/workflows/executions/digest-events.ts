import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { reconcileWhenWaiting } from './reconciliation.ts';

/**
 * Events that open digests collect: rows of `digest_event`. digests.ts opens and closes digests.
 */

/**
 * Adds events to open digests, in the caller's transaction, which has locked the contact. A digest
 * closes when it has the number of events for which it waits.
 * @param events each with the step execution of the digest that collects it; `recordedAt` may be
 * missing for a stored event
 * @returns the executions whose digest has reached its number
 */
export async function takeEvents(
  tx: Database,
  events: readonly { id: string; stepExecutionId: string; recordedAt?: string }[],
): Promise<{ id: string; project_id: string }[]> {
  if (events.length === 0) return [];
  const { rows } = await sql<{ id: string; project_id: string }>`
    with taken as (
      insert into digest_event (project_id, contact_id, event_id, step_id, step_execution_id,
          recorded_at)
        select wait.project_id, wait.contact_id, given.id, step.step_id, step.id,
            coalesce(given."recordedAt", event.recorded_at)
          from jsonb_to_recordset(${JSON.stringify(events)}::jsonb)
            as given(id uuid, "stepExecutionId" uuid, "recordedAt" timestamptz)
          left join event on event.id = given.id
          join wait on wait.step_execution_id = given."stepExecutionId"
          join step_execution step on step.id = wait.step_execution_id
        on conflict do nothing
        returning step_execution_id
    ), counted as (
      update wait set digest_count = digest_count + more.count,
          expires_at = case when ${isFull(sql`digest_count + more.count`)}
            then least(expires_at, clock_timestamp()) else expires_at end
        from (select step_execution_id, count(*) as count from taken group by 1) more
        where wait.step_execution_id = more.step_execution_id
        returning wait.step_execution_id, wait.execution_id,
          ${isFull(sql`digest_count`)} and not ${isFull(sql`digest_count - more.count`)} as is_full
    ), steps as (
      update step_execution set execute_after = now(), updated_at = now()
        from counted where step_execution.id = counted.step_execution_id and is_full
    )
    update execution set next_reconcile_at = ${reconcileWhenWaiting(sql`now()`)}, updated_at = now()
      from counted where execution.id = counted.execution_id and is_full
      returning execution.id, execution.project_id`.execute(tx);
  return rows;
}

/**
 * Removes deleted events from open digests. Call it after the deletion, because a digest may
 * collect an event until the event is deleted.
 */
export async function leaveDigests(
  tx: Database,
  events: readonly { id: string; contactId: string | null }[],
): Promise<void> {
  await sql`
    with gone as (
      delete from digest_event
        using jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as event(id uuid, "contactId" uuid)
        where digest_event.contact_id = event."contactId" and digest_event.event_id = event.id
        returning step_execution_id
    )
    update wait set digest_count = digest_count - less.count
      from (select step_execution_id, count(*) as count from gone group by 1) less
      where wait.step_execution_id = less.step_execution_id`.execute(tx);
}

/** SQL that is true if a digest, in the row `wait`, closes when it has `count` events. */
function isFull(count: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${count} >= (wait.digest ->> 'max')::integer, false)`;
}

/**
 * SQL that selects the values by which an open digest decides which events it collects: its
 * `candidate`, a `DigestCandidate`, and when its execution began. Selects no row if the wait is no
 * digest, or if the workflow is deleted.
 * @param wait an alias of the row of `wait`
 */
export function digestOf(wait: string): RawBuilder<unknown> {
  const ofWait = (name: string) => sql.ref(`${wait}.${name}`);
  return sql`(
            select inner_digesting.started_at as began_at, jsonb_build_object(
                'workflowId', inner_digesting.workflow_id, 'stepId', inner_digest_step.step_id,
                'key', inner_digesting.key, 'executionKey', inner_digest_workflow.execution_key,
                'isOfTrigger', inner_digest_workflow.trigger_type = 'EVENT'
                  and inner_digest_workflow.trigger_event_name is not distinct from ${ofWait('event_name')}
              ) as candidate
              from step_execution inner_digest_step
              join execution inner_digesting on inner_digesting.id = inner_digest_step.execution_id
              join workflow inner_digest_workflow on inner_digest_workflow.id = inner_digesting.workflow_id
              -- Null if the wait is no digest, so that PostgreSQL looks up nothing more: a contact
              -- may have a thousand such waits.
              where inner_digest_step.id =
                case when ${ofWait('digest')} is not null then ${ofWait('step_execution_id')} end)`;
}
