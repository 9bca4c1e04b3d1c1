import { sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { enqueueExecutions } from '../../outbox/outbox.ts';
import { holdEnabledProject } from '../../projects/projects.ts';
import { type ExecutionRow, activeStatuses } from '../../workflows/executions/executions.ts';
import {
  newSlot,
  startRefusal,
  type StartRefusal,
} from '../../workflows/executions/start-rules.ts';
import { invalidField, notFound, Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { startKeyOf } from '../../../domain/workflow/start.ts';
import { triggerOutput } from '../../../domain/workflow/steps/trigger.ts';

/**
 * Starts an execution by hand, in the caller's transaction.
 * @param given.causedBy the actor who starts it
 * @param given.key the key; undefined: it is read from the context
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED, CONTACT_NOT_FOUND, WORKFLOW_NOT_FOUND,
 *   WORKFLOW_NOT_ENABLED, EXECUTION_EXISTS; VALIDATION_ERROR with the field `key`
 */
export async function insertExecution(
  tx: Database,
  given: {
    projectId: string;
    workflowId: string;
    contactId: string;
    context: Record<string, unknown> | null;
    key?: string | undefined;
    causedBy: string;
  },
): Promise<ExecutionRow> {
  const { projectId, workflowId, contactId, context } = given;
  await holdEnabledProject(tx, projectId);
  if (!(await lockContact(tx, contactId))) throw notFound('CONTACT', contactId);
  // If the workflow is being deleted, this statement waits for the deletion.
  const workflow = await tx
    .selectFrom('workflow')
    .innerJoin('workflow_step as step', 'step.workflow_id', 'workflow.id')
    .select(['workflow.version', 'workflow.name', 'workflow.enabled'])
    .select(['workflow.execution_key', 'workflow.reentry_mode'])
    .select('step.id as trigger_step_id')
    .where('workflow.id', '=', workflowId)
    .where('step.type', '=', 'TRIGGER')
    .forKeyShare('workflow')
    .executeTakeFirst();
  if (!workflow) throw notFound('WORKFLOW', workflowId);
  if (!workflow.enabled) throw new Problem('WORKFLOW_NOT_ENABLED');
  const key = givenKey(workflow.execution_key, given);
  const slot = await placeOf(tx, { workflowId, contactId, key });
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
      key,
      slot,
      caused_by: given.causedBy,
    })
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
  await insertTriggerStep(tx, execution, workflow.trigger_step_id);
  await enqueueExecutions(tx, 'start', [execution]);
  return execution;
}

/**
 * Returns the key of a start by hand: the given key, or else the key in the context; null: the
 * workflow has no keys.
 * @throws Problem VALIDATION_ERROR with the field `key`
 */
export function givenKey(
  executionKey: string | null,
  { key, context }: { key?: string | undefined; context: Record<string, unknown> | null },
): string | null {
  if (key !== undefined) {
    if (executionKey !== null) return key;
    throw invalidField('key', 'not_allowed', 'The workflow has no executionKey. Leave `key` out.');
  }
  const found = startKeyOf(executionKey, context);
  if ('key' in found) return found.key;
  const path = executionKey?.replace(/^event/, 'context');
  throw found.fault === 'no_key'
    ? invalidField(
        'key',
        'required',
        `Is required, because ${path} is not a text, number or boolean.`,
      )
    : invalidField(
        'key',
        'too_big',
        `Is required, because ${path} has more than ${limits.executionKeyChars} characters.`,
      );
}

/**
 * Returns the `slot` of a new execution: its place among the active executions of its contact.
 * @throws Problem EXECUTION_EXISTS
 */
async function placeOf(
  tx: Database,
  start: { workflowId: string; contactId: string; key: string | null },
): Promise<string> {
  const key = sql`${start.key}::text`;
  const { rows } = await sql<{ refusal: StartRefusal | null; mode: string; slot: string }>`
    select ${startRefusal('workflow', { contactId: sql`${start.contactId}::uuid`, key })} as refusal,
        reentry_mode as mode, ${newSlot('workflow', key)} as slot
      from workflow where id = ${start.workflowId}`.execute(tx);
  // The caller has locked the workflow, so it exists.
  const { refusal, mode, slot } = rows[0]!;
  if (refusal === null) return slot;
  const isActiveOne = refusal === 'too_many' || (refusal === 'exists' && mode !== 'once');
  // The limit of active executions counts those of all keys.
  const hasKey = start.key !== null && refusal !== 'too_many';
  const earlier = await tx
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', start.workflowId)
    .where('contact_id', '=', start.contactId)
    .$if(hasKey, (query) => query.where('key', '=', start.key))
    .$if(isActiveOne, (query) => query.where('status', 'in', activeStatuses))
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const reason = refusal === 'exists' && isActiveOne ? 'active' : refusal;
  throw executionExists(earlier, reason, start.key);
}

/**
 * The texts of a refused start. `ofKey`: ` with the key "1"`, or empty in a workflow without keys.
 */
const existsTexts = {
  exists: (ofKey: string) =>
    `The contact has been in this workflow${ofKey} before, and may enter it only once.`,
  active: (ofKey: string) => `The contact has an active execution${ofKey} in this workflow.`,
  too_soon: (ofKey: string) =>
    `The contact has started this workflow${ofKey} less than \`reentry.minIntervalSeconds\` ago.`,
  too_many: () =>
    `The contact has ${limits.parallelExecutions} active executions in this workflow, which is the maximum.`,
};

function executionExists(
  earlier: { id: string; status: string } | undefined,
  reason: keyof typeof existsTexts,
  key: string | null,
): Problem {
  const details = earlier && { executionId: earlier.id, status: earlier.status };
  return new Problem('EXECUTION_EXISTS', {
    message: existsTexts[reason](key === null ? '' : ` with the key "${key}"`),
    // The end of the earlier execution would not let the contact in.
    ...(reason === 'exists' && {
      suggestion: 'Change `reentry` with PATCH /workflows/{id} to let contacts in again.',
    }),
    ...(details && { details }),
  });
}

/** Serializes starts for a contact, by hand or by event. Returns true if the contact exists. */
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
 * Finds the column `execution.slot` for a failed execution that becomes active again. The caller has
 * locked the contact. Two active executions of a contact and workflow cannot have one slot.
 * @returns null: the execution has no slot, so it excludes no other execution
 * @throws Problem EXECUTION_EXISTS while another execution of its contact, workflow and key is
 *   active; in a workflow with parallel executions, while the maximum number of them is active
 */
export async function placeAgain(
  tx: Database,
  execution: Pick<ExecutionRow, 'id' | 'workflow_id' | 'contact_id' | 'key' | 'slot'>,
): Promise<string | null> {
  const { workflow_id: workflowId, contact_id: contactId, key, slot } = execution;
  if (slot === null) return null;
  const workflow = await tx
    .selectFrom('workflow')
    .select('reentry_mode')
    .where('id', '=', workflowId)
    .executeTakeFirst();
  const isParallel = workflow?.reentry_mode === 'parallel' && key === null;
  const others = await tx
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', workflowId)
    .where('contact_id', '=', contactId)
    .where('status', 'in', activeStatuses)
    .where('id', '<>', execution.id)
    .$if(!isParallel, (query) => query.where('slot', 'is not', null))
    .$if(!isParallel, (query) => query.where('key', 'is not distinct from', key))
    .orderBy('started_at', 'desc')
    .limit(isParallel ? limits.parallelExecutions : 1)
    .execute();
  if (others.length === (isParallel ? limits.parallelExecutions : 1)) {
    throw executionExists(others[0], isParallel ? 'too_many' : 'active', key);
  }
  return isParallel ? execution.id : slot;
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
