import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { notFound } from '../../domain/errors.ts';

/** Uploads of projects, in bytes. A file counts already before it is stored. */

/** The project of an upload. Files belong to the public id, which outlives a reset. */
interface Uploader {
  project: { publicId: string };
}

/** How long a file may take to be stored, in minutes. */
const storingMinutes = 10;

/**
 * Counts a file that is about to be stored. Returns null, or the bytes that the project uses
 * already if the file would exceed the quota.
 * @param limit bytes of the project; null: without limit.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function reserveUpload(
  db: Database,
  { project: { publicId } }: Uploader,
  { key, bytes, limit }: { key: string; bytes: number; limit: number | null },
): Promise<{ used: number } | null> {
  return transact(db, async (tx) => {
    // A project that was reset meanwhile continues under this id, and keeps its files.
    const project = await tx
      .selectFrom('project')
      .select('id')
      .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
      .where('removal', 'is', null)
      .forKeyShare()
      .executeTakeFirst();
    if (!project) throw notFound('PROJECT', publicId);
    await sql`
      insert into upload_usage (owner_id, bytes) values (${publicId}, 0)
        on conflict (owner_id) do nothing`.execute(tx);
    const { rows } = await sql<{ used: string }>`
      update upload_usage set bytes = bytes + ${bytes}
        where owner_id = ${publicId}
          and (${limit}::bigint is null or bytes + ${bytes} <= ${limit}::bigint)
        returning bytes as used`.execute(tx);
    if (rows.length === 0) {
      const { bytes: used } = await tx
        .selectFrom('upload_usage')
        .select('bytes')
        .where('owner_id', '=', publicId)
        .executeTakeFirstOrThrow();
      return { used: Number(used) };
    }
    await tx.insertInto('upload').values({ key, owner_id: publicId, bytes }).execute();
    return null;
  });
}

export async function recordUploaded(db: Database, key: string): Promise<void> {
  await db.updateTable('upload').set({ stored: true }).where('key', '=', key).execute();
}

/** Records that the file is not stored, so it no longer counts. */
export async function abandonUpload(db: Database, key: string): Promise<void> {
  await sql`
    with gone as (
      delete from upload where key = ${key} and not stored returning owner_id, bytes
    )
    update upload_usage set bytes = upload_usage.bytes - gone.bytes
      from gone where upload_usage.owner_id = gone.owner_id`.execute(db);
}

/** Lists keys of files whose process died before they were stored. */
export async function listUnfinishedUploads(
  db: Database,
  publicId: string,
  max: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('upload')
    .select('key')
    .where('owner_id', '=', publicId)
    .where('stored', '=', false)
    .where('created_at', '<', sql<Date>`now() - make_interval(mins => ${storingMinutes}::int)`)
    .orderBy('created_at')
    .limit(max)
    .execute();
  return rows.map(({ key }) => key);
}
