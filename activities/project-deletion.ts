import type { Database } from '../db/database.ts';
import {
  deleteProjectPage,
  deleteRemovedProject,
  listRemovals,
} from '../db/transactions/projects/delete-project.ts';
import { findProject } from '../db/projects/projects.ts';
import type { Files } from '../providers/files.ts';
import type { Payments } from '../providers/payments/stripe.ts';
import { pause, timeBoxed } from './running/time-box.ts';
import { reportDueUsage } from './upkeep/usage.ts';

export type Removal = 'reset' | 'delete';

/** The rows to remove of a reset or deleted project: `id` is the project id in these rows. */
export interface RemovalCall {
  id: string;
  removal: Removal;
}

export interface RemovalBulk {
  /** Deletes rows for one time slice. Returns how many; `isOver` is true when none is left. */
  DELETE_PROJECT_DATA(call: RemovalCall): Promise<{ deleted: number; isOver: boolean }>;
}

export interface RemovalControl {
  /** Lists the ids that the project's rows had before each reset. `projectId` is the public id. */
  LIST_REMOVED_PROJECTS(call: { projectId: string; removal: Removal }): Promise<string[]>;
  /** Cancels the open runs, or terminates them with `force`. Returns their number. */
  STOP_PROJECT_RUNS(call: RemovalCall & { force: boolean }): Promise<{ open: number }>;
  /** Deletes what is left of a deleted project: its files, its subscription and its row. */
  FORGET_PROJECT(call: RemovalCall): Promise<void>;
}

export interface RemovalServices {
  db: Database;
  /** null: uploads are off. */
  files: Files | null;
  /** null: billing is off. */
  payments: Payments | null;
  log: { warn(details: object, message: string): void };
  /** Asks the open runs of a project to stop. Returns how many were open. */
  stopProjectRuns(projectId: string, options: { force: boolean }): Promise<number>;
}

/** Milliseconds until the next try when the remaining rows cannot be deleted yet. */
const waitMs = 1_000;
/**
 * Maximum number of milliseconds for reporting the last usage. The timeout of FORGET_PROJECT is
 * longer.
 */
const settlingMs = 5 * 60_000;

export function createRemovalActivities(services: RemovalServices): {
  control: RemovalControl;
  bulk: RemovalBulk;
} {
  const { db, files, payments, log } = services;
  const bulk: RemovalBulk = {
    DELETE_PROJECT_DATA({ id }) {
      return timeBoxed(async (shouldContinue, stop) => {
        for (let deleted = 0; ;) {
          if (!shouldContinue()) return { deleted, isOver: false };
          const page = await deleteProjectPage(db, id);
          if (page.isOver) return { deleted, isOver: true };
          if (page.deleted === 0) await pause(waitMs, stop);
          deleted += page.deleted;
        }
      });
    },
  };
  const control: RemovalControl = {
    async LIST_REMOVED_PROJECTS({ projectId, removal }) {
      return listRemovals(db, projectId, removal);
    },
    async STOP_PROJECT_RUNS({ id, force }) {
      return { open: await services.stopProjectRuns(id, { force }) };
    },
    async FORGET_PROJECT({ id, removal }) {
      const project = await findProject(db, id);
      if (!project) return;
      const { public_id: publicId, customer, subscription } = project;
      if (removal === 'delete') {
        if (payments && customer) await settle(customer, subscription, payments);
        await files?.removeFolder(publicId ?? id);
      }
      await deleteRemovedProject(db, id);
    },
  };
  return { control, bulk };

  /**
   * Reports the last usage and ends the payment subscription. If reporting fails or takes too long,
   * the sweep reports the rest later. The subscription ends in any case, because a deleted project
   * must not be charged further.
   */
  async function settle(customer: string, subscription: string | null, to: Payments) {
    const options = { customer, forMs: settlingMs };
    await reportDueUsage({ db, payments: to, log }, options).catch((error: unknown) => {
      log.warn(
        { customer, reason: String(error) },
        'The last usage of a project is reported later',
      );
    });
    if (subscription) await to.endSubscription(subscription);
  }
}
