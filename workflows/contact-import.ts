import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ImportActivities } from '../activities/contacts/contact-import.ts';
import { shiftOptions, workOff } from './job.ts';

/** Imports the contacts of one file. */
export async function contactImport(job: { projectId: string; jobId: string }): Promise<void> {
  const { IMPORT_CONTACTS } = proxyActivities<ImportActivities>(shiftOptions(job.projectId));
  if (await workOff(() => IMPORT_CONTACTS(job))) await continueAsNew<typeof contactImport>(job);
}
