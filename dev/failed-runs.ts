import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { WorkflowBundleOption } from '@temporalio/worker';
import { statusKey } from '../workflows/client/search-attributes.ts';
import { type RecordedRun, replayHistories } from '../worker/replay.ts';
import type { Divergence } from '../worker/divergence.ts';
import { describeHistory } from '../worker/describe-history.ts';

/** The result of replaying one failed run of an execution. */
export interface Verdict {
  /** When the run failed, ISO 8601. */
  at: string;
  workflowId: string;
  runId: string;
  /** Place and reason of the failure, as `describeHistory` describes them. */
  failure: string;
  divergence: Divergence | null;
  /**
   * The newest run of the execution, if a retry or a reset has started one; null: this run is the
   * newest.
   */
  later: { runId: string; status: string } | null;
}

interface FailedRun extends RecordedRun {
  runId: string;
  later: Verdict['later'];
}

/** Returns a Temporal query for executions that failed in the 24 hours before `now`. */
export function failedSince(now: Date): string {
  const since = new Date(now.getTime() - 24 * 60 * 60 * 1000).toISOString();
  return `${statusKey.name} = "FAILED" AND CloseTime > "${since}"`;
}

/**
 * Replays the runs that a query finds, newest first, one at a time, at most `max`. Skips runs that
 * Temporal has deleted in the meantime.
 */
export async function* replayFailed(
  client: Client,
  bundle: WorkflowBundleOption,
  { query, max }: { query: string; max: number },
): AsyncGenerator<Verdict> {
  for await (const { run, divergence } of replayHistories(bundle, found(client, query, max))) {
    const description = describeHistory(run.history);
    const failure =
      description.findLast(({ text }) => text.startsWith('FAILED at ')) ?? description.at(-1);
    yield {
      at: description.at(-1)?.at ?? '',
      workflowId: run.workflowId,
      runId: run.runId,
      failure: failure?.text ?? '',
      divergence,
      later: run.later,
    };
  }
}

async function* found(client: Client, query: string, max: number): AsyncGenerator<FailedRun> {
  let count = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: 100 })) {
    if (count++ >= max) return;
    const history = await orGone(client.workflow.getHandle(workflowId, runId).fetchHistory());
    if (!history) continue;
    yield { workflowId, runId, history, later: await newerRun(client, workflowId, runId) };
  }
}

/** Returns the newest run of a workflow id; null: the given run is the newest. */
async function newerRun(client: Client, workflowId: string, runId: string) {
  const newest = await orGone(client.workflow.getHandle(workflowId).describe());
  if (!newest || newest.runId === runId) return null;
  const status = newest.typedSearchAttributes.get(statusKey) ?? newest.status.name;
  return { runId: newest.runId, status };
}

/** Resolves with null if Temporal has deleted the run. */
function orGone<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  });
}
