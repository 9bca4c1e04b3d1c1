import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import type { TestAnswer } from '../api.ts';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';
import type { Program } from './processes.ts';

/**
 * Processes that are killed and started again, and a client that repeats its requests until they
 * succeed.
 */

export type PatientCall = (method: string, path: string, body?: object) => Promise<TestAnswer>;

/** A process that is killed and started again. */
export function restarted<P extends Program>(start: () => Promise<P>) {
  let program: P | null = null;
  return {
    async start() {
      program = await start();
    },
    async killAndStart() {
      await program?.kill();
      program = await start();
    },
    get: () => program,
    stop: async () => void (await program?.stop()),
  };
}

/** Makes the unfinished use of an Idempotency-Key so old that the key is free again. */
export async function passStaleTime(db: Database, key: string): Promise<void> {
  await sql`update idempotency set created_at = now() - interval '10 minutes', renewed_at = null
    where key = ${key} and status_code is null`.execute(db);
}

/** Repeats a request with one key until it gets a response, as a robust client does. */
export function patient(
  { api: { db } }: Engine,
  api: () => { call: Engine['call'] } | null,
): PatientCall {
  return async (method, path, body) => {
    const key = randomUUID();
    const headers = method === 'POST' ? { 'Idempotency-Key': key } : {};
    return waitFor(
      `an answer to ${method} ${path}`,
      async () => {
        const answer = await api()
          ?.call(method, path, body, headers)
          .catch(() => null);
        if (!answer || answer.status >= 500) return null;
        // The API died during the first attempt, so the test ends that attempt's claim on the key.
        if (answer.body?.error?.code === 'IDEMPOTENCY_IN_PROGRESS') {
          await passStaleTime(db, key);
          return null;
        }
        // A first attempt without a response may have ended the wait already.
        const isRepeat = answer.body?.error?.code === 'EXECUTION_NOT_WAITING';
        if (answer.status >= 300 && !isRepeat) throw new Error(JSON.stringify(answer.body));
        return answer;
      },
      60_000,
    );
  };
}
