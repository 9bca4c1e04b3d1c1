import {
  type ActivityOptions,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Removal, RemovalBulk, RemovalControl } from '../activities/project-deletion.ts';

/** Signals that the project was reset or deleted once more. */
const changedSignal = defineSignal('changed');

/**
 * Milliseconds between two passes. A request that was in progress when the project became
 * unreachable may have written rows after the first pass.
 */
const graceMs = 5_000;
/** Number of passes that only ask open runs to stop. Later passes terminate these runs. */
const softStops = 6;

/** Deletes the data that a project had before its reset. */
export async function projectReset(input: { projectId: string }): Promise<void> {
  const shouldContinue = await removeAll(input.projectId, 'reset');
  if (shouldContinue) await continueAsNew<typeof projectReset>(input);
}

/** Deletes all data of a deleted project. */
export async function projectDelete(input: { projectId: string }): Promise<void> {
  const shouldContinue = await removeAll(input.projectId, 'delete');
  if (shouldContinue) await continueAsNew<typeof projectDelete>(input);
}

/**
 * Deletes the data of each removal of the project, one removal after the other. Returns true when
 * the run must continue as new.
 */
async function removeAll(projectId: string, removal: Removal): Promise<boolean> {
  const options: ActivityOptions = {
    startToCloseTimeout: '10 minutes',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    // Projects take turns, so that one removal does not delay the work of all others.
    priority: { fairnessKey: projectId },
  };
  const { DELETE_PROJECT_DATA } = proxyActivities<RemovalBulk>({
    ...options,
    taskQueue: `${workflowInfo().taskQueue}-bulk`,
    heartbeatTimeout: '15 seconds',
  });
  const { LIST_REMOVED_PROJECTS, STOP_PROJECT_RUNS, FORGET_PROJECT } =
    proxyActivities<RemovalControl>({
      ...options,
      // The death of the worker is noticed after this time. Repeating a part is harmless.
      heartbeatTimeout: '30 seconds',
    });
  const activities = { DELETE_PROJECT_DATA, STOP_PROJECT_RUNS, FORGET_PROJECT };
  let changed = false;
  setHandler(changedSignal, () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const [id] = await LIST_REMOVED_PROJECTS({ projectId, removal });
    if (id !== undefined) {
      if (await removeOne(activities, { id, removal })) continue;
      await condition(allHandlersFinished);
      return true;
    }
    if (!changed) return false;
  }
}

/**
 * Deletes the data of one removal in passes, until a pass finds nothing. Returns false if the
 * history became too long first.
 */
async function removeOne(
  activities: RemovalBulk & Omit<RemovalControl, 'LIST_REMOVED_PROJECTS'>,
  call: { id: string; removal: Removal },
): Promise<boolean> {
  for (let pass = 1; ; pass += 1) {
    let deleted = 0;
    for (let isOver = false; !isOver;) {
      if (workflowInfo().continueAsNewSuggested) return false;
      const slice = await activities.DELETE_PROJECT_DATA(call);
      deleted += slice.deleted;
      isOver = slice.isOver;
    }
    const { open } = await activities.STOP_PROJECT_RUNS({ ...call, force: pass > softStops });
    if (pass > 1 && deleted === 0 && open === 0) break;
    await sleep(graceMs, { summary: 'Wait for what is still under way' });
  }
  await activities.FORGET_PROJECT(call);
  return true;
}
