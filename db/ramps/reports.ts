import { sql } from 'kysely';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import { listRampCounts, settleRamps } from './counts.ts';
import { haltRamp, passDays, type RampRow } from './ramps.ts';
import { domainOf } from '../../domain/email-address.ts';
import { judgeRamp, rampFits } from '../../domain/sender/ramp.ts';

/** Counts reports on mail of ramps, and stops a ramp whose threshold is reached. */

/** A message that has bounced, or has a complaint, for the first time. */
export interface RampReport {
  projectId: string;
  fromEmail: string;
  /** null: the default provider. */
  providerId: string | null;
  sentAt: Date;
  kind: 'bounced' | 'complained';
}

export interface RampStop {
  projectId: string;
  /** Data of the event `email.ramp_stopped`. */
  data: {
    rampId: string;
    providerId: string | null;
    domain: string | null;
    stoppedFor: string;
    rate: number;
  };
}

/**
 * Counts reports for the ramps of their messages, and stops the ramps that have reached their
 * threshold. Returns the stopped ramps.
 */
export async function countForRamps(
  tx: Database,
  reports: readonly RampReport[],
): Promise<RampStop[]> {
  const stops: RampStop[] = [];
  for (const projectId of [...new Set(reports.map((one) => one.projectId))].toSorted()) {
    const own = reports.filter((report) => report.projectId === projectId);
    for (const ramp of await lockRampsOf(tx, projectId)) {
      const fitting = own.filter(({ fromEmail, providerId }) =>
        rampFits(
          { domain: ramp.domain, providerId: ramp.provider_id },
          { senderDomain: domainOf(fromEmail), providerId },
        ),
      );
      if (fitting.length === 0) continue;
      const stop = await judge(tx, ramp, fitting);
      if (stop) stops.push(stop);
    }
  }
  return stops;
}

async function lockRampsOf(tx: Database, projectId: string): Promise<RampRow[]> {
  const { rows } = await sql<RampRow & { now: Date }>`
    select ${columnList('ramp')}, clock_timestamp() as now from ramp
      where project_id = ${projectId} and status <> 'DONE' order by id for update`.execute(tx);
  const open: RampRow[] = [];
  for (const { now, ...row } of rows) open.push(await passDays(tx, row, now));
  return open.filter(({ status }) => status !== 'DONE');
}

async function judge(
  tx: Database,
  ramp: RampRow,
  reports: readonly RampReport[],
): Promise<RampStop | null> {
  const { id, day, judged_from: judgedFrom, min_sent: minSent } = ramp;
  await settleRamps(tx, [id]);
  await sql`
    update ramp_period set bounced = ramp_period.bounced + reported.bounced,
        complained = ramp_period.complained + reported.complained
      from (
        select period.number, (count(*) filter (where kind = 'bounced'))::int as bounced,
            (count(*) filter (where kind = 'complained'))::int as complained
          from unnest(${reports.map(({ sentAt }) => sentAt)}::timestamptz[],
              ${reports.map(({ kind }) => kind)}::text[]) as report(sent_at, kind)
          cross join lateral (select number from ramp_period
            where ramp_id = ${id} and started_at <= report.sent_at
            order by number desc limit 1) period
          group by 1) as reported
      where ramp_period.ramp_id = ${id} and ramp_period.number = reported.number`.execute(tx);
  if (minSent === null || ramp.status !== 'RUNNING') return null;
  const periods = (await listRampCounts(tx, [id])).get(id)?.periods ?? [];
  const threshold = { bounceRate: ramp.bounce_rate, complaintRate: ramp.complaint_rate, minSent };
  const reached = judgeRamp(threshold, { day, judgedFrom, periods });
  if (!reached) return null;
  const { stoppedFor, rate } = reached;
  await haltRamp(tx, ramp, {
    status: 'STOPPED',
    stopped_for: stoppedFor,
    unreported_stop: JSON.stringify(reached),
  });
  const { provider_id: providerId, domain } = ramp;
  return {
    projectId: ramp.project_id,
    data: { rampId: id, providerId, domain, stoppedFor, rate },
  };
}
