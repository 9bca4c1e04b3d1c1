import type { Database } from '../../../db/database.ts';
import type { Migrate } from '../../../db/transactions/execution-jobs/migrate.ts';
import { listBusyWorkflows, readWorkflows } from '../../../db/workflows/workflows.ts';
import { Problem } from '../../../domain/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { newJobId, storeExecutionJob } from '../../executions/accept.ts';
import { prepareVersion } from '../../workflows/graph/versions.ts';
import type { ChangeOutcome, PlannedChange } from '../changes.ts';

/** The migrations of active executions to the new versions of their workflows. */

export interface Migration {
  key: string;
  workflowId: string;
  jobId: string;
}

/** Returns the versions of the workflows that will be updated, by id. */
export async function versionsOf(
  tx: Database,
  changes: readonly PlannedChange[],
): Promise<ReadonlyMap<string, number>> {
  const ids = changes.flatMap(({ id, change: { kind, action } }) =>
    kind === 'workflow' && action === 'update' && id !== null ? [id] : [],
  );
  const rows = await readWorkflows(tx, ids);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/**
 * Stores a migration job for each workflow that got a new version and has active executions. A
 * disabled workflow whose graph cannot run gets none: its executions stay on their version.
 * @param before the result of `versionsOf` before the changes
 */
export async function storeMigrations(
  tx: Database,
  caller: ProjectCaller,
  outcomes: ReadonlyMap<PlannedChange, ChangeOutcome>,
  before: ReadonlyMap<string, number>,
): Promise<Migration[]> {
  const changed = [...outcomes].flatMap(([{ id, change }, { version }]) => {
    const isChanged = id !== null && before.has(id) && before.get(id) !== version;
    return isChanged ? [{ id, key: change.key }] : [];
  });
  const busy = await listBusyWorkflows(
    tx,
    changed.map(({ id }) => id),
  );
  const rows = new Map((await readWorkflows(tx, busy)).map((row) => [row.id, row]));
  const jobs: Migration[] = [];
  for (const { id: workflowId, key } of changed) {
    const row = rows.get(workflowId);
    if (!row || !(await canRun(() => prepareVersion(tx, row, row.version, 'migrate')))) continue;
    const jobId = newJobId(caller, 'migrate');
    const asked: Migrate = {
      from: null,
      to: row.version,
      mapping: {},
      onUnmappable: 'stay',
      executionIds: null,
    };
    await storeExecutionJob(tx, caller, jobId, {
      workflowId,
      operation: 'migrate',
      stepId: null,
      asked,
    });
    jobs.push({ key, workflowId, jobId });
  }
  return jobs;
}

async function canRun(prepare: () => Promise<unknown>): Promise<boolean> {
  try {
    await prepare();
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === 'WORKFLOW_INVALID') return false;
    throw error;
  }
}
