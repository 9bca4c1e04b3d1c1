import { type Selectable, sql } from 'kysely';
import type { RestoreKind } from '../../domain/runs/restores.ts';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
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

/** Numbers of what a repair has done: see the table `restore`. */
export interface RepairCounts {
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
  const { restarted = 0, advanced = 0, ended = 0, runs = 0, schedules = 0 } = counts;
  await sql`
    update restore set restarted = restarted + ${restarted}, advanced = advanced + ${advanced},
        ended = ended + ${ended}, runs = runs + ${runs}, schedules = schedules + ${schedules}
      where id = ${id}`.execute(db);
}

/** Records that the runs and rows agree again. */
export async function recordRepaired(db: Database, id: string): Promise<void> {
  await sql`update restore set repaired_at = now() where id = ${id} and repaired_at is null`.execute(
    db,
  );
}

/** Ends the restores that are repaired and hold no mail. Returns their number. */
export async function endRestores(db: Database): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update restore set ended_at = now()
      where ended_at is null and repaired_at is not null and held_before is null`.execute(db);
  return Number(numAffectedRows);
}
