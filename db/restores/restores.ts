import { type Selectable, sql } from 'kysely';
import type { RestoreKind } from '../../domain/runs/restores.ts';
import { columnList } from '../columns.ts';
import { anyOf } from '../expressions.ts';
import { type Database, transact } from '../database.ts';
import type { Restore } from '../tables.ts';

/** The restores that were noticed: see `domain/runs/restores.ts`. */

export type RestoreRow = Omit<Selectable<Restore>, 'kind'> & { kind: RestoreKind };

/** Returns the restores that are not over, oldest first. There are few, so no page is needed. */
export async function listOpenRestores(db: Database): Promise<RestoreRow[]> {
  const { rows } = await sql<RestoreRow>`
    select ${columnList('restore')} from restore where ended_at is null order by noticed_at`.execute(
    db,
  );
  return rows;
}

/** Maximum number of restores that are listed. */
const listedMax = 100;

/** Returns the newest restores, newest first. */
export async function listRestores(db: Database): Promise<RestoreRow[]> {
  const { rows } = await sql<RestoreRow>`
    select ${columnList('restore')} from restore order by noticed_at desc, id desc
      limit ${listedMax}`.execute(db);
  return rows;
}

/** Maximum number of ids of losses that are listed. */
const lossesMax = 1_000;

/** Returns what restores have lost: the number, and the first ids. */
export async function listLosses(
  db: Database,
  restores: readonly { id: string }[],
  kind: 'execution' | 'mail',
): Promise<{ count: number; ids: string[] }> {
  const own = sql`restore_loss where kind = ${kind}
    and restore_id = ${anyOf(restores.map(({ id }) => id))}`;
  const { rows } = await sql<{ count: number; ids: string[] | null }>`
    select (select count(distinct id)::int from ${own}) as count,
        (select array_agg(id) from (select distinct id from ${own} order by id limit ${lossesMax}) lost)
          as ids`.execute(db);
  return { count: rows[0]?.count ?? 0, ids: rows[0]?.ids ?? [] };
}

/** Numbers of what a repair has done: see the table `restore`. */
export interface RepairCounts {
  checked: number;
  restarted: number;
  advanced: number;
  ended: number;
  runs: number;
  schedules: number;
}

/** Adds to the numbers of a repair. */
export async function countRepaired(
  db: Database,
  id: string,
  counts: Partial<RepairCounts>,
): Promise<void> {
  const { checked = 0, restarted = 0, advanced = 0, ended = 0, runs = 0, schedules = 0 } = counts;
  await sql`
    update restore set checked = checked + ${checked}, restarted = restarted + ${restarted},
        advanced = advanced + ${advanced},
        ended = ended + ${ended}, runs = runs + ${runs}, schedules = schedules + ${schedules}
      where id = ${id}`.execute(db);
}

/** Records that the runs and rows agree again. */
export async function recordRepaired(db: Database, id: string): Promise<void> {
  await sql`update restore set repaired_at = now() where id = ${id} and repaired_at is null`.execute(
    db,
  );
}

/**
 * Ends the restores that are repaired, if no mail waits for the operator any more. Returns their number.
 */
export async function endRestores(db: Database): Promise<number> {
  return transact(db, async (tx) => {
    const { numAffectedRows = 0n } = await sql`
      update restore set ended_at = now()
        where ended_at is null and repaired_at is not null
          and (held_before is null or is_held and not ${isHoldingMail})`.execute(tx);
    await sql`
      update installation set held_before = null, released = '{}'
        where held_before is not null
          and not exists (select from restore where ended_at is null and held_before is not null)`.execute(
      tx,
    );
    return Number(numAffectedRows);
  });
}

/** SQL that is true while mail or a campaign waits for the operator. */
const isHoldingMail = sql<boolean>`(
  exists (select from email_queue inner_parked where inner_parked.hold_reason = 'operator')
  or exists (select from campaign inner_stopped where inner_stopped.held_at is not null))`;

/** Holds all mail that there is, on request of the operator. */
export async function holdByHand(db: Database): Promise<void> {
  await transact(db, insertByHand);
}

async function insertByHand(tx: Database): Promise<void> {
  await sql`
    insert into restore (kind, held_before, repaired_at) values ('by_hand', now(), now())`.execute(
    tx,
  );
  await sql`update installation set held_before = now(), released = '{}'`.execute(tx);
}

/**
 * Holds all mail that there is when the first worker with MAIL_HOLD=true starts. Further ones hold
 * nothing until a worker has started without it.
 */
export async function holdAtStart(db: Database, isHolding: boolean): Promise<void> {
  await transact(db, async (tx) => {
    const { numAffectedRows = 0n } = await sql`
      update installation set mail_hold = ${isHolding} where mail_hold <> ${isHolding}`.execute(tx);
    if (isHolding && numAffectedRows > 0n) await insertByHand(tx);
  });
}
