import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowBundleOption } from '@temporalio/worker';
import pLimit from 'p-limit';
import * as workflows from '../workflows/index.ts';
import { bundleWorkflows } from './bundle.ts';
import { type RecordedRun, replayHistories, replayHistory } from './replay.ts';

/**
 * Minimum ages of replayed runs, in hours. For each age, the newest runs that are at least as old
 * are replayed.
 */
const ages = [0, 1, 24, 7 * 24, 30 * 24, 180 * 24];
/** Maximum number of replayed runs per type and age. */
const runsPerAge = 2;
/** Maximum number of concurrent calls to Temporal. */
const callsMax = 8;
/** Maximum number of milliseconds for the whole check, so that a worker starts quickly. */
const checkMs = 10_000;

interface OpenRun {
  workflowId: string;
  runId: string;
}

/** Thrown when this version cannot continue a run that is open. The message is for the operator. */
export class IncompatibleVersion extends Error {}

/**
 * Replays a sample of the open runs of a task queue with the code of `bundle`: up to 12 of each
 * type, new and old. Stuck runs are left out, because this version does not make them worse.
 * Returns the number of replayed runs; null: ten seconds were not enough.
 * @throws IncompatibleVersion naming the first run that the code cannot continue
 */
export async function replayOpenRuns(
  client: Client,
  taskQueue: string,
  bundle: WorkflowBundleOption,
): Promise<number | null> {
  let isOver = false;
  const replaying = replaySample(client, taskQueue, bundle, () => isOver);
  replaying.catch(() => {});
  try {
    return await Promise.race([replaying, sleep(checkMs, null, { ref: false })]);
  } finally {
    isOver = true;
  }
}

async function replaySample(
  client: Client,
  taskQueue: string,
  bundle: WorkflowBundleOption,
  isOver: () => boolean,
): Promise<number> {
  const runs = await sampleRuns(client, taskQueue);
  // Without runs, no replay worker is started, because its start takes a moment.
  if (runs.length === 0) return 0;
  let replayed = 0;
  for await (const { run, divergence } of replayHistories(bundle, historiesOf(client, runs))) {
    if (divergence) throw await incompatible(run);
    replayed += 1;
    if (isOver()) break;
  }
  return replayed;
}

/** Replays the run once more with the recorder, to explain the divergence. */
async function incompatible(run: OpenRun & RecordedRun): Promise<IncompatibleVersion> {
  const bundle = await bundleWorkflows({ forReplay: true });
  const divergence = await replayHistory(bundle, run.history, run.workflowId);
  return new IncompatibleVersion(
    `This version cannot continue ${run.workflowId} (run ${run.runId}), which is open: ` +
      `${divergence?.text ?? 'its replay fails'}. Start the workers of the last release again, or guard the ` +
      'change (docs/replaying.md). With WORKER_REPLAY_OPEN_RUNS=false, this version starts without the check.',
  );
}

async function sampleRuns(client: Client, taskQueue: string): Promise<OpenRun[]> {
  const open = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  const { count } = await client.workflow.count(open);
  if (count === 0) return [];
  const limited = pLimit(callsMax);
  const queries = ages.flatMap((hours) => {
    const before = new Date(Date.now() - hours * 60 * 60 * 1000).toISOString();
    return Object.keys(workflows).map(
      (type) => `${open} AND WorkflowType = '${type}' AND StartTime <= '${before}'`,
    );
  });
  const found = await Promise.all(queries.map((query) => limited(() => newest(client, query))));
  return [...new Map(found.flat().map((run) => [run.runId, run])).values()];
}

async function newest(client: Client, query: string): Promise<OpenRun[]> {
  const runs: OpenRun[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: runsPerAge })) {
    runs.push({ workflowId, runId });
    if (runs.length === runsPerAge) break;
  }
  return runs;
}

async function* historiesOf(client: Client, runs: readonly OpenRun[]) {
  for (const { workflowId, runId } of runs) {
    const history = await client.workflow
      .getHandle(workflowId, runId)
      .fetchHistory()
      .catch((error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      });
    if (history && !isStuck(history)) yield { workflowId, runId, history };
  }
}

/**
 * Returns true if the last workflow task failed, for example because the code diverged from the
 * history.
 */
function isStuck({ events }: History): boolean {
  const last = events?.findLast(
    (event) =>
      event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes,
  );
  return Boolean(last?.workflowTaskFailedEventAttributes);
}
