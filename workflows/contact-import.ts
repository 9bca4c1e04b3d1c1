import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ImportActivities } from '../activities/contacts/contact-import.ts';
import { sliceOptions, workInSlices } from './job.ts';

/** Imports the contacts of one file. */
export async function contactImport(job: { projectId: string; jobId: string }): Promise<void> {
  const { IMPORT_CONTACTS } = proxyActivities<ImportActivities>(sliceOptions(job.projectId));
  if (await workInSlices('contacts', () => IMPORT_CONTACTS(job)))
    await continueAsNew<typeof contactImport>(job);
}
