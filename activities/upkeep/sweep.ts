import type { Database } from '../../db/database.ts';
import { deleteOldBodies } from '../../db/emails/body-retention.ts';
import { claimForgottenExecutions, claimForgottenWaits } from '../../db/dispatch-store.ts';
import { signalStalledCampaigns } from '../../db/campaigns/campaigns.ts';
import { listForgottenDeliveries } from '../../db/emails/emails.ts';
import { settleUncertainEmails } from '../../db/emails/outcomes.ts';
import { deleteOldSnsReceipts } from '../../db/emails/feedback.ts';
import { foldEventTally } from '../../db/events/statistics.ts';
import { type BrokenRun, repairExecutions } from '../../db/workflows/executions.ts';
import { deleteExpiredIdempotencyKeys } from '../../db/idempotency.ts';
import { deleteOldPaymentReceipts } from '../../db/billing/payments.ts';
import { cancelLateExecutions } from '../../db/projects/suspension.ts';
import { deleteOldSecurityEvents } from '../../db/accounts/security-events.ts';
import { deleteExpiredSessions } from '../../db/accounts/sessions.ts';
import { deleteExpiredTokens } from '../../db/accounts/users.ts';
import { deleteOldJobs, signalStalledJobs } from '../../db/contacts/jobs.ts';
import { claimOverdue } from '../../db/outbox/outbox.ts';
import type { Dispatcher } from '../../domain/runs.ts';
import { warnOfLimits, type WarningServices } from './limit-warnings.ts';
import { recomputeSegments } from '../contacts/segments.ts';
import { reportDueUsage, type UsageServices } from './usage.ts';

/** The tasks of the sweep, one activity each. Each may be repeated. */
export interface SweepTasks {
  /** Dispatches committed rows that Temporal does not have: a process died, or it was down. */
  DISPATCH_FORGOTTEN(): Promise<void>;
  /** Ends executions whose run somebody ended in Temporal instead of through the API. */
  REPAIR_EXECUTIONS(): Promise<void>;
  /** Ends executions that an event started while their project was being disabled. */
  CANCEL_LATE_EXECUTIONS(): Promise<void>;
  /** Ends messages whose outcome stayed unknown for the settle time. */
  SETTLE_UNCERTAIN(): Promise<void>;
  /** Signals campaigns whose run is gone. */
  WAKE_STALLED_CAMPAIGNS(): Promise<void>;
  CLEAR_IDEMPOTENCY_KEYS(): Promise<void>;
  /** Folds what was appended to the counts of events. */
  FOLD_EVENT_TALLY(): Promise<void>;
  /** Signals jobs whose run is gone. */
  WAKE_STALLED_JOBS(): Promise<void>;
  /** Deletes jobs that are too old to be read. */
  CLEAR_JOBS(): Promise<void>;
  /** Computes or counts the segments that are due, every five minutes each. */
  RECOMPUTE_SEGMENTS(): Promise<void>;
  /** Deletes expired sessions, security events, links of account mails and events of providers. */
  CLEAR_TOKENS_AND_RECEIPTS(): Promise<void>;
  /** Deletes bodies and attachments of messages after their retention time. */
  CLEAR_MAIL_BODIES(): Promise<void>;
  /** Writes to the administrators of projects that have used most of a limit. */
  WARN_OF_LIMITS(): Promise<void>;
  /** Reports sent messages to the payment provider. */
  REPORT_USAGE(): Promise<void>;
}

export interface SweepActivities extends SweepTasks {
  /** The tasks of this worker's version, in order. */
  LIST_TASKS(): Promise<(keyof SweepTasks)[]>;
  /** Its former name, for runs that began with it. */
  LIST_CHORES(): Promise<(keyof SweepTasks)[]>;
}

export interface SweepServices extends WarningServices, UsageServices {
  db: Database;
  dispatcher: Dispatcher;
  /** The runs of executions that were closed since a moment without completing. */
  listBrokenRuns(since: Date): AsyncIterable<BrokenRun>;
  settleMinutes: number;
  unknownPolicy: 'fail' | 'resend';
  idempotencyTtlHours: number;
  /** 0: bodies are kept forever. */
  bodyRetentionDays: number;
  securityLogDays: number;
}

/** How far back closed runs are checked, in milliseconds: many sweeps, in case some are missed. */
const repairWindowMs = 15 * 60_000;
/** How long one sweep deletes old bodies, in milliseconds: the next one continues. */
const clearingMs = 10_000;
/** Rows dispatched or repaired at once. */
const pageSize = 500;

export function createSweepActivities(services: SweepServices): SweepActivities {
  const { db, dispatcher } = services;
  const tasks: SweepTasks = {
    async DISPATCH_FORGOTTEN() {
      for (;;) {
        const [executions, waits, runs] = await Promise.all([
          claimForgottenExecutions(db, pageSize),
          claimForgottenWaits(db, pageSize),
          claimOverdue(db, pageSize),
        ]);
        dispatcher.dispatch({ executions, waits, runs });
        if ([executions, waits, runs].every((page) => page.length < pageSize)) break;
      }
      dispatcher.dispatch({ deliveries: await listForgottenDeliveries(db, pageSize) });
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
    async CANCEL_LATE_EXECUTIONS() {
      for (;;) {
        const executions = await cancelLateExecutions(db, pageSize);
        dispatcher.dispatch({ executions });
        if (executions.length < pageSize) break;
      }
    },
    async SETTLE_UNCERTAIN() {
      const { settleMinutes, unknownPolicy: policy } = services;
      for (;;) {
        const page = { settleMinutes, policy, max: pageSize };
        const { settled, runs } = await settleUncertainEmails(db, page);
        dispatcher.dispatch({ runs });
        if (settled < pageSize) break;
      }
    },
    async WAKE_STALLED_CAMPAIGNS() {
      dispatcher.dispatch({ runs: await signalStalledCampaigns(db, pageSize) });
    },
    async CLEAR_IDEMPOTENCY_KEYS() {
      await deleteExpiredIdempotencyKeys(db, services.idempotencyTtlHours);
    },
    async FOLD_EVENT_TALLY() {
      await foldEventTally(db);
    },
    async WAKE_STALLED_JOBS() {
      dispatcher.dispatch({ runs: await signalStalledJobs(db, pageSize) });
    },
    async CLEAR_JOBS() {
      await deleteOldJobs(db);
    },
    async RECOMPUTE_SEGMENTS() {
      await recomputeSegments(db, dispatcher);
    },
    CLEAR_TOKENS_AND_RECEIPTS: () => clearTokensAndReceipts(services),
    async CLEAR_MAIL_BODIES() {
      if (services.bodyRetentionDays === 0) return;
      const before = new Date(Date.now() - services.bodyRetentionDays * 86_400_000);
      const end = Date.now() + clearingMs;
      while ((await deleteOldBodies(db, before)) && Date.now() < end);
    },
    async WARN_OF_LIMITS() {
      dispatcher.dispatch({ runs: await warnOfLimits(services) });
    },
    async REPORT_USAGE() {
      await reportDueUsage(services);
    },
  };
  const list = async () => Object.keys(tasks) as (keyof SweepTasks)[];
  return { ...tasks, LIST_TASKS: list, LIST_CHORES: list };
}

async function clearTokensAndReceipts({ db, securityLogDays }: SweepServices): Promise<void> {
  await deleteExpiredTokens(db);
  while (await deleteExpiredSessions(db));
  while (await deleteOldSecurityEvents(db, securityLogDays));
  await deleteOldPaymentReceipts(db);
  await deleteOldSnsReceipts(db);
}
