import { type Insertable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { holdProject } from './projects.ts';
import type { SendPolicy as SendPolicyTable } from '../tables.ts';
import { defaultSendPolicy, type SendPolicy } from '../../domain/mail/send-policy.ts';

/** A stored policy. `updatedAt` null: the project has set none, and these are the defaults. */
export type StoredSendPolicy = SendPolicy & { updatedAt: Date | null };

/** Reads the send policy of a project; the defaults if it has set none. */
export async function readSendPolicy(db: Database, projectId: string): Promise<StoredSendPolicy> {
  const row = await db
    .selectFrom('send_policy')
    .select([
      'time_zone as timeZone',
      'contact_time_zone_field as contactTimeZoneField',
      'quiet_hours as quietHours',
      'caps',
      'on_cap as onCap',
      'updated_at as updatedAt',
    ])
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  return row ? (row as unknown as StoredSendPolicy) : { ...defaultSendPolicy, updatedAt: null };
}

/** Prevents changes of a project's send policy, also of the defaults, until the transaction ends. */
export async function lockSendPolicy(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(
    hashtextextended(${`send policy ${projectId}`}, 0))`.execute(tx);
}

/**
 * Changes a project's send policy, in the caller's transaction. Absent fields keep their values.
 * The changed policy may allow mail that is held. So the caller must call `requestRelease` in the
 * same transaction.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function updateSendPolicy(
  tx: Database,
  projectId: string,
  change: { [K in keyof SendPolicy]?: SendPolicy[K] | undefined },
): Promise<void> {
  await holdProject(tx, projectId);
  // Two concurrent changes of different fields both take effect.
  await lockSendPolicy(tx, projectId);
  await sql`insert into send_policy (project_id) values (${projectId})
    on conflict do nothing`.execute(tx);
  await tx
    .updateTable('send_policy')
    .set({
      ...columnsOfPolicy(change),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where('project_id', '=', projectId)
    .execute();
}

function columnsOfPolicy(
  change: Parameters<typeof updateSendPolicy>[2],
): Partial<Insertable<SendPolicyTable>> {
  const { timeZone, contactTimeZoneField, quietHours, caps, onCap } = change;
  return {
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
    ...(contactTimeZoneField === undefined
      ? {}
      : { contact_time_zone_field: contactTimeZoneField }),
    ...(quietHours === undefined ? {} : { quiet_hours: quietHours && JSON.stringify(quietHours) }),
    ...(caps === undefined ? {} : { caps: JSON.stringify(caps) }),
    ...(onCap === undefined ? {} : { on_cap: onCap }),
  };
}
