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
import type { SendingServices } from '../activities/mail/deliver.ts';
import { createDeliveryActivities, type DeliveryServices } from '../activities/mail/delivery.ts';
import { createWaitSlots } from '../activities/mail/wait-slots.ts';
import { createDomainActivities, type DomainServices } from '../activities/domain-poller.ts';
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
import type { Metrics } from '../providers/metrics.ts';
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
   * Workflow tasks and quick activities; mail is sent on `<taskQueue>-mail`, webhooks are called on
   * `<taskQueue>-webhook`, events are sent on `<taskQueue>-events`, and work on very many rows is
   * done on `<taskQueue>-bulk`.
   */
  taskQueue: string;
  /** The worker deployment version; null: the workers take the tasks of all versions. */
  version: { deploymentName: string; buildId: string } | null;
  bundle: WorkflowBundleOption;
  services: StepServices &
    SendingServices &
    SweepServices &
    ImportServices &
    BulkServices &
    ExecutionJobServices &
    ErasureServices &
    ReplayServices &
    ScheduleServices &
    DomainServices &
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
  /** Requests of event subscriptions under way. */
  eventConcurrency: number;
}

export interface Workers {
  /** True if all of them poll for tasks. */
  isRunning(): boolean;
  /** Resolves when the workers have stopped. @throws when one of them cannot continue. */
  done: Promise<void>;
  /** Finishes the current work and stops. */
  stop(): Promise<void>;
}

/**
 * Concurrent workflow tasks. They share one thread: tasks that a worker has taken run in the order
 * they came, while those that wait in Temporal are scheduled fairly between projects.
 */
const workflowTasksMax = 20;
/** Longest wait for running activities when the process is asked to stop. */
const graceTime = '15 seconds';

function stepActivities(services: StepServices, webhookSlots: number): StepActivities {
  return withHeartbeats(createStepActivities(services, webhookSlots));
}

/** The tasks of the sweep, counted: each sweep begins with their list. */
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

/** Counts the activities of a queue. A cancelled one has not failed. */
function countsActivities(queue: string, metrics: Metrics): WorkerInterceptors {
  return {
    activity: [
      () => ({
        inbound: {
          async execute(input, next) {
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

/** Work on very many rows. */
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

/** Starts the workers of all task queues in this process. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { connection, namespace, taskQueue, services } = options;
  const deployment = options.version && { workerDeploymentOptions: inVersion(options.version) };
  // Half of the slots: what is throttled must not keep the mail of others waiting.
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
        ...withHeartbeats(createOptInActivities(services)),
      },
      maxConcurrentWorkflowTaskExecutions: workflowTasksMax,
      maxConcurrentActivityTaskExecutions: options.workflowConcurrency,
      maxConcurrentLocalActivityExecutions: options.workflowConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // A queue of its own: a burst of mail must never delay workflow tasks.
    await create(`${taskQueue}-mail`, {
      activities: {
        ...createDeliveryActivities({ ...services, waitSlots }),
        ...createCampaignSending({ ...services, waitSlots }),
        ...createSystemMailActivities(services),
      },
      maxConcurrentActivityTaskExecutions: options.emailConcurrency,
      // Delivery stops at its next batch when cancelled, and keeps what it has done.
      shutdownGraceTime: 0,
      // Covers an attempt that Temporal has timed out, whose outcomes still wait for the database.
      shutdownForceTime: '3 minutes',
    }),
    // A queue of its own, too: a large import must not take the whole database.
    await create(`${taskQueue}-bulk`, {
      activities: bulkActivities(services),
      maxConcurrentActivityTaskExecutions: options.bulkConcurrency,
      // Like delivery.
      shutdownGraceTime: 0,
    }),
    // A queue of its own: receivers may be slow, and nothing else waits behind them.
    await create(`${taskQueue}-webhook`, {
      activities: stepActivities(services, options.webhookConcurrency),
      maxConcurrentActivityTaskExecutions: options.webhookConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // A separate queue, because an activity of a subscription lasts for minutes.
    await create(`${taskQueue}-events`, {
      activities: createSubscriptionActivities(services, options.eventConcurrency),
      maxConcurrentActivityTaskExecutions: options.eventConcurrency,
      // Like delivery: it waits for the requests under way alone.
      shutdownGraceTime: 0,
    }),
  ];
  const done = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
  done.catch(() => {});
  const isRunning = () => workers.every((worker) => worker.getState() === 'RUNNING');
  const { db, rates, mailer } = services;
  const heartbeat = startHeartbeat({ db, rates, provider: mailer.provider }, isRunning);
  return {
    isRunning,
    done,
    async stop() {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await done.finally(heartbeat.stop);
    },
  };
}

/**
 * Runs of every type move on to the version that is current: each is open for longer than an update
 * takes, and the code can continue it (docs/upgrading.md).
 */
function inVersion(version: NonNullable<WorkersOptions['version']>): WorkerDeploymentOptions {
  return { useWorkerVersioning: true, version, defaultVersioningBehavior: 'AUTO_UPGRADE' };
}
