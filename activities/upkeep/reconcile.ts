import pLimit from 'p-limit';
import type { Database } from '../../db/database.ts';
import { closeSteps } from '../../db/workflows/executions/closing.ts';
import { findWatermark, updateWatermark } from '../../db/watermarks.ts';
import {
  claimForReconciliation,
  endAsItsRun,
  type ExecutionToReconcile,
  reconcileSoon,
  recordOpenRun,
  restartExecution,
  signalOverdue,
} from '../../db/workflows/executions/reconciliation.ts';
import { judgeRun, type RunState } from '../../domain/runs/reconcile.ts';

export interface ReconcileServices {
  db: Database;
  /**
   * Returns the state of an execution's run in Temporal.
   * @throws when Temporal does not respond
   */
  describeExecutionRun(executionId: string): Promise<RunState>;
  /** Lists the executions whose run was closed after `since` in any way except completion. */
  listClosedExecutions(since: Date): AsyncIterable<string>;
  log: { warn(details: object, message: string): void };
}

/**
 * Maximum number of executions that are claimed together (`pageSize`), and of parallel calls to
 * Temporal (`callsMax`).
 */
const pageSize = 100;
const callsMax = 8;
/** Milliseconds for which one sweep reconciles executions. The next sweep continues. */
const reconcilingMs = 20_000;
/**
 * Length in milliseconds of the period before the first sweep in which closed runs are searched.
 */
const firstWindowMs = 15 * 60_000;
/**
 * Milliseconds before the last sweep that are searched once more, because Temporal shows closed
 * runs with a delay.
 */
const overlapMs = 60_000;

/**
 * Compares executions with their runs, if they are due for reconciliation or their run was closed.
 * A lost run is started again at its position. If the run was ended in Temporal, the execution also
 * ends. An execution that cannot continue is recorded and logged.
 */
export async function reconcileExecutions(services: ReconcileServices): Promise<void> {
  await hurryClosed(services);
  const end = Date.now() + reconcilingMs;
  while (Date.now() < end) {
    const executions = await claimForReconciliation(services.db, pageSize);
    await pLimit(callsMax).map(executions, (execution) => reconcile(services, execution));
    if (executions.length < pageSize) break;
  }
}

/**
 * Makes active executions due for reconciliation if their run was closed, and closes the open steps
 * of ended executions.
 */
async function hurryClosed({ db, listClosedExecutions }: ReconcileServices): Promise<void> {
  const now = new Date();
  const last = await findWatermark(db, 'closed runs');
  const since = last ? last.getTime() - overlapMs : now.getTime() - firstWindowMs;
  let page: string[] = [];
  for await (const id of listClosedExecutions(new Date(since))) {
    page.push(id);
    if (page.length < pageSize) continue;
    await endWithRuns(db, page);
    page = [];
  }
  await endWithRuns(db, page);
  await updateWatermark(db, 'closed runs', now);
}

/**
 * Makes executions due for reconciliation, and closes the open steps of those that have ended. A
 * step may be open if its worker died.
 */
async function endWithRuns(db: Database, ids: readonly string[]): Promise<void> {
  await reconcileSoon(db, ids);
  await closeSteps(db, ids);
}

async function reconcile(
  services: ReconcileServices,
  execution: ExecutionToReconcile,
): Promise<void> {
  const { db, log } = services;
  const run: RunState =
    execution.tries === null
      ? await services.describeExecutionRun(execution.id)
      : { kind: 'unsent', tries: execution.tries };
  const verdict = judgeRun(execution, run);
  const about = {
    executionId: execution.id,
    projectId: execution.projectId,
    workflow: execution.workflowName,
  };
  switch (verdict.do) {
    case 'keep':
      await recordOpenRun(db, execution, verdict);
      // A run that is ahead of the row of a restored database would go back to it by a signal.
      if (verdict.stuck === null && run.kind === 'open' && !execution.isOfBefore) {
        await signalOverdue(db, execution);
      }
      if (verdict.stuck !== null && !execution.wasStuck) {
        const failure = run.kind === 'open' ? run.failure : null;
        log.warn({ ...about, reason: verdict.stuck, failure }, 'An execution is stuck');
      }
      return;
    case 'restart':
      if (await restartExecution(db, execution)) {
        log.warn(about, 'The run of an execution was lost and starts again');
      }
      return;
    case 'end':
      if (await endAsItsRun(db, execution, verdict.as)) {
        log.warn({ ...about, ...verdict.as }, 'An execution was ended in Temporal');
      }
  }
}
