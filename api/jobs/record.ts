import { z } from 'zod';
import type { JobRow } from '../../db/jobs/jobs.ts';
import type { OwnerProject } from '../access/caller.ts';
import { named, Time } from '../http/schemas.ts';

/** The response of a request that continues as a job. */
export const JobAccepted = named('JobAccepted', { message: z.string(), jobId: z.string() });

export function jobOf<D extends z.ZodType, R extends z.ZodType>(
  name: string,
  { data, result }: { data: D; result: R },
) {
  return named(name, {
    id: z.string(),
    state: z.enum(['waiting', 'active', 'completed', 'failed', 'cancelled']),
    progress: z.int().min(0).max(100),
    data,
    result: result.nullable(),
    failedReason: z.string().nullable(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  });
}

/** Returns data and result of a job. `result` is null unless the job has completed or failed. */
export function contentOf<Data, Result>(row: JobRow, { publicId: projectId }: OwnerProject) {
  const isFinal = row.state === 'completed' || row.state === 'failed';
  return {
    data: { ...(row.data as object), projectId } as Data,
    result: isFinal ? (row.result as unknown as Result | null) : null,
  };
}

export const exampleTimes = {
  createdAt: '2026-11-21T08:30:00.000Z',
  startedAt: '2026-11-21T08:30:00.400Z',
  finishedAt: '2026-11-21T08:30:01.100Z',
};
export const exampleProjectId = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01';
export const exampleRunId = '7d2a4f10-1f5e-4c3b-9a0d-2b1c3d4e5f60';
