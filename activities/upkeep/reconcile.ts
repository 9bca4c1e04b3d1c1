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
  /** Asks Temporal for the state of an execution's run. @throws when Temporal does not respond. */
  describeExecutionRun(executionId: string): Promise<RunState>;
  /** Lists the executions whose run was closed after `since`, but not as completed. */
  listClosedExecutions(since: Date): AsyncIterable<string>;
  log: { warn(details: object, message: string): void };
}

/**
 * Maximum number of executions claimed at once (`pageSize`), and of concurrent calls to Temporal
 * for them (`callsMax`).
 */
const pageSize = 100;
const callsMax = 8;
/** Milliseconds for which one sweep reconciles executions. The next sweep continues. */
const reconcilingMs = 20_000;
/** Length of the time before the first sweep in which closed runs are searched, in milliseconds. */
const firstWindowMs = 15 * 60_000;
/**
 * Milliseconds before the last sweep that are searched again, because closed runs appear in
 * Temporal with a delay.
 */
const overlapMs = 60_000;

/**
 * Compares executions with their runs: those that are due for it, and those whose run was closed. A
 * lost run starts again at its position; an execution whose run was ended in Temporal ends, too;
 * one that cannot continue is recorded and logged.
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
 * Makes active executions due for reconciliation if their run was closed, and closes the steps of
 * ended executions.
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
 * Handles executions whose runs are closed. An execution that has ended may have an open step if
 * its worker died.
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
      if (verdict.stuck === null && run.kind === 'open') await signalOverdue(db, execution);
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
