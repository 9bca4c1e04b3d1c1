import { sql } from 'kysely';
import { publicId } from './projects.ts';
import type { Database } from '../database.ts';
import { daysLeft, nextNotice } from '../../domain/access/key-expiry.ts';

/** A named key whose expiry must be announced. */
export interface KeyNotice {
  keyId: string;
  name: string;
  expiresAt: Date;
  /** Days until the expiry; 0: the key has expired. */
  daysLeft: number;
}

interface DueKey {
  id: string;
  projectId: string;
  publicId: string;
  name: string;
  expiresAt: Date;
  noticeAt: Date;
  isRemoved: boolean;
}

/**
 * Takes the due notices of one project, one for each key, and plans the next ones. The caller
 * announces them in the same transaction. Keys that another transaction has locked are left out,
 * and deleted projects get no notices. Returns null when no project has due notices.
 */
export async function takeKeyNotices(
  tx: Database,
): Promise<{ projectId: string; publicId: string; notices: KeyNotice[] } | null> {
  const { rows } = await sql<DueKey>`
    with first as (
      select project_id from api_key where notice_at <= now()
        order by notice_at limit 1 for update skip locked)
    select api_key.id, project_id as "projectId", ${publicId} as "publicId", api_key.name, expires_at as "expiresAt",
        notice_at as "noticeAt", project.removal is not null as "isRemoved"
      from first join api_key using (project_id) join project on project.id = project_id
      where notice_at <= now()
      order by notice_at, api_key.id for update of api_key skip locked`.execute(tx);
  const [first] = rows;
  if (!first) return null;
  const nextOf = (row: DueKey) => (row.isRemoved ? null : nextNotice(row.expiresAt, row.noticeAt));
  await sql`
    update api_key set notice_at = next.at
      from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(nextOf)}::timestamptz[])
        as next (key_id, at)
      where id = next.key_id`.execute(tx);
  const notices = rows
    .filter(({ isRemoved }) => !isRemoved)
    .map(({ id, name, expiresAt, noticeAt }) => ({
      keyId: id,
      name,
      expiresAt,
      daysLeft: daysLeft(expiresAt, noticeAt),
    }));
  return { projectId: first.projectId, publicId: first.publicId, notices };
}
