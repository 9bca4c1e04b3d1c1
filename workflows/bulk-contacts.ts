import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { BulkActivities } from '../activities/contacts/bulk-contacts.ts';
import { sliceOptions, workInSlices } from './job.ts';

/** Subscribes, unsubscribes or deletes many contacts. */
export async function bulkContacts(job: { projectId: string; jobId: string }): Promise<void> {
  const { BULK_CONTACTS } = proxyActivities<BulkActivities>(sliceOptions(job.projectId));
  if (await workInSlices('contacts', () => BULK_CONTACTS(job)))
    await continueAsNew<typeof bulkContacts>(job);
}
