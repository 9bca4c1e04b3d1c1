import { sql } from 'kysely';
import type { Heartbeat, KnownSweeps } from '../../domain/runs/lost-history.ts';
import { compareStores, type NoticedRestore, type OwnSweeps } from '../../domain/runs/restores.ts';
import { type Database, transact } from '../database.ts';
import { isoTime, onlyRow } from '../expressions.ts';
import { findWatermark, updateWatermark } from '../watermarks.ts';

/**
 * The heartbeat of the installation: the number of the last sweep. The sweep then records the same in
 * Temporal. So our number is never lower than that in Temporal, unless the database is older.
 */

/**
 * Records the next heartbeat, and a restore if Temporal and the database do not agree.
 * @param planned the planned time of this sweep, and the sweeps that Temporal knows; null: it was
 * not started by the schedule
 */
export async function recordHeartbeat(
  db: Database,
  planned: { at: Date; known: KnownSweeps } | null,
): Promise<{ heartbeat: Heartbeat; restore: NoticedRestore | null }> {
  return transact(db, async (tx) => {
    const own = await lockSweeps(tx);
    const restore = planned && compareStores(own, planned.known);
    if (restore) await insertRestore(tx, restore);
    const number = Math.max(own.heartbeat, planned?.known.heartbeat?.number ?? 0) + 1;
    const { rows } = await sql<{ at: string }>`
      update installation set heartbeat = ${number}, heartbeat_at = now()
        returning ${isoTime(sql`heartbeat_at`)} as at`.execute(tx);
    if (planned) await updateWatermark(tx, 'planned sweep', planned.at);
    return { heartbeat: { number, at: onlyRow(rows).at }, restore };
  });
}

/**
 * Records that the database is older than Temporal, unless it is recorded already. A worker calls this
 * before it hands over mail.
 */
export async function noticeOlderDatabase(
  db: Database,
  known: KnownSweeps,
): Promise<NoticedRestore | null> {
  const { heartbeat } = known;
  if (!heartbeat) return null;
  return transact(db, async (tx) => {
    const restore = compareStores(await lockSweeps(tx), known);
    if (restore?.kind !== 'database_older') return null;
    await insertRestore(tx, restore);
    await sql`update installation set heartbeat = ${heartbeat.number}`.execute(tx);
    return restore;
  });
}

async function lockSweeps(tx: Database): Promise<OwnSweeps> {
  const { rows } = await sql<Omit<OwnSweeps, 'plannedAt'>>`
    select heartbeat::float8 as heartbeat, heartbeat_at as "heartbeatAt" from installation
      for update`.execute(tx);
  return { ...onlyRow(rows), plannedAt: await findWatermark(tx, 'planned sweep') };
}

/**
 * SQL of the time at which the first process can have come up on restored data. All rows that were
 * restored are older. A server that has run since before the backup got the data later, as a dump.
 */
const restoredAt = sql`(select case when inner_installed.heartbeat_at < pg_postmaster_start_time()
  then pg_postmaster_start_time() else now() end from installation inner_installed)`;

async function insertRestore(tx: Database, { kind, from, to }: NoticedRestore): Promise<void> {
  const isOlder = kind === 'database_older';
  await sql`
    insert into restore (kind, from_at, to_at, held_before)
      values (${kind}, ${from}, ${to}, case when ${isOlder} then ${restoredAt} end)`.execute(tx);
  if (!isOlder) return;
  await sql`
    update installation set held_before = greatest(held_before, ${restoredAt}), released = '{}'`.execute(
    tx,
  );
}
