import { z } from 'zod';
import { countHeldMail, listRampCounts, type RampCounts } from '../../db/ramps/counts.ts';
import type { RampRow } from '../../db/ramps/ramps.ts';
import type { Database } from '../../db/database.ts';
import { waitingMax } from '../../db/delivery/state.ts';
import { capOfDay, type RampPeriod, rampOvers, rampStatuses } from '../../domain/sender/ramp.ts';
import type { OwnerProject } from '../access/caller.ts';
import { present } from '../http/record.ts';
import { named, ofProject, Time, time } from '../http/schemas.ts';

export const Over = z
  .enum(rampOvers)
  .describe('Mail over the limit waits, or leaves by the next provider of its route');

const StopWhen = named('RampThreshold', {
  bounceRate: z.number().nullable().describe('In percent, of permanent bounces; null: never'),
  complaintRate: z.number().nullable().describe('In percent; null: never'),
  minSent: z.int().describe('The rates are compared from this number of messages on'),
});

const RampDay = named('RampDay', {
  day: z.int(),
  cap: z.int(),
  sent: z.int(),
  bounced: z.int(),
  complained: z.int(),
});

export const Ramp = named('Ramp', {
  id: z.uuid(),
  providerId: z.string().nullable().describe('It counts mail by this provider; null: by any'),
  domain: z.string().nullable().describe('It counts mail from this domain; null: from any'),
  startPerDay: z.int(),
  factor: z.number(),
  days: z.int(),
  over: Over,
  stopWhen: StopWhen.nullable().describe('null: never'),
  status: z.enum(rampStatuses),
  stoppedFor: z.enum(['bounces', 'complaints']).nullable(),
  day: z.int(),
  cap: z.int().nullable().describe('Messages of this day; null: the ramp is DONE'),
  used: z.int().describe('Messages of this day that were accepted, or may be'),
  held: z.int().describe('Messages that wait because of this ramp'),
  nextDayAt: Time.nullable().describe('null: days do not pass'),
  history: z.array(RampDay).describe('The days that are over'),
  startedAt: Time,
  ...ofProject,
});

export const rampExample: z.input<typeof Ramp> = {
  id: '9a000000-0000-4000-8000-000000000001',
  providerId: null,
  domain: 'news.shop.example',
  startPerDay: 200,
  factor: 1.5,
  days: 14,
  over: 'hold',
  stopWhen: { bounceRate: 5, complaintRate: 0.1, minSent: 100 },
  status: 'RUNNING',
  stoppedFor: null,
  day: 2,
  cap: 300,
  used: 120,
  held: 40,
  nextDayAt: '2026-11-23T08:00:00.000Z',
  history: [{ day: 1, cap: 200, sent: 200, bounced: 1, complained: 0 }],
  startedAt: '2026-11-21T08:00:00.000Z',
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  createdAt: '2026-11-21T08:00:00.000Z',
  updatedAt: '2026-11-22T08:00:00.000Z',
};

/** Returns the records of ramps of one project, in the given order. */
export async function presentRamps(
  db: Database,
  rows: readonly RampRow[],
  project: OwnerProject,
): Promise<z.input<typeof Ramp>[]> {
  const [first] = rows;
  if (!first) return [];
  const held = await countHeldMail(db, first.project_id, waitingMax);
  const counts = await listRampCounts(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({
    ...presentRamp(row, counts.get(row.id), project),
    held: held.get(row.id) ?? 0,
  }));
}

function presentRamp(
  row: RampRow,
  { used, periods }: Pick<RampCounts, 'used' | 'periods'> = { used: 0, periods: [] },
  { publicId: projectId }: OwnerProject,
): Omit<z.input<typeof Ramp>, 'held'> {
  const { start_per_day: startPerDay, factor, status, day, min_sent: minSent } = row;
  const isDone = status === 'DONE';
  const capOf = (one: number) => capOfDay({ startPerDay, factor }, one);
  const past = periods.filter((period) => period.day < day || isDone);
  return present(Ramp.omit({ held: true }), row, {
    projectId,
    stopWhen:
      minSent === null
        ? null
        : { bounceRate: row.bounce_rate, complaintRate: row.complaint_rate, minSent },
    cap: isDone ? null : capOf(day),
    used: isDone ? 0 : used,
    nextDayAt: time(row.day_ends_at),
    history: daysOf(past).map((one) => ({ ...one, cap: capOf(one.day) })),
    startedAt: time(row.created_at),
  });
}

/** Returns the sums of the periods of each day, in order. */
function daysOf(periods: readonly RampPeriod[]): Omit<RampPeriod, 'number'>[] {
  const days = new Map<number, Omit<RampPeriod, 'number'>>();
  for (const { day, sent, bounced, complained } of periods) {
    const sum = days.get(day) ?? { day, sent: 0, bounced: 0, complained: 0 };
    days.set(day, {
      day,
      sent: sum.sent + sent,
      bounced: sum.bounced + bounced,
      complained: sum.complained + complained,
    });
  }
  return [...days.values()];
}
