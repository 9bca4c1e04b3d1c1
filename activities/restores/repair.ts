import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import {
  countRepaired,
  endRestores,
  listOpenRestores,
  recordRepaired,
  type RestoreRow,
} from '../../db/restores/restores.ts';
import { holdChunks, holdMail } from '../../db/transactions/restores/hold-mail.ts';
import { markAllSchedulesDue } from '../../db/schedules/schedules.ts';
import {
  hurryRuns,
  mayRestartMore,
  restartPage,
} from '../../db/transactions/restores/lost-runs.ts';
import { areCompared, hurryPage, recordLost } from '../../db/transactions/restores/runs-ahead.ts';
import { signalChangedSince } from '../../db/workflows/executions/reconciliation.ts';

export interface RepairServices {
  db: Database;
  /** Lists the executions whose run was started after `since`. */
  listStartedExecutions(since: Date): AsyncIterable<string>;
  /** Signals the run of an execution to read its row. */
  signalExecution(executionId: string): Promise<unknown>;
  log: { warn(details: object, message: string): void };
}

/** Milliseconds for which one sweep restarts executions. The next sweep continues. */
const restartingMs = 25_000;
/** Milliseconds for which one sweep takes chunks of held campaigns apart. */
const holdingMs = 20_000;
/** Milliseconds between two checks whether Temporal has taken the requested starts. */
const lookMs = 200;
/** Maximum difference between the clocks of Temporal and PostgreSQL, in milliseconds. */
const skewMs = 60_000;

/**
 * Makes runs and rows agree after a restore, and ends the restores that are repaired and hold no
 * mail. Every part may be repeated: if the process dies, the next sweep continues.
 */
export async function repairRestores(services: RepairServices): Promise<void> {
  const { db, log } = services;
  const open = await listOpenRestores(db);
  if (open.length === 0) return;
  if (open.some(({ held_before: before }) => before !== null)) {
    const end = Date.now() + holdingMs;
    await holdMail(db);
    await holdChunks(db, () => Date.now() > end);
  }
  for (const restore of open) {
    if (restore.repaired_at === null && (await repair(services, restore))) {
      await recordRepaired(db, restore.id);
    }
  }
  if ((await endRestores(db)) > 0) log.warn({}, 'A restore is repaired');
}

/** Returns true if everything is repaired. */
async function repair(services: RepairServices, restore: RestoreRow): Promise<boolean> {
  const { db, log } = services;
  switch (restore.kind) {
    case 'temporal_lost':
      await startOthers(db, restore);
      return restartAll(db, restore.id);
    case 'temporal_older': {
      await startOthers(db, restore);
      const since = new Date((restore.from_at?.getTime() ?? 0) - skewMs);
      const restarted = await signalChangedSince(db, since);
      await countRepaired(db, restore.id, { restarted });
      log.warn({ since, executions: restarted }, 'Changed executions are sent to Temporal again');
      return true;
    }
    case 'database_older':
      if (restore.checked === 0) await endLostRuns(services, restore);
      while (!(await hurryPage(db, restore.id)));
      return areCompared(db, restore.id);
    default:
      return true;
  }
}

/** Maximum number of executions that are looked up together. */
const lostPage = 500;

/** Records the executions that only Temporal knows, and has their runs end. */
async function endLostRuns(services: RepairServices, restore: RestoreRow): Promise<void> {
  const { db, listStartedExecutions, signalExecution } = services;
  const since = new Date((restore.from_at ?? restore.noticed_at).getTime() - skewMs);
  const end = async (ids: readonly string[]) => {
    for (const id of await recordLost(db, restore.id, ids)) await signalExecution(id);
  };
  let page: string[] = [];
  for await (const id of listStartedExecutions(since)) {
    page.push(id);
    if (page.length < lostPage) continue;
    await end(page);
    page = [];
  }
  await end(page);
}

/**
 * Makes Temporal create all schedules again, and all runs except those of executions. Does this
 * once for each restore.
 */
async function startOthers(db: Database, { id, runs, schedules }: RestoreRow): Promise<void> {
  if (runs + schedules > 0) return;
  const made = await markAllSchedulesDue(db);
  await countRepaired(db, id, { runs: await hurryRuns(db), schedules: made });
}

/**
 * Requests the starts of the runs of all active executions, for one sweep. Returns true if all are
 * requested.
 */
async function restartAll(db: Database, restoreId: string): Promise<boolean> {
  const end = Date.now() + restartingMs;
  while (Date.now() < end) {
    if (!(await mayRestartMore(db))) await sleep(lookMs);
    else if (await restartPage(db, restoreId)) return true;
  }
  return false;
}
