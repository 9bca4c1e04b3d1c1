import { setImmediate } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { withinConditionTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { audienceSql, type MailKind, mayReceive } from './audience.ts';
import { valueSql } from '../sql/filter.ts';
import type { CampaignAudience } from '../../domain/campaign/campaign.ts';
import { momentIn } from '../../domain/campaign/local-time.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import type { ZonePolicy } from '../../domain/time/zones.ts';

/**
 * Computes the send times of a campaign with a local time. Each time zone is handled once, for all
 * its contacts.
 */

/** Number of time zones that are read at once. */
const zonePage = 500;

/**
 * Number of time zones after which other work gets its turn, because the first use of a time zone
 * may take milliseconds.
 */
const zonesInRow = 10;

/** Settings from which the send times of a campaign are computed. */
interface LocalTimePlan {
  localTime: string;
  policy: ZonePolicy;
}

/**
 * SQL of the time zone in a row of `contact`, in lower case; empty if there is none. The caller
 * checks the name, because PostgreSQL may know other time zones than Node.js.
 */
export function zoneText({ contactTimeZoneField: field }: ZonePolicy): RawBuilder<string> {
  if (field === null) return sql<string>`''`;
  const value = valueSql(sql`contact.data`, field.split('.').slice(1));
  const text = sql`${value} #>> '{}'`;
  return sql<string>`case when jsonb_typeof(${value}) = 'string'
    and length(${text}) <= ${limits.zoneChars} then lower(${text} collate "C") else '' end`;
}

/**
 * Counts the contacts that a campaign would be sent to now, and returns their different send times,
 * in milliseconds since 1970. Reads the audience once, and its time zones page by page; these may
 * include texts that are no time zone.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function countMoments(
  db: Database,
  given: { projectId: string; audience: CampaignAudience; kind: MailKind },
  plan: LocalTimePlan,
): Promise<{ total: number; moments: Set<number> }> {
  const { projectId } = given;
  const end = Date.now() + limits.conditionTimeMs;
  return withinConditionTime(db, async (tx) => {
    const holds = await audienceSql(tx, projectId, given.audience, new Date());
    await sql`
      declare audience_zone no scroll cursor for
        select ${zoneText(plan.policy)} as zone, count(*)::int as contacts from contact
          where project_id = ${projectId} and ${mayReceive(given.kind)} and (${holds})
          group by 1`.execute(tx);
    let total = 0;
    const moments = new Set<number>();
    for (;;) {
      const { rows } = await sql<{ zone: string; contacts: number }>`
        fetch ${sql.lit(zonePage)} from audience_zone`.execute(tx);
      for (const { contacts } of rows) total += contacts;
      for (const { at } of await momentsOf(rows, plan)) moments.add(at);
      if (rows.length < zonePage) return { total, moments };
      if (Date.now() > end) throw new Problem('CONDITION_TOO_HEAVY');
    }
  });
}

/** The send time of all contacts that have the same text as their time zone. */
export interface ZoneMoment {
  zone: string;
  /** In milliseconds since 1970. */
  at: number;
}

/**
 * Returns the send times of contacts, by time zone.
 * @param contacts a query with the columns of `contact`.
 */
export async function listMoments(
  tx: Database,
  contacts: RawBuilder<unknown>,
  plan: LocalTimePlan,
): Promise<ZoneMoment[]> {
  const { rows } = await sql<{ zone: string }>`
    select distinct ${zoneText(plan.policy)} as zone from (${contacts}) as contact`.execute(tx);
  return momentsOf(rows, plan);
}

async function momentsOf(
  zones: readonly { zone: string }[],
  { localTime, policy }: LocalTimePlan,
): Promise<ZoneMoment[]> {
  const moments: ZoneMoment[] = [];
  for (const { zone } of zones) {
    moments.push({ zone, at: momentIn(zone, policy.timeZone, localTime).getTime() });
    if (moments.length % zonesInRow === 0) await setImmediate();
  }
  return moments;
}
