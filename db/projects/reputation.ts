import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Moment, countMoments, momentsOf } from '../sql/mail-moments.ts';
import {
  type FeedbackWindows,
  type Measure,
  sentThatMatters,
} from '../../domain/sender/reputation.ts';

/**
 * Returns the numbers of a project's sent mail and feedback, by time window. Mail to the simulator,
 * and feedback caused by the provider's own suppression list, are not counted.
 */
export async function findFeedback(db: Database, projectId: string): Promise<FeedbackWindows> {
  // Counts all messages, and then subtracts those to the simulator, and bounces and complaints
  // caused by the provider's own list. `isKept`: the simulator mail that the first count contains.
  const isKept = {
    sent_at: sql`status <> 'FAILED'`,
    bounced_at: sql`true`,
    complained_at: sql`true`,
  };
  const count = (moment: Moment, at: keyof typeof isKept, listed?: Moment) => sql`(select (
      ${countMoments(projectId, moment, { from: sql`since.at` })}
      - ${listed ? countMoments(projectId, listed, { from: sql`since.at` }) : sql`0`}
      - (select count(*) from email where project_id = ${projectId} and ${isSimulated}
        and ${sql.ref(at)} >= since.at and ${isKept[at]}))::int as count)`;
  const { rows } = await sql<{
    window: keyof FeedbackWindows;
    total: number;
    bounces: number;
    complaints: number;
  }>`
    select since.window, sent.count as total, bounced.count as bounces,
        complained.count as complaints
      from (values ('twentyFourHour', now() - interval '24 hours'),
        ('sevenDay', now() - interval '7 days'), ('allTime', '-infinity'::timestamptz))
        as since("window", at)
      cross join lateral ${count('sent', 'sent_at')} sent
      cross join lateral ${count('bounced', 'bounced_at', 'listedBounce')} bounced
      cross join lateral ${count('complained', 'complained_at', 'listedComplaint')} complained`.execute(
    db,
  );
  const none = { total: 0, bounces: 0, complaints: 0 };
  const windows: FeedbackWindows = { twentyFourHour: none, sevenDay: none, allTime: none };
  for (const { window, ...feedback } of rows) windows[window] = feedback;
  return windows;
}

/**
 * Returns the number of bounces or of complaints (`measure`), and of sent mail, by time window.
 * Sent mail is counted only up to `sentThatMatters`, because this function runs at every bounce and
 * complaint.
 */
export async function findMeasure(
  db: Database,
  projectId: string,
  measure: Measure,
): Promise<FeedbackWindows> {
  const moment = measure === 'bounces' ? 'bounced' : 'complained';
  const listed = measure === 'bounces' ? 'listedBounce' : 'listedComplaint';
  const at = sql.ref(`${moment}_at`);
  const since = (from: RawBuilder<Date>) => sql<number>`
    (${countMoments(projectId, moment, { from })} - ${countMoments(projectId, listed, { from })}
      - (select count(*) from email
      where project_id = ${projectId} and ${at} >= ${from} and ${isSimulated}))::int`;
  const { rows } = await sql<{ day: number; week: number; all: number }>`
    select ${since(sql`now() - interval '24 hours'`)} as day, ${since(sinceAWeek)} as week,
        ${since(sinceEver)} as all`.execute(db);
  const { day, week, all } = rows[0] ?? { day: 0, week: 0, all: 0 };
  const feedback = async (count: number, since: RawBuilder<Date>) => ({
    bounces: 0,
    complaints: 0,
    [measure]: count,
    total: await countSent(db, projectId, since, sentThatMatters(measure, count)),
  });
  return {
    // The rates of one day are not judged, so sent mail is not counted for this window.
    twentyFourHour: { total: 0, bounces: 0, complaints: 0, [measure]: day },
    sevenDay: await feedback(week, sinceAWeek),
    allTime: await feedback(all, sinceEver),
  };
}

const sinceAWeek = sql<Date>`(now() - interval '7 days')`;
const sinceEver = sql<Date>`'-infinity'::timestamptz`;
const isSimulated = sql`to_email like '%@simulator.test'`;

/** Counts sent messages, except those to the simulator, up to `max`. */
async function countSent(
  db: Database,
  projectId: string,
  since: RawBuilder<Date>,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with simulated as (
      select count(*) from email
        where project_id = ${projectId} and ${isSimulated} and sent_at >= ${since}
          and status <> 'FAILED'
    )
    select (count(*) - (select count from simulated))::int as count
      from (select from ${momentsOf(projectId, 'sent', sql`at >= ${since}`)}
        limit ${max} + (select count from simulated)) found`.execute(db);
  return rows[0]?.count ?? 0;
}
