import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { beatMs, recordWorker, recordWorkerStop } from '../../db/delivery/workers.ts';
import type { SendingRates } from '../../db/delivery/send-rate.ts';

/** How long a worker that stops tries to say so, in milliseconds: soon it counts as dead anyhow. */
const farewellMs = 2_000;

/**
 * Tells everybody that the workers of this process live, as long as they do: a row that is refreshed
 * every five seconds. Returns what says that they have stopped. A beat that the database misses is made
 * up for by the next one.
 */
export function startHeartbeat(
  { db, provider, rates }: { db: Database; provider: string; rates: SendingRates },
  isRunning: () => boolean,
): { stop(): Promise<void> } {
  const process = { id: randomUUID(), provider, rates };
  let isFirst = true;
  let beating: Promise<void> | null = null;
  const beat = async () => {
    try {
      await recordWorker(db, process, isFirst);
      isFirst = false;
    } catch {
      // The database is away.
    }
    beating = null;
  };
  const next = () => {
    if (isRunning()) beating ??= beat();
  };
  next();
  const timer = setInterval(next, beatMs);
  timer.unref();
  const sayGoodbye = async () => {
    await beating;
    await recordWorkerStop(db, process.id).catch(() => {});
  };
  return {
    async stop() {
      clearInterval(timer);
      const given = new AbortController();
      await Promise.race([
        sayGoodbye().finally(() => given.abort()),
        sleep(farewellMs, undefined, { signal: given.signal }).catch(() => {}),
      ]);
    },
  };
}
