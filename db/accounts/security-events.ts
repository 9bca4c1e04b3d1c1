import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The event names of the security log, which must not change, because alerts are built on them. */
export const securityEventNames = [
  'account.created',
  'account.claimed',
  'account.adopted',
  'account.deleted',
  'email.verified',
  'login.succeeded',
  'login.refused',
  'logout',
  'logout.backchannel',
  'session.ended',
  'password.changed',
  'password.refused',
  'password.reset_requested',
  'password.reset',
  'break_glass.issued',
  'break_glass.used',
  'passkey.cloned',
  'factor.added',
  'factor.changed',
  'factor.removed',
  'factor.refused',
  'recovery_code.used',
  'recovery_code.renewed',
  'identity.linked',
  'identity.unlinked',
  'project.created',
  'project.changed',
  'project.reset',
  'project.deleted',
  'project.policy_changed',
  'keys.regenerated',
  'webhook_secret.regenerated',
  'billing_limits.changed',
  'billing.opened',
  'api_key.created',
  'api_key.changed',
  'api_key.rotated',
  'api_key.revoked',
  'api_key.expired',
  'secret.set',
  'secret.deleted',
  'event_subscription.created',
  'event_subscription.changed',
  'event_subscription.deleted',
  'event_subscription.secret_rotated',
  'event_subscription.replayed',
  'event_subscription.retried',
  'provider.created',
  'provider.changed',
  'provider.deleted',
  'provider.token_rotated',
  'domain.added',
  'domain.changed',
  'domain.removed',
  'send_policy.changed',
  'link_policy.changed',
  'holdout.changed',
  'routing.changed',
  'consent_policy.changed',
  'topic.created',
  'topic.changed',
  'topic.deleted',
  'segment.created',
  'segment.changed',
  'segment.deleted',
  'suppression.added',
  'suppression.removed',
  'ramp.created',
  'ramp.paused',
  'ramp.resumed',
  'ramp.deleted',
  'template.created',
  'template.changed',
  'template.deleted',
  'upload.deleted',
  'mail.released',
  'mail.discarded',
  'campaign.created',
  'campaign.changed',
  'campaign.sent',
  'campaign.paused',
  'campaign.resumed',
  'campaign.cancelled',
  'campaign.retried',
  'campaign.experiment_decided',
  'campaign.archived',
  'campaign.unarchived',
  'campaign.deleted',
  'workflow.created',
  'workflow.changed',
  'workflow.deleted',
  'workflow.migrated',
  'workflow.waits_moved',
  'workflow.retried',
  'workflow.cancelled',
  'files.applied',
  'contact.deleted',
  'contact.exported',
  'contact.erased',
  'contacts.imported',
  'contacts.exported',
  'contacts.changed',
  'contacts.deleted',
  'field.deleted',
  'events.deleted',
  'member.added',
  'member.invited',
  'member.joined',
  'member.left',
  'member.declined',
  'member.role_changed',
  'member.removed',
] as const;

export type SecurityEventName = (typeof securityEventNames)[number];

/** A changed field, as the security log keeps it. */
export interface Change {
  field: string;
  before: unknown;
  after: unknown;
}

export interface SecurityEvent {
  event: SecurityEventName;
  /** User who acted; null: a key, or a client that is not signed in. */
  userId: string | null;
  /** The actor, as `actorOf` writes actors; null: a client that is not signed in. */
  actor: string | null;
  /** null: the event concerns only the user, or its row must outlive the project. */
  projectId: string | null;
  /** null: an operator acted by a command on the server. */
  ip: string | null;
  requestId: string | null;
  /** The record that was changed. */
  target: { type: string; id: string } | null;
  changes: readonly Change[] | null;
  /** Ids and short words, never a secret. */
  details: Record<string, string | number>;
}

/**
 * Stores an event. Equal events of a project within a minute are counted in one row, except events
 * with `changes`. If another transaction has locked that row, a new row is inserted instead, so
 * that transactions do not wait for each other.
 */
export async function insertSecurityEvent(db: Database, event: SecurityEvent): Promise<void> {
  const { projectId, actor, target, ip } = event;
  const changes = event.changes && JSON.stringify(event.changes);
  const details = JSON.stringify(event.details);
  await sql`
    with equal as (
      select id from security_event
        where project_id = ${projectId}::uuid and actor = ${actor} and event = ${event.event}
          and target_id = ${target?.id ?? null} and target_type = ${target?.type ?? null}
          and ip = ${ip} and changes is null and ${changes}::jsonb is null
          and details = ${details}::jsonb and created_at > now() - interval '1 minute'
        order by created_at desc, id desc limit 1 for update skip locked),
    counted as (
      update security_event set count = count + 1 from equal where security_event.id = equal.id
        returning security_event.id)
    insert into security_event (event, user_id, actor, project_id, ip, request_id, target_type,
        target_id, changes, details)
      select ${event.event}, ${event.userId}::uuid, ${actor}, ${projectId}::uuid, ${ip},
          ${event.requestId}, ${target?.type ?? null}, ${target?.id ?? null}, ${changes}::jsonb,
          ${details}::jsonb
        where not exists (select from counted)`.execute(db);
}

/** Number of a user's newest events that `listLoginAddresses` searches. */
const newestMax = 10_000;

/**
 * Lists the IP addresses from which a user has created the account, signed in or reset the
 * password, within the user's newest `newestMax` events.
 */
export async function listLoginAddresses(db: Database, email: string): Promise<string[]> {
  const { rows } = await sql<{ ip: string | null }>`
    select distinct ip from (select ip, event from security_event
        where user_id = (select id from app_user where email = ${email})
        order by id desc limit ${newestMax}) newest
      where event in ('account.created', 'login.succeeded', 'password.reset')`.execute(db);
  return rows.flatMap(({ ip }) => ip ?? []);
}
