import type { Database } from '../../database.ts';
import { releaseRampMail } from '../../delivery/releases.ts';
import { advanceRamp, endRamp, type RampProgress } from '../../ramps/ramps.ts';

/** A day has this number of minutes; mail of a day is made due at most once a minute. */
const minutesPerDay = 1_440;

/**
 * Begins the due days of a ramp, and makes as much of its held mail due as the current day allows.
 * Returns the state of the ramp; `dueMs` is the time until the next call. null: the ramp is
 * deleted, or is DONE and holds no mail.
 *
 * Some of the mail that becomes due may not be sent, for example because another ramp holds it.
 * Then more mail can be made due on the same day. The first further call comes after a minute. Each
 * later one waits as long as the day has lasted so far.
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
