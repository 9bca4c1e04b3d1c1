import type { History } from '@temporalio/common/lib/proto-utils.js';
import { ReplayError, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';

/**
 * Replays a recorded history against the current workflow code. Nothing is done to the world:
 * activities answer what the history says. Resolves with null when the code takes the same way,
 * else with the sentence that says where it would not.
 */
export async function replayHistory(
  bundle: WorkflowBundleOption,
  history: History,
  workflowId: string,
): Promise<string | null> {
  try {
    await Worker.runReplayHistory({ workflowBundle: bundle }, history, workflowId);
    return null;
  } catch (error) {
    if (error instanceof DeterminismViolationError || error instanceof ReplayError) {
      return said(error.message);
    }
    throw error;
  }
}

/** The one sentence of a divergence that names what did not match; the SDK wraps it in a dump. */
function said(message: string): string {
  return /message: "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
}
