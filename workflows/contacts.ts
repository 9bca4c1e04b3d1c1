import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ErasureActivities } from '../activities/erasure.ts';
import type { BulkActivities } from '../activities/contacts/bulk-contacts.ts';
import type { ImportActivities } from '../activities/contacts/contact-import.ts';
import type { OptInActivities } from '../activities/opt-in.ts';
import { sliceOptions, workInSlices } from './job.ts';

/** Subscribes, unsubscribes or deletes many contacts. */
export async function bulkContacts(job: { projectId: string; jobId: string }): Promise<void> {
  const { BULK_CONTACTS } = proxyActivities<BulkActivities>(sliceOptions(job.projectId));
  if (await workInSlices('contacts', () => BULK_CONTACTS(job)))
    await continueAsNew<typeof bulkContacts>(job);
}

export async function contactImport(job: { projectId: string; jobId: string }): Promise<void> {
  const { IMPORT_CONTACTS } = proxyActivities<ImportActivities>(sliceOptions(job.projectId));
  if (await workInSlices('contacts', () => IMPORT_CONTACTS(job)))
    await continueAsNew<typeof contactImport>(job);
}

/**
 * Removes the data of an erased contact. The run waits for mail that is being sent, because its
 * outcome must be recorded first.
 */
export async function contactErasure(erasure: {
  projectId: string;
  erasureId: string;
}): Promise<void> {
  const { ERASE_CONTACT } = proxyActivities<ErasureActivities>(sliceOptions(erasure.projectId));
  // Each slice reads the row anew, so the signal needs no action.
  setHandler(defineSignal('changed'), () => {});
  for (let pauses = 0; ;) {
    const { isOver, task, pauseMs } = await ERASE_CONTACT(erasure.erasureId);
    if (isOver) return;
    setCurrentDetails(`Removing: ${task}`);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof contactErasure>(erasure);
    }
    pauses = pauseMs > 0 ? pauses + 1 : 0;
    // It takes minutes until an unknown outcome is settled, so the pause grows.
    const waitMs = Math.min(pauseMs * 2 ** Math.min(pauses, 6), 30_000);
    if (pauseMs > 0) await sleep(waitMs, { summary: 'Wait for mail that is being handed over' });
  }
}

/**
 * Sends the mail and the reminder of an opt-in request, and ends the request if it was neither
 * confirmed nor cancelled before.
 */
export async function optInRequest(request: {
  projectId: string;
  requestId: string;
}): Promise<void> {
  const { ADVANCE_OPT_IN } = proxyActivities<OptInActivities>({
    startToCloseTimeout: '2 minutes',
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    priority: { fairnessKey: request.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const rest = await ADVANCE_OPT_IN(request.requestId);
    if (rest === null) return;
    setCurrentDetails(`Waits for the confirmation. Next: ${rest.next}`);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof optInRequest>(request);
    }
    await condition(() => changed, rest.waitMs, { summary: `Next: ${rest.next}` });
  }
}
