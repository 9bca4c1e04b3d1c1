import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { Erasure } from '../tables.ts';
import {
  allCounts,
  type ErasureCounts,
  erasureCounts,
  receiptText,
} from '../../domain/contact/erasure.ts';

export type ErasureRow = Selectable<Erasure>;

export const erasureSummary = 'Erase a contact';

/** Finds an erasure of a project. A reset keeps the project's erasures. */
export async function findErasure(
  db: Database,
  projectId: string,
  id: string,
): Promise<ErasureRow | undefined> {
  return db
    .selectFrom('erasure')
    .select(columnsOf('erasure'))
    .where('id', '=', id)
    .where(
      sql<boolean>`(owner_id = (select coalesce(public_id, id) from project where id = ${projectId}))`,
    )
    .executeTakeFirst();
}

/**
 * Deletes the contact itself and ends its erasure, which the caller has locked. The erasure's row
 * stays as a receipt.
 */
export async function completeErasure(tx: Database, erasure: ErasureRow): Promise<void> {
  const { numAffectedRows } = await sql`
    delete from contact where id = ${erasure.contact_id} and project_id = ${erasure.id}`.execute(
    tx,
  );
  const counts = allCounts({
    ...(erasure.counts as unknown as Partial<ErasureCounts>),
    contact: Number(numAffectedRows ?? 0),
  });
  const { rows } = await sql<{ at: Date }>`select clock_timestamp()::timestamptz(3) as at`.execute(
    tx,
  );
  const at = rows[0]!.at;
  const text = receiptText({
    id: erasure.id,
    requestedAt: erasure.requested_at.toISOString(),
    at: at.toISOString(),
    counts,
  });
  await tx
    .updateTable('erasure')
    .set({
      state: 'completed',
      completed_at: at,
      counts: JSON.stringify(counts),
      receipt_hash: createHash('sha256').update(text).digest('hex'),
      contact_id: null,
      email: null,
      task: null,
      position: null,
    })
    .where('id', '=', erasure.id)
    .execute();
}

/** Adds the counts of a page, and stores the position of the erasure. */
export async function noteErased(
  tx: Database,
  erasure: ErasureRow,
  {
    counts,
    task,
    position,
  }: { counts: Partial<ErasureCounts>; task: string; position: string | null },
): Promise<void> {
  const known = erasure.counts as unknown as Partial<ErasureCounts>;
  const sum = Object.fromEntries(
    erasureCounts.map((key) => [key, (known[key] ?? 0) + (counts[key] ?? 0)]),
  );
  await tx
    .updateTable('erasure')
    .set({
      state: 'active',
      task,
      position,
      counts: JSON.stringify(sum),
      touched_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', erasure.id)
    .execute();
}

/**
 * Requests the runs of erasures without progress for ten minutes: they were ended in Temporal, or
 * Temporal lost them. Active runs are not affected.
 */
export async function signalStalledErasures(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; rows_of: string }>`
      update erasure set touched_at = clock_timestamp()
        where id in (select id from erasure
          where state <> 'completed' and touched_at < now() - interval '10 minutes'
          order by touched_at limit ${max} for update skip locked)
        returning id, rows_of`.execute(tx);
    for (const { id, rows_of: projectId } of rows) {
      const input = { projectId, erasureId: id };
      await enqueue(tx, { kind: 'contactErasure', input, summary: erasureSummary });
    }
  });
}
