import type { Database } from '../db/database.ts';
import { claimForgottenExecutions, claimForgottenWaits } from '../db/dispatch.ts';
import { listForgottenLanes, settleUncertainEmails } from '../db/emails.ts';
import { type BrokenRun, repairExecutions } from '../db/executions.ts';
import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts';
import { claimForgottenRunWakes } from '../db/run-wakes.ts';
import type { Dispatcher } from '../workflows/dispatcher.ts';

/** What the sweep does, one activity for each kind of care. Each may be repeated. */
export interface SweepChores {
  /** Tells Temporal of committed rows it has not heard of: a process died, or it was away. */
  DISPATCH_FORGOTTEN(): Promise<void>;
  /** Ends executions whose run was ended by somebody in Temporal instead of through the API. */
  REPAIR_EXECUTIONS(): Promise<void>;
  /** Ends messages whose outcome stayed unknown for the settle time. */
  SETTLE_UNCERTAIN(): Promise<void>;
  CLEAR_IDEMPOTENCY_KEYS(): Promise<void>;
}

export interface SweepActivities extends SweepChores {
  /** The chores of this worker's version, in the order they are done. */
  LIST_CHORES(): Promise<(keyof SweepChores)[]>;
}

export interface SweepServices {
  db: Database;
  dispatcher: Dispatcher;
  /** The runs of executions that did not complete and were closed since a moment. */
  listBrokenRuns(since: Date): AsyncIterable<BrokenRun>;
  settleMinutes: number;
  unknownPolicy: 'fail' | 'resend';
  idempotencyTtlHours: number;
}

/** How far back closed runs are looked at, in milliseconds: many sweeps, should some be missed. */
const repairWindowMs = 15 * 60_000;
/** Rows handed to the dispatcher, or repaired, at once. */
const pageSize = 500;

export function createSweepActivities(services: SweepServices): SweepActivities {
  const { db, dispatcher } = services;
  const chores: SweepChores = {
    async DISPATCH_FORGOTTEN() {
      for (;;) {
        const [executions, waits, runs] = await Promise.all([
          claimForgottenExecutions(db, pageSize),
          claimForgottenWaits(db, pageSize),
          claimForgottenRunWakes(db, pageSize),
        ]);
        dispatcher.dispatch({ executions, waits, runs });
        if ([executions, waits, runs].every((page) => page.length < pageSize)) break;
      }
      dispatcher.dispatch({ lanes: await listForgottenLanes(db, pageSize) });
    },
    async REPAIR_EXECUTIONS() {
      let page: BrokenRun[] = [];
      for await (const run of services.listBrokenRuns(new Date(Date.now() - repairWindowMs))) {
        page.push(run);
        if (page.length < pageSize) continue;
        await repairExecutions(db, page);
        page = [];
      }
      await repairExecutions(db, page);
    },
    async SETTLE_UNCERTAIN() {
      await settleUncertainEmails(db, {
        settleMinutes: services.settleMinutes,
        policy: services.unknownPolicy,
      });
    },
    async CLEAR_IDEMPOTENCY_KEYS() {
      await deleteExpiredIdempotencyKeys(db, services.idempotencyTtlHours);
    },
  };
  return { ...chores, LIST_CHORES: async () => Object.keys(chores) as (keyof SweepChores)[] };
}
