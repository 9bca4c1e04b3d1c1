import type { Database } from '../db/database.ts';
import { advanceRamp } from '../db/ramps/ramps.ts';

export type RampActivities = ReturnType<typeof createRampActivities>;

export interface RampServices {
  db: Database;
}

export function createRampActivities({ db }: RampServices) {
  return {
    /**
     * Begins the days of a ramp that are due. Returns what its run shows, and the milliseconds until
     * the next day (null: days do not pass); null when the ramp is done or gone.
     */
    async ADVANCE_RAMP(
      rampId: string,
    ): Promise<{ details: string; nextDay: number; dueMs: number | null } | null> {
      const ramp = await advanceRamp(db, rampId);
      if (!ramp) return null;
      const { status, day, days, used, cap, dueMs } = ramp;
      const paused = status === 'RUNNING' ? '' : `${status}: `;
      return {
        details: `${paused}day ${day} of ${days}, ${used} of ${cap}`,
        nextDay: day + 1,
        dueMs,
      };
    },
  };
}
