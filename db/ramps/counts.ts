import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import type { RampPeriod } from '../../domain/sender/ramp.ts';

/** The counts of ramps: accepted mail by period, and mail whose outcome is not counted yet. */

/**
 * SQL that is true if a row of `ramp_mail` stands for a message whose outcome is not recorded: it is
 * being given to the mail provider, or the provider may have accepted it. Messages of a claimed
 * chunk are still PENDING.
 * @param mail the row's alias. @param email the alias of its message.
 */
export function isUnderWay(mail: string, email: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`(${column('status')} = 'SENDING' or ${column('status')} = 'PENDING'
    and exists (select from campaign_chunk inner_held
      where inner_held.attempt_id = ${sql.ref(`${mail}.attempt_id`)}
        and ${column('id')} = any(inner_held.email_ids)))`;
}

/** Numbers that the API shows of a ramp. */
export interface RampCounts {
  rampId: string;
  /** Mail of the current day: accepted, being sent, or of unknown outcome. */
  used: number;
  periods: RampPeriod[];
}

/** Reads what ramps of one project have counted. */
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
