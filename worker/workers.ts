import { CancelledFailure } from '@temporalio/common';
import {
  type NativeConnection,
  Worker,
  type WorkerDeploymentOptions,
  type WorkerInterceptors,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { createBulkActivities, type BulkServices } from '../activities/contacts/bulk-contacts.ts';
import { type CampaignServices, createCampaignSending } from '../activities/mail/campaign.ts';
import { createCampaignControl } from '../activities/mail/campaign-control.ts';
import {
  createImportActivities,
  type ImportServices,
} from '../activities/contacts/contact-import.ts';
import { createErasureActivities, type ErasureServices } from '../activities/erasure.ts';
import { createScheduleActivities, type ScheduleServices } from '../activities/schedules.ts';
import {
  createExecutionJobActivities,
  type ExecutionJobServices,
} from '../activities/execution-jobs.ts';
import type { SendingServices } from '../activities/mail/batches/batch.ts';
import { createDeliveryActivities, type DeliveryServices } from '../activities/mail/delivery.ts';
import {
  createFeedbackMailboxActivities,
  type FeedbackMailboxServices,
} from '../activities/mail/feedback-mailbox.ts';
import { startTakeOvers, type TakeOverServices } from '../activities/mail/take-over.ts';
import { createWaitSlots } from '../activities/mail/wait-slots.ts';
import { createDomainActivities, type DomainServices } from '../activities/domain-poller.ts';
import { createRampActivities, type RampServices } from '../activities/ramps.ts';
import { createOptInActivities, type OptInServices } from '../activities/opt-in.ts';
import { createRemovalActivities, type RemovalServices } from '../activities/project-deletion.ts';
import {
  createSystemMailActivities,
  type SystemMailServices,
} from '../activities/mail/system-mail.ts';
import { isStepFailure } from '../activities/steps/perform.ts';
import {
  createStepActivities,
  type StepActivities,
  type StepServices,
} from '../activities/steps/steps.ts';
import { createReplayActivities, type ReplayServices } from '../activities/subscriptions/replay.ts';
import {
  createSubscriptionActivities,
  type SubscriptionServices,
} from '../activities/subscriptions/subscription.ts';
import type { Metrics } from '../providers/metrics/metrics.ts';
import { withHeartbeats } from '../activities/running/time-box.ts';
import { startHeartbeat } from '../activities/upkeep/heartbeat.ts';
import {
  createSweepActivities,
  type SweepActivities,
  type SweepServices,
} from '../activities/upkeep/sweep.ts';

export interface WorkersOptions {
  connection: NativeConnection;
  namespace: string;
  /**
   * The queue of workflow tasks and quick activities. Other activities have queues whose names are
   * longer: `<taskQueue>-mail` sends mail, `-webhook` calls webhooks, `-events` sends events, and
   * `-bulk` runs jobs on very many rows.
   */
  taskQueue: string;
  /** The worker deployment version; null: the workers take tasks of all versions. */
  version: { deploymentName: string; buildId: string } | null;
  bundle: WorkflowBundleOption;
  services: StepServices &
    SendingServices &
    TakeOverServices &
    SweepServices &
    ImportServices &
    BulkServices &
    ExecutionJobServices &
    ErasureServices &
    ReplayServices &
    ScheduleServices &
    DomainServices &
    RampServices &
    FeedbackMailboxServices &
    OptInServices &
    Omit<DeliveryServices, 'waitSlots'> &
    RemovalServices &
    SystemMailServices &
    SubscriptionServices &
    CampaignServices & { metrics: Metrics };
  workflowConcurrency: number;
  emailConcurrency: number;
  bulkConcurrency: number;
  webhookConcurrency: number;
  /** Maximum number of parallel requests of event subscriptions. */
  eventConcurrency: number;
}

export interface Workers {
  /** Returns true while all workers poll for tasks. */
  isRunning(): boolean;
  /** Resolves when the workers have stopped. @throws when one of them failed */
  done: Promise<void>;
  /** Finishes the current work and stops. */
  stop(): Promise<void>;
}

/**
 * Maximum number of parallel workflow tasks. A worker should not take many tasks at once, because
 * they share one thread and run in the order in which the worker took them. Only tasks that wait in
 * Temporal are shared fairly between projects.
 */
const workflowTasksMax = 20;
/** Maximum time for running activities to finish when the process is asked to stop. */
const graceTime = '15 seconds';

function stepActivities(services: StepServices, webhookSlots: number): StepActivities {
  return withHeartbeats(createStepActivities(services, webhookSlots));
}

/** Counts sweeps and the failures of their tasks. Each sweep begins with LIST_TASKS. */
function countedSweep(tasks: SweepActivities, metrics: Metrics): SweepActivities {
  const counted = Object.entries<() => Promise<unknown>>({ ...tasks }).map(([name, task]) => [
    name,
    async () => {
      if (name === 'LIST_TASKS') metrics.countSweep();
      try {
        return await task();
      } catch (error) {
        metrics.countSweepFailure(name);
        throw error;
      }
    },
  ]);
  return Object.fromEntries(counted) as SweepActivities;
}

/**
 * Counts the activities of a queue, and failed executions. A cancelled activity does not count as
 * failed.
 */
function countsActivities(queue: string, metrics: Metrics): WorkerInterceptors {
  return {
    activity: [
      ({ info }) => ({
        inbound: {
          async execute(input, next) {
            if (info.attempt === 1 && !info.isLocal) {
              metrics.temporalClock.observe(Date.now(), info.scheduledTimestampMs);
            }
            try {
              const result: unknown = await next(input);
              metrics.countActivity(queue, 'completed');
              return result;
            } catch (error) {
              metrics.countActivity(
                queue,
                error instanceof CancelledFailure ? 'cancelled' : 'failed',
              );
              if (isStepFailure(error)) metrics.countExecutionFailure();
              throw error;
            }
          },
        },
      }),
    ],
  };
}

/** Activities that work on very many rows. */
function bulkActivities(services: WorkersOptions['services']) {
  return {
    ...createImportActivities(services),
    ...createBulkActivities(services),
    ...createExecutionJobActivities(services),
    ...createReplayActivities(services),
    ...createErasureActivities(services),
    ...createScheduleActivities(services),
    ...createRemovalActivities(services).bulk,
  };
}

export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { connection, namespace, taskQueue, services } = options;
  const deployment = options.version && { workerDeploymentOptions: inVersion(options.version) };
  // Up to half of the worker slots may hold activities that wait, so that throttled mail does not
  // delay other mail.
  const waitSlots = createWaitSlots(Math.floor(options.emailConcurrency / 2));
  const create = (queue: string, own: Omit<WorkerOptions, 'taskQueue'>) =>
    Worker.create({
      ...deployment,
      connection,
      namespace,
      taskQueue: queue,
      interceptors: countsActivities(queue, services.metrics),
      ...own,
    });
  const workers = [
    await create(taskQueue, {
      workflowBundle: options.bundle,
      activities: {
        ...stepActivities(services, options.workflowConcurrency),
        ...withHeartbeats(countedSweep(createSweepActivities(services), services.metrics)),
        ...withHeartbeats(createRemovalActivities(services).control),
        ...createCampaignControl(services),
        ...withHeartbeats(createScheduleActivities(services)),
        ...withHeartbeats(createDomainActivities(services)),
        ...withHeartbeats(createRampActivities(services)),
        ...withHeartbeats(createOptInActivities(services)),
        ...withHeartbeats(createFeedbackMailboxActivities(services)),
      },
      maxConcurrentWorkflowTaskExecutions: workflowTasksMax,
      maxConcurrentActivityTaskExecutions: options.workflowConcurrency,
      maxConcurrentLocalActivityExecutions: options.workflowConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // A separate queue, so that a burst of mail never delays workflow tasks.
    await create(`${taskQueue}-mail`, {
      activities: {
        ...createDeliveryActivities({ ...services, waitSlots }),
        ...createCampaignSending({ ...services, waitSlots }),
        ...createSystemMailActivities(services),
      },
      maxConcurrentActivityTaskExecutions: options.emailConcurrency,
      // No grace time, because a cancelled delivery stops before its next message and records what
      // it has sent.
      shutdownGraceTime: 0,
      // If Temporal has timed out an activity that still records outcomes, the activity does not
      // see the shutdown. After this time, the worker stops without waiting for this activity.
      shutdownForceTime: '3 minutes',
    }),
    // A separate queue, so that large imports do not take the whole capacity of the database.
    await create(`${taskQueue}-bulk`, {
      activities: bulkActivities(services),
      maxConcurrentActivityTaskExecutions: options.bulkConcurrency,
      // No grace time, because a cancelled slice stops after its current batch.
      shutdownGraceTime: 0,
    }),
    // A separate queue, because receivers may be slow and no other work should wait behind them.
    await create(`${taskQueue}-webhook`, {
      activities: stepActivities(services, options.webhookConcurrency),
      maxConcurrentActivityTaskExecutions: options.webhookConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // A separate queue, because an activity of a subscription lasts for minutes.
    await create(`${taskQueue}-events`, {
      activities: createSubscriptionActivities(services, options.eventConcurrency),
      maxConcurrentActivityTaskExecutions: options.eventConcurrency,
      // No grace time, because a cancelled activity waits only for its open requests.
      shutdownGraceTime: 0,
    }),
  ];
  const done = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
  done.catch(() => {});
  const isRunning = () => workers.every((worker) => worker.getState() === 'RUNNING');
  const { db, rates, mailer } = services;
  const heartbeat = startHeartbeat({ db, rates, provider: mailer.provider }, isRunning);
  const takeOvers = startTakeOvers(services);
  return {
    isRunning,
    done,
    async stop() {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await done.finally(heartbeat.stop);
      await takeOvers.stop();
    },
  };
}

/**
 * Returns the versioning options. Runs of all types move on to the current version, because they
 * may be open longer than an update takes, and the new code can continue them (docs/upgrading.md).
 */
function inVersion(version: NonNullable<WorkersOptions['version']>): WorkerDeploymentOptions {
  return { useWorkerVersioning: true, version, defaultVersioningBehavior: 'AUTO_UPGRADE' };
}
