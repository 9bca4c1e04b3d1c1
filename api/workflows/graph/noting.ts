import type { Database } from '../../../db/database.ts';
import { exitRulesOf, goalOf, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import { changesBetween } from '../../access/changes.ts';
import type { NotedEvent } from '../../access/security-log.ts';
import type { Call } from '../../http/endpoint.ts';
import { triggerConfig } from './record.ts';
import { presentStart } from './starts.ts';

/** The parts of a call that a change of workflows needs. */
export type WorkflowCall = Pick<
  Call<'secret', unknown, unknown, unknown>,
  'db' | 'note' | 'caller'
>;

/** Settings with conditions, which may contain the address of a contact. */
const secret = ['triggerConfig', 'exitRules'];

/**
 * Notes that a workflow was changed, unless its version and its settings are the same as before.
 * @param more the changed fields of a step, and the ids of changed parts of the workflow
 */
export async function noteWorkflowChange(
  { note, caller: { projectId } }: Pick<WorkflowCall, 'note' | 'caller'>,
  tx: Database,
  { before, after }: { before: WorkflowRow; after: WorkflowRow },
  more: Pick<NotedEvent, 'changes' | 'details'> = {},
): Promise<void> {
  const settings = changesBetween(settingsOf(before), settingsOf(after), { secret });
  if (after.version === before.version && settings.length === 0) return;
  const changes = [...settings, ...(more.changes ?? [])];
  await note(
    {
      event: 'workflow.changed',
      projectId,
      target: { type: 'workflow', id: after.id },
      changes: changes.length > 0 ? changes : null,
      details: { version: after.version, ...more.details },
    },
    tx,
  );
}

function settingsOf(row: WorkflowRow): object {
  return {
    name: row.name,
    description: row.description,
    enabled: row.enabled,
    paused: row.paused_at !== null,
    triggerType: row.trigger_type,
    triggerConfig: triggerConfig(row),
    executionKey: row.execution_key,
    reentry: presentStart(row).reentry,
    exitRules: exitRulesOf(row),
    goal: goalOf(row),
  };
}
