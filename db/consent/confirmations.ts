import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { expiryOf, type OpenOptIn } from '../../domain/consent/opt-in.ts';

export interface OptInOfLink {
  id: string;
  contact_id: string;
  project_id: string;
  email: string;
  subscribed: boolean;
  data: Record<string, unknown> | null;
  project_language: string;
  project_name: string;
  isOfMail: boolean;
  /** Requested topics that still exist, oldest first. */
  topics: { id: string; name: string }[];
  /** True if the request was confirmed before. */
  isConfirmed: boolean;
}

/** Hashes a token. Only hashes are stored, and tokens are found by their hash. */
export function hashToken(token: string): Buffer {
  return Buffer.from(hash('sha256', token, 'hex'), 'hex');
}

/** Returns the opt-in request of a token; undefined when there is none, or it has ended. */
export async function findOptInOfLink(
  db: Database,
  token: string,
): Promise<OptInOfLink | undefined> {
  const { rows } = await sql<
    OptInOfLink & OpenOptIn & { state: string; now: Date; topics: { id: string; name: string }[] }
  >`
    select opt_in.id, opt_in.contact_id, opt_in.project_id, opt_in.state, opt_in.email,
        opt_in.of_mail as "isOfMail", opt_in.mail_wanted, opt_in.last_mail_at, opt_in.created_at,
        opt_in.expire_after, contact.subscribed, contact.data,
        project.language as project_language, project.name as project_name,
        clock_timestamp() as now,
        (select coalesce(jsonb_agg(jsonb_build_object('id', topic.id, 'name', topic.name)
            order by topic.created_at, topic.id), '[]')
          from topic where topic.id = any(opt_in.topic_ids)) as topics
      from opt_in
      join contact on contact.id = opt_in.contact_id and contact.project_id = opt_in.project_id
      join project on project.id = opt_in.project_id and project.removal is null
      where opt_in.token_hash = ${hashToken(token)}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const isOver = row.state === 'pending' ? isPast(row) : row.state !== 'confirmed';
  return isOver ? undefined : { ...row, isConfirmed: row.state === 'confirmed' };
}

/** Returns true if an open request has expired, and its run has not recorded this yet. */
function isPast(request: OpenOptIn & { now: Date }): boolean {
  return !request.mail_wanted && expiryOf(request) <= request.now;
}
