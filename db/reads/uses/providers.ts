import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { providerOf } from '../../sql/mail-claims.ts';

/** Numbers of objects and messages that still use a mail provider of a project. */
export interface ProviderUses {
  /** Routes with this provider. */
  routes: number;
  /** Unfinished ramps with this provider. */
  ramps: number;
  /** Messages that are being given to this provider now. */
  sending: number;
  /** Messages that this provider may have accepted. */
  unknown: number;
}

/** Maximum number of messages that are counted. */
const countedMax = 10_000;

/** Counts the uses of a mail provider; messages up to `countedMax` of each kind. */
export async function countProviderUses(
  db: Database,
  projectId: string,
  providerId: string,
): Promise<ProviderUses> {
  const named = JSON.stringify([{ id: providerId }]);
  const claimed = sql`(
    select email_queue.lease_until from email_queue join email on email.id = email_id
      where email_queue.project_id = ${projectId} and email.provider_id = ${providerId}
        and email_queue.lease_until is not null
    union all
    select campaign_chunk.lease_until from campaign_chunk join email on email.id = any(email_ids)
      where campaign_chunk.project_id = ${projectId} and ${providerOf('email')} = ${providerId}
        and campaign_chunk.attempt_id is not null) claimed`;
  const count = (where: RawBuilder<unknown>) =>
    sql`(select count(*) from (select from ${claimed} where ${where} limit ${countedMax}) counted)`;
  const { rows } = await sql<ProviderUses>`
    select (select count(*) from mail_routing, jsonb_array_elements(routes) as route
          where project_id = ${projectId} and route -> 'providers' @> ${named}::jsonb)::int as routes,
      (select count(*) from ramp where project_id = ${projectId} and provider_id = ${providerId}
          and status <> 'DONE')::int as ramps,
      ${count(sql`lease_until >= now()`)}::int as sending,
      ${count(sql`lease_until < now()`)}::int as unknown`.execute(db);
  return rows[0] ?? { routes: 0, ramps: 0, sending: 0, unknown: 0 };
}
