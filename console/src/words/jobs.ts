import type { ImportJob } from '../api/api.ts';

type JobState = ImportJob['state'];

const states: Record<JobState, string> = {
  waiting: 'Waits to begin',
  active: 'Runs',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** The state of a job in words. */
export const textOfJobState = (state: JobState): string => states[state];

/** Returns true if the job has ended. */
export const isEnded = (state: JobState): boolean => state !== 'waiting' && state !== 'active';
