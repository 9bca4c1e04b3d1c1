import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { newSlot, startRefusal } from '../../workflows/executions/start-rules.ts';
import { startKeyOf, type NotStartedReason } from '../../../domain/workflow/start.ts';

/**
 * Starts for which the workflow alone does not decide: the data of the event must be read, or a refusal
 * leaves a note. They are chosen here, and made by the statement in `record-events.ts`.
 */

/** A workflow that an event triggers, with the key of the execution. */
export interface ChosenStart {
  event_id: string;
  workflow_id: string;
  key: string | null;
  /** Why it does not start; null: the rules of re-entry decide. */
  fault: NotStartedReason | null;
}

/** SQL that is true for a workflow, in the row `workflow`, whose starts must be chosen. */
export const mustBeChosen = sql<boolean>`(workflow.execution_key is not null
  or workflow.reentry_mode = 'parallel')`;

/**
 * SQL that is true for a workflow, in the row `workflow`, that an event triggers.
 * @param event the alias of the event's row
 */
export function isTriggeredBy(event: string) {
  return sql<boolean>`workflow.trigger_event_name = ${sql.ref(`${event}.name`)}
    and workflow.enabled and workflow.trigger_type = 'EVENT'`;
}

/** Chooses the starts of just recorded events of one project. */
export async function chooseStarts(
  tx: Database,
  projectId: string,
  eventIds: readonly string[],
): Promise<ChosenStart[]> {
  const { rows } = await sql<{
    id: string;
    data: Record<string, unknown> | null;
    workflows: { id: string; executionKey: string | null }[] | null;
  }>`
    select event.id, event.data, (
        select jsonb_agg(jsonb_build_object('id', workflow.id, 'executionKey', workflow.execution_key))
          from workflow where workflow.project_id = ${projectId} and ${isTriggeredBy('event')}
      ) as workflows
      from event where event.id = ${anyOf(eventIds)} and event.contact_id is not null`.execute(tx);
  return rows.flatMap(({ id, data, workflows }) =>
    (workflows ?? []).map((workflow): ChosenStart => {
      const found = startKeyOf(workflow.executionKey, data);
      const outcome = 'key' in found ? { ...found, fault: null } : { key: null, ...found };
      return { event_id: id, workflow_id: workflow.id, ...outcome };
    }),
  );
}

/** SQL of a table `judged`: the chosen starts, each with the reason why it is refused, if it is. */
export function judging(chosen: readonly ChosenStart[]) {
  const start = { contactId: sql`recorded.contact_id`, key: sql`given.key` };
  return sql`judged as materialized (
      select given.event_id, given.workflow_id, given.key,
          coalesce(given.fault, ${startRefusal('workflow', start)}) as refusal,
          ${newSlot('workflow', sql`given.key`)} as slot
        from jsonb_to_recordset(${JSON.stringify(chosen)}::jsonb)
          as given(event_id uuid, workflow_id uuid, key text, fault text)
        join recorded on recorded.id = given.event_id
        join workflow on workflow.id = given.workflow_id
    ), noted as (
      insert into not_started (project_id, workflow_id, contact_id, event_name, reason, at)
        select workflow.project_id, workflow.id, recorded.contact_id, recorded.name,
            judged.refusal, recorded.created_at
          from judged join recorded on recorded.id = judged.event_id
          join workflow on workflow.id = judged.workflow_id
          join project on project.id = workflow.project_id and project.disabled_reason is null
          where judged.refusal in ('no_key', 'key_too_long', 'too_many')
    )`;
}
