import type { History } from '@temporalio/common/lib/proto-utils.js';
import {
  type InjectedSinks,
  type ReplayWorkerOptions,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { type Divergence, explainDivergence } from './divergence.ts';
import type { CommandSinks, IssuedCommands } from './issued-commands.ts';

/** A recorded history, and the id of the run it is of. */
export interface RecordedRun {
  workflowId: string;
  history: History;
}

/**
 * Replays a recorded history against the current workflow code. Nothing is done to the world:
 * activities answer what the history says. Resolves with null when the code takes the same way,
 * else with where it does not. With a bundle `forReplay` that also says what the code does instead.
 */
export async function replayHistory(
  bundle: WorkflowBundleOption,
  history: History,
  workflowId: string,
): Promise<Divergence | null> {
  for await (const { divergence } of replayHistories(bundle, [{ workflowId, history }])) {
    return divergence;
  }
  throw new Error('The replay answered nothing.');
}

/** The same for many, one after the other: no more than one history is held in memory. */
export async function* replayHistories<R extends RecordedRun>(
  bundle: WorkflowBundleOption,
  runs: AsyncIterable<R> | Iterable<R>,
): AsyncGenerator<{ run: R; divergence: Divergence | null }> {
  let run: R | undefined;
  let issued: IssuedCommands[] = [];
  // They are replayed one at a time, so that what is issued belongs to the one taken last.
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
    if (!run) throw new Error('The replay answered before it was asked.');
    yield { run, divergence: error ? explainDivergence(run.history, error, issued) : null };
  }
}
