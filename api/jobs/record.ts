import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { JobRow } from '../../db/jobs/jobs.ts';
import type { OwnerProject } from '../access/caller.ts';
import { Actor, readActors } from '../actors/actor.ts';
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
    causedBy: Actor.nullable().describe('Who began it'),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  });
}

/**
 * Returns a function that presents the data, result and actor of these jobs. `result` is null
 * unless the job has completed or failed.
 */
export async function readContents<Data, Result>(
  db: Database,
  jobs: readonly JobRow[],
  { publicId: projectId }: OwnerProject,
) {
  const presentActor = await readActors(
    db,
    jobs.map((job) => job.caused_by),
  );
  return (row: JobRow) => {
    const isFinal = row.state === 'completed' || row.state === 'failed';
    return {
      data: { ...(row.data as object), projectId } as Data,
      result: isFinal ? (row.result as unknown as Result | null) : null,
      causedBy: presentActor(row.caused_by),
    };
  };
}

export const exampleTimes = {
  causedBy: { type: 'key' as const, id: 'secret', name: 'Secret key' },
  createdAt: '2026-11-21T08:30:00.000Z',
  startedAt: '2026-11-21T08:30:00.400Z',
  finishedAt: '2026-11-21T08:30:01.100Z',
};
export const exampleProjectId = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01';
export const exampleRunId = '7d2a4f10-1f5e-4c3b-9a0d-2b1c3d4e5f60';
