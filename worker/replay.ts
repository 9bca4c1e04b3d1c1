import type { History } from '@temporalio/common/lib/proto-utils.js';
import {
  type InjectedSinks,
  type ReplayWorkerOptions,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { type Divergence, explainDivergence } from './divergence.ts';
import type { CommandSinks, IssuedCommands } from './issued-commands.ts';
import { bug } from '../domain/errors.ts';

/** A recorded history and the id of its run. */
export interface RecordedRun {
  workflowId: string;
  history: History;
}

/**
 * Replays a recorded history with the current workflow code. No activity runs, because the results
 * are in the history. Returns null when the code issues the same commands, otherwise the place
 * where it diverges. With a bundle made `forReplay`, the divergence also shows what the code does
 * instead.
 */
export async function replayHistory(
  bundle: WorkflowBundleOption,
  history: History,
  workflowId: string,
): Promise<Divergence | null> {
  for await (const { divergence } of replayHistories(bundle, [{ workflowId, history }])) {
    return divergence;
  }
  throw bug('Temporal has ended the replay without a result.');
}

/** Replays many histories one after the other, so that only one of them is in memory. */
export async function* replayHistories<R extends RecordedRun>(
  bundle: WorkflowBundleOption,
  runs: AsyncIterable<R> | Iterable<R>,
): AsyncGenerator<{ run: R; divergence: Divergence | null }> {
  let run: R | undefined;
  let issued: IssuedCommands[] = [];
  // Takes one history at a time, so that the recorded commands belong to the history that was taken
  // last.
  async function* taken() {
    for await (const next of runs) {
      run = next;
      issued = [];
      yield next;
    }
  }
  const sinks: InjectedSinks<CommandSinks> = {
    commands: {
      issued: { fn: (_info, commands) => void issued.push(commands), callDuringReplay: true },
    },
  };
  const options: ReplayWorkerOptions = { workflowBundle: bundle, sinks };
  for await (const { error } of Worker.runReplayHistories(options, taken())) {
    if (!run) throw bug('Temporal has returned the result of a replay that was not begun.');
    yield { run, divergence: error ? explainDivergence(run.history, error, issued) : null };
  }
}
