import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The event names of the security log. They must not change: alerts are built on them. */
export type SecurityEventName =
  | 'account.created'
  | 'account.claimed'
  | 'account.adopted'
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
  | 'break_glass.issued'
  | 'break_glass.used'
  | 'factor.added'
  | 'factor.removed'
  | 'factor.refused'
  | 'recovery_code.used'
  | 'recovery_code.renewed'
  | 'project.created'
  | 'project.reset'
  | 'project.deleted'
  | 'project.policy_changed'
  | 'keys.regenerated'
  | 'webhook_secret.regenerated'
  | 'api_key.created'
  | 'api_key.changed'
  | 'api_key.rotated'
  | 'api_key.revoked'
  | 'secret.set'
  | 'secret.deleted'
  | 'event_subscription.created'
  | 'event_subscription.changed'
  | 'event_subscription.deleted'
  | 'event_subscription.secret_rotated'
  | 'event_subscription.replayed'
  | 'event_subscription.retried'
  | 'provider.created'
  | 'provider.changed'
  | 'provider.deleted'
  | 'provider.token_rotated'
  | 'domain.added'
  | 'domain.changed'
  | 'domain.removed'
  | 'send_policy.changed'
  | 'routing.changed'
  | 'consent_policy.changed'
  | 'contact.exported'
  | 'contact.erased'
  | 'member.added'
  | 'member.invited'
  | 'member.joined'
  | 'member.left'
  | 'member.declined'
  | 'member.role_changed'
  | 'member.removed';

export interface SecurityEvent {
  event: SecurityEventName;
  /** User who acted; null: a secret key, or a client that is not logged in. */
  userId: string | null;
  /** null: the event concerns only the user, or its row must outlive the project. */
  projectId: string | null;
  /** null: the operator acted at the server. */
  ip: string | null;
  requestId: string | null;
  /** Ids and words, never a secret. */
  details: Record<string, string>;
}

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
}

/** Number of a user's newest events that `listLoginAddresses` searches. */
const newestMax = 10_000;

/**
 * Lists IP addresses from which a user has lately logged in, or reset the password by mail. The
 * user is given by email address.
 */
export async function listLoginAddresses(db: Database, email: string): Promise<string[]> {
  const { rows } = await sql<{ ip: string | null }>`
    select distinct ip from (select ip, event from security_event
        where user_id = (select id from app_user where email = ${email})
        order by id desc limit ${newestMax}) newest
      where event in ('account.created', 'login.succeeded', 'password.reset')`.execute(db);
  return rows.flatMap(({ ip }) => ip ?? []);
}
