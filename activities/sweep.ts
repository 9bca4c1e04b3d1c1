import type { Database } from '../db/database.ts';
import { claimForgottenExecutions, claimForgottenWaits } from '../db/dispatch.ts';
import { listForgottenLanes, settleUncertainEmails } from '../db/emails.ts';
import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts';
import type { Dispatcher } from '../workflows/dispatcher.ts';

/** What the sweep does, one activity for each kind of care. Each may be repeated. */
export interface SweepActivities {
  /** Tells Temporal of committed rows it has not heard of: a process died, or it was away. */
  DISPATCH_FORGOTTEN(): Promise<void>;
  /** Ends messages whose outcome stayed unknown for the settle time. */
  SETTLE_UNCERTAIN(): Promise<void>;
  CLEAR_IDEMPOTENCY_KEYS(): Promise<void>;
}

export interface SweepServices {
  db: Database;
  dispatcher: Dispatcher;
  settleMinutes: number;
  unknownPolicy: 'fail' | 'resend';
  idempotencyTtlHours: number;
}

/** Rows handed to the dispatcher at once. */
const pageSize = 500;

export function createSweepActivities(services: SweepServices): SweepActivities {
  const { db, dispatcher } = services;
  return {
    async DISPATCH_FORGOTTEN() {
      for (;;) {
        const [executions, waits] = await Promise.all([
          claimForgottenExecutions(db, pageSize),
          claimForgottenWaits(db, pageSize),
        ]);
        dispatcher.dispatch({ executions, waits });
        if (executions.length < pageSize && waits.length < pageSize) break;
      }
      dispatcher.dispatch({ lanes: await listForgottenLanes(db, pageSize) });
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
}
