import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import type { Position } from '../../domain/cursor.ts';
import { notFound } from '../../domain/errors.ts';

/**
 * Uploads of projects. A file counts against the quota from before it is stored until the storage
 * has deleted it.
 */

/** The project of an upload. Files belong to the public id, which outlives a reset. */
interface Uploader {
  project: { publicId: string };
}

export interface UploadRow {
  key: string;
  bytes: number;
  created_by: string | null;
  created_at: Date;
}

/** Maximum minutes for storing a file. */
const storingMinutes = 10;
/** Seconds that a request has to delete a file. After that, the sweep deletes it. */
const removingSeconds = 20;
/** Minutes that the sweep waits after the storage failed to delete a file. */
const retryMinutes = 5;

/**
 * Counts a file that is about to be stored, and returns null. If the file would exceed the quota,
 * it is not counted, and the result is the number of bytes that the project already uses.
 * @param file.limit bytes of the project; null: without limit.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function reserveUpload(
  db: Database,
  { project: { publicId } }: Uploader,
  file: { key: string; bytes: number; createdBy: string; limit: number | null },
): Promise<{ used: number } | null> {
  const { key, bytes, limit } = file;
  return transact(db, async (tx) => {
    // A project that was reset in the meantime keeps its public id and its files.
    const project = await tx
      .selectFrom('project')
      .select('id')
      .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
      .where('removal', 'is', null)
      .forKeyShare()
      .executeTakeFirst();
    if (!project) throw notFound('PROJECT', publicId);
    await sql`
      insert into upload_usage (owner_id) values (${publicId})
        on conflict (owner_id) do nothing`.execute(tx);
    const { rows } = await sql<{ used: string }>`
      update upload_usage set bytes = bytes + ${bytes}
        where owner_id = ${publicId}
          and (${limit}::bigint is null or bytes + ${bytes} <= ${limit}::bigint)
        returning bytes as used`.execute(tx);
    if (rows.length === 0) return { used: (await findUploadUsage(tx, publicId)).bytes };
    await tx
      .insertInto('upload')
      .values({
        key,
        owner_id: publicId,
        bytes,
        created_by: file.createdBy,
        remove_at: sql<Date>`now() + make_interval(mins => ${storingMinutes}::int)`,
      })
      .execute();
    return null;
  });
}

/**
 * Records that a file is stored. Returns false if its row is deleted, because storing took too long
 * or the project was deleted: the caller must then delete the file.
 */
export async function recordUploaded(db: Database, key: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with stored as (
      update upload set state = 'stored', remove_at = null
        where key = ${key} and state = 'storing' returning owner_id
    )
    update upload_usage set files = files + 1
      from stored where upload_usage.owner_id = stored.owner_id`.execute(db);
  return Number(numAffectedRows) > 0;
}

/**
 * Removes a stored file from the list of its project, in the caller's transaction. Returns its
 * size; null: the project has no such file. If the caller does not delete the file from the
 * storage, the sweep does.
 */
export async function markUploadRemoved(
  tx: Database,
  publicId: string,
  key: string,
): Promise<number | null> {
  const { rows } = await sql<{ bytes: string }>`
    with removed as (
      update upload
        set state = 'removing',
          remove_at = now() + make_interval(secs => ${removingSeconds}::int)
        where key = ${key} and owner_id = ${publicId} and state = 'stored'
        returning owner_id, bytes
    )
    update upload_usage set files = files - 1
      from removed where upload_usage.owner_id = removed.owner_id
      returning removed.bytes`.execute(tx);
  return rows[0] ? Number(rows[0].bytes) : null;
}

/**
 * Claims a file that must be deleted from the storage, because its process died or the storage did
 * not respond. Returns its key, if there is one. No other process claims the file for
 * `retryMinutes` minutes.
 */
export async function claimUploadRemoval(db: Database): Promise<string | null> {
  const { rows } = await sql<{ key: string }>`
    update upload
      set state = 'removing', remove_at = now() + make_interval(mins => ${retryMinutes}::int)
      where key = (select inner_upload.key from upload inner_upload
        where inner_upload.remove_at <= now()
        order by inner_upload.remove_at limit 1 for update skip locked)
      returning key`.execute(db);
  return rows[0]?.key ?? null;
}

/** Deletes the row of a file that the storage no longer has, so the file no longer counts. */
export async function forgetUpload(db: Database, key: string): Promise<void> {
  await sql`
    with gone as (
      delete from upload where key = ${key} and state <> 'stored' returning owner_id, bytes
    )
    update upload_usage set bytes = upload_usage.bytes - gone.bytes
      from gone where upload_usage.owner_id = gone.owner_id`.execute(db);
}

/** Lists the stored files of a project, newest first. */
export async function listUploads(
  db: Database,
  publicId: string,
  { after, limit }: { after?: Position | undefined; limit: number },
): Promise<UploadRow[]> {
  const rows = await db
    .selectFrom('upload')
    .select(['key', 'bytes', 'created_by', 'created_at'])
    .where('owner_id', '=', publicId)
    .where('state', '=', 'stored')
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(created_at, key) < (${after?.value}::timestamptz, ${after?.id})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('key', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** Returns the number of a project's stored files, and the bytes that count for its quota. */
export async function findUploadUsage(
  db: Database,
  publicId: string,
): Promise<{ files: number; bytes: number }> {
  const row = await db
    .selectFrom('upload_usage')
    .select(['files', 'bytes'])
    .where('owner_id', '=', publicId)
    .executeTakeFirst();
  return { files: row?.files ?? 0, bytes: Number(row?.bytes ?? 0) };
}
