import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { beatMs, recordWorker, recordWorkerStop } from '../../db/delivery/workers.ts';
import type { SendingRates } from '../../db/delivery/send-rate.ts';

/**
 * Milliseconds in which a stopping worker tries to record that it stops. A worker that did not
 * record this counts as dead a little later.
 */
const farewellMs = 2_000;

/**
 * Records every five seconds that the workers of this process are alive. `stop` records the end of
 * the workers.
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
      // If the database is unavailable, the next heartbeat tries again.
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
