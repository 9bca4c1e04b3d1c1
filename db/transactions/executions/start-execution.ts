import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { enqueueExecutions } from '../../outbox/outbox.ts';
import { holdEnabledProject } from '../../projects/projects.ts';
import { type ExecutionRow, activeStatuses } from '../../workflows/executions/executions.ts';
import { notFound, Problem } from '../../../domain/errors.ts';
import { triggerOutput } from '../../../domain/workflow/steps/trigger.ts';

/**
 * Starts an execution by hand, in the caller's transaction.
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED, CONTACT_NOT_FOUND, WORKFLOW_NOT_FOUND,
 *   WORKFLOW_NOT_ENABLED, EXECUTION_EXISTS.
 */
export async function insertExecution(
  tx: Database,
  given: {
    projectId: string;
    workflowId: string;
    contactId: string;
    context: Record<string, unknown> | null;
  },
): Promise<ExecutionRow> {
  const { projectId, workflowId, contactId, context } = given;
  await holdEnabledProject(tx, projectId);
  if (!(await lockContact(tx, contactId))) throw notFound('CONTACT', contactId);
  // Waits for a deletion of the workflow that is in progress.
  const workflow = await tx
    .selectFrom('workflow')
    .innerJoin('workflow_step as step', 'step.workflow_id', 'workflow.id')
    .select(['workflow.version', 'workflow.name', 'workflow.enabled', 'workflow.allow_reentry'])
    .select('step.id as trigger_step_id')
    .where('workflow.id', '=', workflowId)
    .where('step.type', '=', 'TRIGGER')
    .forKeyShare('workflow')
    .executeTakeFirst();
  if (!workflow) throw notFound('WORKFLOW', workflowId);
  if (!workflow.enabled) throw new Problem('WORKFLOW_NOT_ENABLED');
  await refuseSecond(tx, given, workflow.allow_reentry ? activeStatuses : null);
  const execution = await tx
    .insertInto('execution')
    .values({
      project_id: projectId,
      workflow_id: workflowId,
      workflow_version: workflow.version,
      workflow_name: workflow.name,
      contact_id: contactId,
      current_step_id: workflow.trigger_step_id,
      context: context && JSON.stringify(context),
    })
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
  await insertTriggerStep(tx, execution, workflow.trigger_step_id);
  await enqueueExecutions(tx, 'start', [execution]);
  return execution;
}

/** Serializes starts for a contact, by hand or by event. Returns whether the contact exists. */
async function lockContact(tx: Database, id: string): Promise<boolean> {
  const contact = await tx
    .selectFrom('contact')
    .select('id')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return contact !== undefined;
}

/**
 * @param given.besides an execution to ignore.
 * @param statuses of the executions that conflict; null: all do.
 * @throws Problem EXECUTION_EXISTS naming the newest conflicting one.
 */
async function refuseSecond(
  tx: Database,
  given: { workflowId: string; contactId: string; besides?: string },
  statuses: typeof activeStatuses | null,
): Promise<void> {
  const earlier = await tx
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', given.workflowId)
    .where('contact_id', '=', given.contactId)
    .$if(statuses !== null, (query) => query.where('status', 'in', statuses ?? []))
    .$if(given.besides !== undefined, (query) => query.where('id', '<>', given.besides ?? ''))
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!earlier) return;
  const { id: executionId, status } = earlier;
  throw new Problem('EXECUTION_EXISTS', { details: { executionId, status } });
}

/** @throws Problem EXECUTION_EXISTS while the contact of an execution has another active one. */
export async function refuseActive(
  tx: Database,
  execution: Pick<ExecutionRow, 'id' | 'workflow_id' | 'contact_id'>,
): Promise<void> {
  const { id: besides, workflow_id: workflowId, contact_id: contactId } = execution;
  await refuseSecond(tx, { workflowId, contactId, besides }, activeStatuses);
}

/** The trigger step of an execution is complete from the start. */
async function insertTriggerStep(
  tx: Database,
  execution: ExecutionRow,
  stepId: string,
): Promise<void> {
  const { id, project_id, started_at } = execution;
  await tx
    .insertInto('step_execution')
    .values({
      project_id,
      execution_id: id,
      step_id: stepId,
      status: 'COMPLETED',
      output: JSON.stringify(triggerOutput(null, started_at)),
      started_at,
      completed_at: started_at,
    })
    .execute();
}
