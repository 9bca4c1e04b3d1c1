import { activityInfo } from '@temporalio/activity';
import type { Database } from '../../db/database.ts';
import { updateWatermark } from '../../db/watermarks.ts';
import { deleteOldBodies } from '../../db/emails/body-retention.ts';
import { signalStalledCampaigns } from '../../db/campaigns/campaigns.ts';
import { expireChunks } from '../../db/campaigns/chunks.ts';
import { signalStalledRamps } from '../../db/ramps/ramps.ts';
import { signalStalledPollers } from '../../db/domains/checks.ts';
import { listForgottenDeliveries } from '../../db/emails/emails.ts';
import { settleUncertainEmails } from '../../db/transactions/mail/record-outcomes.ts';
import { signalStalledSystemMail } from '../../db/emails/system-mail.ts';
import { foldCampaignTally } from '../../db/campaigns/tally.ts';
import { foldLinkTally, readAddresses } from '../../db/engagement/link-upkeep.ts';
import { removeOldClients } from '../../db/engagement/engagement.ts';
import { settleDue } from '../../db/transactions/engagement/settle.ts';
import { foldGoalTally } from '../../db/goals/tally.ts';
import { tallyMoments } from '../../db/emails/moments.ts';
import { foldEventTally } from '../../db/transactions/events/delete-events.ts';
import { continueHeldMail } from '../../db/delivery/releases.ts';
import { continueReleases } from '../../db/workflows/executions/pausing.ts';
import { continueCancellations } from '../../db/transactions/executions/cancel-executions.ts';
import { deleteExpired, deleteOlder } from '../../db/expired.ts';
import { claimUploadRemoval, forgetUpload } from '../../db/projects/uploads.ts';
import { dropOldRequests } from '../../db/requests/upkeep.ts';
import { clearAnswersOfKeys } from '../../db/transactions/projects/clear-answers.ts';
import { signalRemovals } from '../../db/transactions/projects/delete-project.ts';
import { keepDueSchedules } from '../../db/schedules/schedules.ts';
import { continueRemovals } from '../../db/removals/removals.ts';
import {
  cancelLateExecutions,
  failLateMail,
} from '../../db/transactions/projects/suspend-project.ts';
import { signalStalledJobs } from '../../db/jobs/jobs.ts';
import { signalStalledOptIns } from '../../db/transactions/contacts/run-opt-in.ts';
import { signalStalledErasures } from '../../db/erasure/erasures.ts';
import { type Dispatcher, notedSubscription, sweepTimeOf } from '../../domain/runs/runs.ts';
import {
  clearLostDeliveries,
  clearOldDeliveries,
  clearOldLog,
  listForgotten,
  listToClear,
  noteCleared,
  reconcileRecorded,
} from '../../db/subscriptions/upkeep.ts';
import { noticeCluster, otherCluster } from '../../db/subscriptions/cluster.ts';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import { recordHeartbeat } from '../../db/restores/heartbeat.ts';
import { noticedMessages } from '../../domain/runs/restores.ts';
import type { Heartbeat, KnownSweeps } from '../../domain/runs/lost-history.ts';
import { repairRestores, type RepairServices } from '../restores/repair.ts';
import { announceKeyEnds, type KeyExpiryServices } from './key-expiry.ts';
import { warnOfLimits, type WarningServices } from './limit-warnings.ts';
import type { Route } from '../../domain/routing/routing.ts';
import type { Files } from '../../providers/files.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';
import type { TemplateRenderer } from '../../providers/rendering/renderer.ts';
import { releaseMailOfClosedCircuits } from '../mail/batches/circuit.ts';
import { recomputeSegments } from '../contacts/segments.ts';
import { reconcileExecutions, type ReconcileServices } from './reconcile.ts';
import { reportDueUsage, type UsageServices } from './usage.ts';

/** The tasks of the sweep, one activity each. Each may be repeated. */
export type SweepTasks = ReturnType<typeof createTasks>;

export interface SweepActivities extends SweepTasks {
  /** Lists the tasks that this worker's version has, in order. */
  LIST_TASKS(): Promise<(keyof SweepTasks)[]>;
  /**
   * Compares the last sweeps in our database and in Temporal, to notice that one of them was
   * restored, and counts this sweep.
   */
  RECORD_HEARTBEAT(): Promise<Heartbeat>;
}

export interface SweepServices
  extends WarningServices, UsageServices, ReconcileServices, KeyExpiryServices, RepairServices {
  db: Database;
  log: ReconcileServices['log'] & KeyExpiryServices['log'];
  dispatcher: Dispatcher;
  mailer: Pick<Mailer, 'provider'>;
  renderer: Pick<TemplateRenderer, 'links'>;
  /** The routes of the installation. */
  routes: readonly Route[];
  settleMinutes: number;
  unknownPolicy: 'fail' | 'resend';
  idempotencyTtlHours: number;
  /** 0: bodies are kept forever. */
  bodyRetentionDays: number;
  securityLogDays: number;
  requestLogDays: number;
  /** null: uploads are off. */
  files: Files | null;
  /** Starts the run that reads the mailbox of reports; null: no mailbox is configured. */
  startFeedbackMailbox: (() => Promise<void>) | null;
  /**
   * Reads the schedule and the recent runs of the sweep from Temporal.
   * @throws when Temporal does not respond
   */
  describeSweep(): Promise<KnownSweeps>;
}

/**
 * Milliseconds for which one sweep cancels executions and fails mail of disabled projects, and as
 * many for cancelling executions of workflows.
 */
const cancellingMs = 10_000;
/**
 * Milliseconds for which one sweep releases held executions, and as many for releasing held mail.
 */
const releasingMs = 20_000;
/** Milliseconds for which one sweep deletes rows of deleted workflows, segments and topics. */
const removingMs = 20_000;
/** Milliseconds for which one sweep announces expiries of keys. The next sweep continues. */
const announcingMs = 10_000;
/** Milliseconds for which one sweep deletes old rows of one kind. The next sweep continues. */
const clearingMs = 10_000;
/** Milliseconds for which one sweep judges opens and clicks. The next sweep continues. */
const settlingMs = 20_000;
/** Milliseconds for which one sweep counts the mail of past days. The next sweep continues. */
const tallyingMs = 5_000;
/** Maximum number of rows dispatched or repaired at once. */
const pageSize = 500;
/** Maximum number of campaign chunks handled in one transaction. */
const chunksMax = 20;

/**
 * Creates the activities of the sweep.
 * @param runIdOf returns the id of the run that scheduled the current activity
 */
export function createSweepActivities(
  services: SweepServices,
  runIdOf = () => activityInfo().workflowExecution?.workflowId ?? '',
): SweepActivities {
  const tasks = createTasks(services);
  return {
    ...tasks,
    LIST_TASKS: () => beginSweep(services.db, tasks),
    RECORD_HEARTBEAT: () => beat(services, runIdOf()),
  };
}

function createTasks(services: SweepServices) {
  const { db, dispatcher, mailer, renderer, routes } = services;
  return {
    /**
     * Repairs the positions in the event log after the database was moved to another PostgreSQL
     * cluster, for example by restoring a dump.
     */
    async NOTICE_CLUSTER() {
      if (await noticeCluster(db)) services.log.warn({}, otherCluster);
    },
    /**
     * Makes runs and rows agree after PostgreSQL or Temporal was restored. Does nothing at other
     * times.
     */
    REPAIR_RESTORES: () => repairRestores(services),
    /**
     * Sends the starts and signals in the outbox that Temporal has not received, because a process
     * died or Temporal was unavailable.
     */
    async DISPATCH_FORGOTTEN() {
      await dispatcher.dispatchOverdue();
      const provider = routes.length > 0 ? null : mailer.provider;
      const projectIds = await listForgottenDeliveries(db, { max: pageSize, provider });
      dispatcher.dispatch(
        projectIds.map((projectId) => ({ runId: deliveryRunId(projectId), projectId })),
      );
    },
    /**
     * Records events, and writes to administrators, about named keys that expire soon or have
     * expired.
     */
    ANNOUNCE_KEY_ENDS: () => announceKeyEnds(services, after(announcingMs)),
    /** Compares executions with their runs, which may be lost, stuck or ended in Temporal. */
    REPAIR_EXECUTIONS: () => reconcileExecutions(services),
    /**
     * Signals runs that seem to be lost: of campaigns, jobs, domains, ramps, removals, erasures,
     * opt-in requests and system mails. Also updates schedules that are late or have changed, and
     * signals event subscriptions that have due events but got no signal.
     */
    async SIGNAL_STALLED_RUNS() {
      while ((await signalStalledCampaigns(db, pageSize)) === pageSize);
      await signalStalledJobs(db, pageSize);
      await signalStalledPollers(db, pageSize);
      await signalStalledRamps(db, pageSize);
      await signalRemovals(db, pageSize);
      await signalStalledErasures(db, pageSize);
      await signalStalledOptIns(db, pageSize);
      await signalStalledSystemMail(db, pageSize);
      await keepDueSchedules(db, pageSize);
      await signalSubscriptions(services);
    },
    /**
     * Cancels executions and fails mail of disabled projects, and cancels the remaining executions
     * of workflows that are being cancelled.
     */
    async CANCEL_LATE_EXECUTIONS() {
      const isLate = after(cancellingMs);
      while (!isLate() && (await cancelLateExecutions(db, pageSize)) === pageSize);
      while (!isLate() && (await failLateMail(db, pageSize)) === pageSize);
      await continueCancellations(db, after(cancellingMs));
    },
    /**
     * Releases what is left: held executions of released workflows, held mail of projects whose
     * policy has changed, and mail that waits for a provider which takes mail again.
     */
    async RELEASE_EXECUTIONS() {
      await continueReleases(db, after(releasingMs));
      await continueHeldMail(db, after(releasingMs));
      await releaseMailOfClosedCircuits(db, mailer.provider, after(releasingMs));
    },
    /** Deletes the remaining rows of deleted workflows, segments and topics. */
    CONTINUE_REMOVALS: () => continueRemovals(db, after(removingMs)),
    /**
     * Ends the expired claims of campaign chunks, whose messages then have an unknown outcome.
     * Messages whose outcome stays unknown for the settle time fail or are sent again
     * (`unknownPolicy`).
     */
    async SETTLE_UNCERTAIN() {
      const { settleMinutes, unknownPolicy: policy } = services;
      while ((await expireChunks(db, chunksMax)) === chunksMax);
      const page = { settleMinutes, policy, max: pageSize };
      while ((await settleUncertainEmails(db, page)) === pageSize);
    },
    /**
     * Gives verdicts to opens and clicks that a dead process recorded but did not judge. Removes
     * the stored clients of opens and clicks whose verdict is final.
     */
    SETTLE_ENGAGEMENT: () => settleEngagement(services),
    /**
     * Removes the data of deleted contacts and events from deliveries. Deletes old deliveries and
     * old rows of the event log.
     */
    CLEAR_EVENT_DELIVERIES: () => clearEventDeliveries(db),
    /**
     * Deletes stored responses of idempotent requests that are old, or whose API key was revoked.
     */
    async CLEAR_IDEMPOTENCY_KEYS() {
      await deleteOlder(db, 'idempotency', services.idempotencyTtlHours);
      await clearAnswersOfKeys(db, after(clearingMs));
    },
    /** Deletes expired entries of suppression lists. */
    CLEAR_SUPPRESSIONS: () => deleteExpired(db, 'suppression', after(clearingMs)),
    /** Folds the appended rows of event counts into one row for each name and day. */
    FOLD_EVENT_TALLY: () => foldEventTally(db),
    /**
     * Folds the counts of campaigns and goals, and counts the events of past days' mail, such as
     * opens and clicks.
     */
    TALLY_MAIL: () => tallyMail(db),
    /**
     * Folds the counts of clicks by link, and stores the addresses of links as their authors wrote
     * them.
     */
    async TALLY_LINKS() {
      const isLate = after(tallyingMs);
      while (!isLate() && (await foldLinkTally(db)));
      while (!isLate() && (await readAddresses(db, renderer)));
    },
    /** Deletes records of events that started no execution, which are kept for 30 days. */
    CLEAR_NOT_STARTED: () => deleteExpired(db, 'not_started', after(clearingMs)),
    /** Deletes jobs that are too old to be read. */
    CLEAR_JOBS: () => deleteExpired(db, 'job'),
    /** Updates the segments that are due; each is due every five minutes. */
    RECOMPUTE_SEGMENTS: () => recomputeSegments(db),
    /**
     * Deletes expired sessions, plans, links of account mails, receipts of providers and other
     * short-lived rows, and old security events.
     */
    CLEAR_TOKENS_AND_RECEIPTS: () => clearTokensAndReceipts(services),
    /** Drops the partitions of the request log that are past their retention. */
    CLEAR_REQUESTS: () => dropOldRequests(db, services.requestLogDays, after(clearingMs)),
    /** Deletes files whose upload or deletion a request has begun but not completed. */
    CLEAR_UPLOADS: () => clearUploads(services),
    /** Deletes bodies and attachments of messages whose retention time is over. */
    CLEAR_MAIL_BODIES: () => clearMailBodies(services),
    /** Writes to the administrators of projects that have used most of a limit. */
    WARN_OF_LIMITS: () => warnOfLimits(services),
    /** Starts the run that reads the mailbox of reports, if it is missing. */
    async START_FEEDBACK_MAILBOX() {
      await services.startFeedbackMailbox?.();
    },
    /** Reports sent messages to the payment provider. */
    async REPORT_USAGE() {
      await reportDueUsage(services);
    },
  };
}

/** Records the heartbeat, and logs a restore that is noticed by it. */
async function beat({ db, log, describeSweep }: SweepServices, runId: string): Promise<Heartbeat> {
  const at = sweepTimeOf(runId);
  const planned = at && { at, known: await describeSweep() };
  const { heartbeat, restore } = await recordHeartbeat(db, planned);
  if (restore) log.warn(restore, noticedMessages[restore.kind]);
  return heartbeat;
}

/** Lists the tasks of a sweep, and records the beginning of the sweep for `/health/ready`. */
async function beginSweep(db: Database, tasks: SweepTasks): Promise<(keyof SweepTasks)[]> {
  await updateWatermark(db, 'sweep', new Date());
  return Object.keys(tasks) as (keyof SweepTasks)[];
}

/** Returns a function that returns true once `ms` milliseconds have passed. */
function after(ms: number): () => boolean {
  const end = Date.now() + ms;
  return () => Date.now() > end;
}

async function clearEventDeliveries(db: Database): Promise<void> {
  const isLate = after(clearingMs);
  while (!isLate() && !(await clearLostDeliveries(db)));
  while (!isLate() && !(await clearOldLog(db)));
  for (let ids = await listToClear(db); ids.length > 0; ids = await listToClear(db)) {
    for (const id of ids) {
      while (!isLate() && !(await clearOldDeliveries(db, id)));
      if (isLate()) return;
      await noteCleared(db, id);
    }
  }
}

async function clearMailBodies({ db, bodyRetentionDays }: SweepServices): Promise<void> {
  if (bodyRetentionDays === 0) return;
  const before = new Date(Date.now() - bodyRetentionDays * 86_400_000);
  const isLate = after(clearingMs);
  while ((await deleteOldBodies(db, before)) && !isLate());
}

async function tallyMail(db: Database): Promise<void> {
  const isLate = after(tallyingMs);
  const tallies = [foldCampaignTally, foldGoalTally, tallyMoments];
  for (const tally of tallies) while (!isLate() && (await tally(db)));
}

async function settleEngagement({ db, log }: SweepServices): Promise<void> {
  const fail = (error: unknown) =>
    log.warn({ error }, 'opens and clicks could not be settled yet; the next sweep tries again');
  await settleDue(db, fail, after(settlingMs));
  const isLate = after(clearingMs);
  while (!isLate() && (await removeOldClients(db)));
}

async function signalSubscriptions({ db, dispatcher }: SweepServices): Promise<void> {
  await reconcileRecorded.execute(db);
  for (let last: string | null = null; ;) {
    const page = await listForgotten(db, last);
    const due = page.filter(({ isDue }) => isDue);
    dispatcher.dispatch(due.map(({ id, projectId }) => notedSubscription(projectId, id)));
    last = page.at(-1)?.id ?? null;
    if (last === null) return;
  }
}

async function clearTokensAndReceipts({ db, securityLogDays }: SweepServices): Promise<void> {
  const tables = [
    'account_token',
    'break_glass',
    'follow_up_list',
    'plan',
    'pending_sign_in',
    'session',
    'used_challenge',
    'payment_receipt',
    'report_receipt',
  ] as const;
  for (const table of tables) await deleteExpired(db, table);
  await deleteOlder(db, 'security_event', securityLogDays * 24);
}

async function clearUploads({ db, files, log }: SweepServices): Promise<void> {
  if (!files) return;
  const isLate = after(clearingMs);
  for (let key = await claimUploadRemoval(db); key; key = await claimUploadRemoval(db)) {
    try {
      await files.remove(key);
      await forgetUpload(db, key);
    } catch (error) {
      // The other files are in the same storage, so stop here; the next sweep tries again.
      log.warn(
        { error, key },
        'The storage did not delete an uploaded file; the next sweep tries again',
      );
      return;
    }
    if (isLate()) return;
  }
}
