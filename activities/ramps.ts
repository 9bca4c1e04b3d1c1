import { findProject } from '../db/projects/projects.ts';
import { listAdministrators } from '../db/accounts/members.ts';
import { type Database, transact } from '../db/database.ts';
import { insertPlatformMail } from '../db/emails/platform-mail.ts';
import { takeUnreportedStop } from '../db/ramps/ramps.ts';
import { passRampDay } from '../db/transactions/ramps/pass-day.ts';
import { rampStoppedMail } from '../domain/mail/account-mail.ts';

export type RampActivities = ReturnType<typeof createRampActivities>;

export interface RampServices {
  db: Database;
  /** Sender of account mail; null: no account mail is sent. */
  platformFrom: string | null;
  dashboardUrl: string;
}

/** Milliseconds for which one activity makes mail due. */
const releasingMs = 20_000;

export function createRampActivities(services: RampServices) {
  return {
    /**
     * Begins the days of a ramp that are due, makes held mail due as each day allows, and informs
     * the administrators if the ramp has stopped. Returns the text that the run shows, and the
     * milliseconds until the next day (null: the ramp is not running); null when the ramp is done
     * or deleted.
     */
    async ADVANCE_RAMP(
      rampId: string,
    ): Promise<{ details: string; nextDay: number; dueMs: number | null } | null> {
      await reportStop(services, rampId);
      const end = Date.now() + releasingMs;
      const ramp = await passRampDay(services.db, rampId, () => Date.now() > end);
      if (!ramp) return null;
      const { status, day, days, used, cap, dueMs } = ramp;
      const state = status === 'RUNNING' ? '' : `${status}: `;
      return {
        details: `${state}day ${day} of ${days}, ${used} of ${cap}`,
        nextDay: day + 1,
        dueMs,
      };
    },
  };
}

/** Writes to the administrators of a project about a ramp that has stopped, once for each stop. */
async function reportStop(
  { db, platformFrom, dashboardUrl }: RampServices,
  rampId: string,
): Promise<void> {
  await transact(db, async (tx) => {
    const stop = await takeUnreportedStop(tx, rampId);
    const project = stop && (await findProject(tx, stop.projectId));
    if (!project) return;
    const { scope, stoppedFor, rate } = stop;
    const mail = rampStoppedMail({
      project: project.name,
      what: scope.domain ?? 'a mail provider',
      stoppedFor,
      rate,
      link: dashboardUrl,
    });
    await insertPlatformMail(tx, platformFrom, await listAdministrators(tx, project.id), mail);
  });
}
