import type { Database } from '../../database.ts';
import { releaseRampMail } from '../../delivery/releases.ts';
import { advanceRamp, endRamp, type RampProgress } from '../../ramps/ramps.ts';

/** A day has this number of minutes; mail of a day is made due at most once a minute. */
const minutesPerDay = 1_440;

/**
 * Begins the days of a ramp that are due, and makes as much of the mail that it holds due as its day
 * allows. Returns its state, with the milliseconds until this is to be repeated; null: the ramp is
 * gone, or done and holds no mail.
 *
 * Some of that mail may not leave, for example because another ramp holds it. Then more can be made
 * due on the same day: after a minute, and again after twice the time.
 */
export async function passRampDay(
  db: Database,
  rampId: string,
  isOver: () => boolean,
): Promise<RampProgress | null> {
  const ramp = await advanceRamp(db, rampId);
  if (!ramp) return null;
  const { status, used, cap, sinceMs, dueMs, daySeconds } = ramp;
  const repeatMs = (daySeconds * 1000) / minutesPerDay;
  if (status === 'DONE') {
    const holdsMore = await releaseRampMail(db, { rampId, room: Infinity }, isOver);
    if (holdsMore) return { ...ramp, dueMs: repeatMs };
    await endRamp(db, rampId);
    return null;
  }
  if (dueMs === null || used >= cap) return ramp;
  const holdsMore = await releaseRampMail(db, { rampId, room: cap - used }, isOver);
  return holdsMore ? { ...ramp, dueMs: Math.min(dueMs, Math.max(repeatMs, sinceMs)) } : ramp;
}
