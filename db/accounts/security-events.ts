import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The event names of the security log. They must not change: alerts are built on them. */
export type SecurityEventName =
  | 'account.created'
  | 'account.claimed'
  | 'account.deleted'
  | 'email.verified'
  | 'login.succeeded'
  | 'login.refused'
  | 'logout'
  | 'session.ended'
  | 'password.changed'
  | 'password.refused'
  | 'password.reset_requested'
  | 'password.reset'
  | 'project.created'
  | 'project.reset'
  | 'project.deleted'
  | 'keys.regenerated'
  | 'webhook_secret.regenerated'
  | 'secret.set'
  | 'secret.deleted'
  | 'member.added'
  | 'member.invited'
  | 'member.joined'
  | 'member.left'
  | 'member.declined'
  | 'member.role_changed'
  | 'member.removed';

export interface SecurityEvent {
  event: SecurityEventName;
  /** Who did it; null: a secret key, or somebody who is not logged in. */
  userId: string | null;
  /** null: it concerns only the user, or its row must outlive the project. */
  projectId: string | null;
  ip: string;
  requestId: string;
  /** Ids and words, never a secret. */
  details: Record<string, string>;
}

/** Rows kept per user, or per project for events of a key. The log has them all. */
const eventsMax = 10_000;

export async function insertSecurityEvent(db: Database, event: SecurityEvent): Promise<void> {
  await db
    .insertInto('security_event')
    .values({
      event: event.event,
      user_id: event.userId,
      project_id: event.projectId,
      ip: event.ip,
      request_id: event.requestId,
      details: JSON.stringify(event.details),
    })
    .execute();
  const column = event.userId === null ? 'project_id' : 'user_id';
  const owner = event.userId ?? event.projectId;
  if (owner === null) return;
  await sql`delete from security_event where id in (
    select id from security_event where ${sql.ref(column)} = ${owner}
      order by id desc offset ${eventsMax} limit 100)`.execute(db);
}

/** IP addresses from which the user of an address has logged in, or reset the password by mail. */
export async function listLoginAddresses(db: Database, email: string): Promise<string[]> {
  const rows = await db
    .selectFrom('security_event')
    .innerJoin('app_user', 'app_user.id', 'security_event.user_id')
    .select('security_event.ip')
    .distinct()
    .where('app_user.email', '=', email)
    .where('security_event.event', 'in', ['account.created', 'login.succeeded', 'password.reset'])
    .execute();
  return rows.flatMap(({ ip }) => ip ?? []);
}

/** Deletes old events, in limited steps. Returns whether there may be more. */
export async function deleteOldSecurityEvents(
  db: Database,
  days: number,
  max = 1000,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('security_event')
    .where('id', 'in', (query) =>
      query
        .selectFrom('security_event')
        .select('id')
        .where('created_at', '<', sql<Date>`now() - ${days} * interval '1 day'`)
        .limit(max),
    )
    .executeTakeFirst();
  return numDeletedRows === BigInt(max);
}
