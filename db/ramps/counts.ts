import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { addressDomain, anyOf } from '../expressions.ts';
import { providerOf } from '../sql/mail-claims.ts';
import { defaultProviderId } from '../../domain/provider/provider.ts';
import type { RampPeriod } from '../../domain/sender/ramp.ts';

/**
 * The counts of ramps: accepted mail by period, and mail whose outcome is not counted yet. Each
 * claimed message of a ramp has a row in `ramp_mail`. The next claim reads the outcomes of these
 * messages, so no outcome has to be reported to a ramp, and a dead process leaves no wrong count.
 */

/**
 * SQL that is true if the attempt in a row of `ramp_mail` still has its message: the message is
 * being given to the mail provider, or the provider may have accepted it. Messages of a claimed
 * chunk are still PENDING.
 * @param mail the alias of the row in `ramp_mail`
 * @param email the alias of the message
 */
function isUnderWay(mail: string, email: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const attemptId = sql.ref(`${mail}.attempt_id`);
  return sql<boolean>`(${column('status')} = 'SENDING' and ${column('attempt_id')} = ${attemptId}
    or ${column('status')} = 'PENDING' and exists (select from campaign_chunk inner_held
      where inner_held.attempt_id = ${attemptId}
        and ${column('id')} = any(inner_held.email_ids)))`;
}

/** The counts of a ramp that the API shows. */
export interface RampCounts {
  rampId: string;
  /** Messages of the current day: accepted, being sent, or with an unknown outcome. */
  used: number;
  periods: RampPeriod[];
}

/** Reads the counts of ramps of one project. */
export async function listRampCounts(
  db: Database,
  rampIds: readonly string[],
): Promise<Map<string, RampCounts>> {
  const { rows } = await sql<RampCounts>`
    select ramp.id as "rampId",
        (coalesce((select sum(sent) from ramp_period
            where ramp_id = ramp.id and day = ramp.day), 0)
          + (select count(*) from ramp_mail mail join email on email.id = mail.email_id
            where mail.ramp_id = ramp.id and (${isUnderWay('mail', 'email')}
              or email.sent_at >= (select min(started_at) from ramp_period
                where ramp_id = ramp.id and day = ramp.day))))::int as used,
        (select jsonb_agg(jsonb_build_object('number', number, 'day', day, 'sent', sent,
            'bounced', bounced, 'complained', complained) order by number)
          from ramp_period where ramp_id = ramp.id) as periods
      from ramp where ramp.id = ${anyOf(rampIds)}`.execute(db);
  return new Map(rows.map((row) => [row.rampId, row]));
}

/**
 * Counts the outcomes of mail that locked ramps have let pass, each in the period in which the
 * message was accepted. Returns the messages of the current day by ramp: accepted, being sent, or
 * with an unknown outcome. A message that was deleted in the meantime counts as accepted now.
 */
export async function settleRamps(
  tx: Database,
  rampIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; used: number }>`
    with judged as materialized (
      select mail.ramp_id, mail.email_id,
          case when email.id is null then clock_timestamp() else email.sent_at end as sent_at,
          coalesce(${isUnderWay('mail', 'email')}, false) as is_under_way
        from ramp_mail mail left join email on email.id = mail.email_id
        where mail.ramp_id = ${anyOf(rampIds)}
    ), settled as (
      delete from ramp_mail using judged
        where ramp_mail.ramp_id = judged.ramp_id and ramp_mail.email_id = judged.email_id
          and not judged.is_under_way
    ), accepted as (
      select period.ramp_id, period.number, period.day, count(*)::int as sent
        from judged cross join lateral (
          select ramp_id, number, day from ramp_period
            where ramp_id = judged.ramp_id and started_at <= judged.sent_at
            order by number desc limit 1) period
        where not judged.is_under_way group by 1, 2, 3
    ), counted as (
      update ramp_period set sent = ramp_period.sent + accepted.sent from accepted
        where ramp_period.ramp_id = accepted.ramp_id and ramp_period.number = accepted.number
    )
    select ramp.id,
        (coalesce((select sum(sent) from ramp_period
            where ramp_id = ramp.id and day = ramp.day), 0)
          + coalesce((select sum(sent) from accepted
            where ramp_id = ramp.id and day = ramp.day), 0)
          + (select count(*) from judged
            where ramp_id = ramp.id and is_under_way))::int as used
      from ramp where ramp.id = ${anyOf(rampIds)}`.execute(tx);
  return new Map(rows.map(({ id, used }) => [id, used]));
}

/** Records that locked ramps count these claimed messages, in the transaction of the claim. */
export async function insertRampMail(
  tx: Database,
  attemptId: string,
  mail: readonly { rampId: string; emailId: string }[],
): Promise<void> {
  if (mail.length === 0) return;
  await sql`
    insert into ramp_mail (ramp_id, email_id, attempt_id)
      select ramp_id, email_id, ${attemptId}::uuid
        from unnest(${mail.map(({ rampId }) => rampId)}::uuid[],
          ${mail.map(({ emailId }) => emailId)}::uuid[]) as mail(ramp_id, email_id)
      on conflict (ramp_id, email_id) do update set attempt_id = excluded.attempt_id`.execute(tx);
}

/**
 * Removes a message from the counts of locked ramps, because it is sent through another provider.
 */
export async function deleteRampMail(
  tx: Database,
  emailId: string,
  rampIds: readonly string[],
): Promise<void> {
  await sql`delete from ramp_mail
    where email_id = ${emailId} and ramp_id = ${anyOf(rampIds)}`.execute(tx);
}

/**
 * Adds messages to the counts of a new ramp that were claimed before the ramp existed, and are
 * being sent or have an unknown outcome.
 */
export async function adoptMail(
  tx: Database,
  ramp: { id: string; project_id: string; domain: string | null; provider_id: string | null },
): Promise<void> {
  const fits = (email: string) =>
    sql`(${ramp.domain}::text is null
        or ${addressDomain(sql.ref(`${email}.from_email`))} = ${ramp.domain})
      and (${ramp.provider_id}::text is null
        or coalesce(${providerOf(email)}, ${defaultProviderId}) = ${ramp.provider_id})`;
  await sql`
    insert into ramp_mail (ramp_id, email_id, attempt_id)
      select ${ramp.id}::uuid, email.id, email.attempt_id
        from email_queue queued join email on email.id = queued.email_id
        where queued.project_id = ${ramp.project_id} and queued.lease_until is not null
          and email.status = 'SENDING' and email.attempt_id is not null and ${fits('email')}
      union all
      select ${ramp.id}::uuid, email.id, chunk.attempt_id
        from campaign_chunk chunk cross join unnest(chunk.email_ids) as claimed(id)
        join email on email.id = claimed.id
        where chunk.project_id = ${ramp.project_id} and chunk.attempt_id is not null
          and email.status = 'PENDING' and ${fits('email')}
      on conflict do nothing`.execute(tx);
}

/** Counts the messages that ramps of a project hold back now, up to `max` in all. */
export async function countHeldMail(
  db: Database,
  projectId: string,
  max: number,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; held: number }>`
    select ramp_id as id, count(*)::int as held from (
        select ramp_id from email_queue
          where project_id = ${projectId} and held_until > now()
            and hold_reason = 'warm_up' limit ${max}) held
      where ramp_id is not null group by ramp_id`.execute(db);
  return new Map(rows.map(({ id, held }) => [id, held]));
}
