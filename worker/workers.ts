import { type NativeConnection, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { createBulkActivities, type BulkServices } from '../activities/contacts/bulk-contacts.ts';
import {
  type CampaignServices,
  createCampaignControl,
  createCampaignSending,
} from '../activities/mail/campaign.ts';
import {
  createImportActivities,
  type ImportServices,
} from '../activities/contacts/contact-import.ts';
import { createDeliveryActivities, type DeliveryServices } from '../activities/mail/delivery.ts';
import { createDomainActivities, type DomainServices } from '../activities/domain-poller.ts';
import { createRemovalActivities, type RemovalServices } from '../activities/project-deletion.ts';
import {
  createSystemMailActivities,
  type SystemMailServices,
} from '../activities/mail/system-mail.ts';
import { createStepActivities, type StepServices } from '../activities/steps/steps.ts';
import { createSweepActivities, type SweepServices } from '../activities/upkeep/sweep.ts';

export interface WorkersOptions {
  connection: NativeConnection;
  namespace: string;
  /**
   * Workflow tasks and everything quick; mail leaves from `<taskQueue>-mail`, webhooks are called
   * on `<taskQueue>-webhook`, and what goes through very many rows is done on `<taskQueue>-bulk`.
   */
  taskQueue: string;
  bundle: WorkflowBundleOption;
  services: StepServices &
    DeliveryServices &
    SweepServices &
    ImportServices &
    BulkServices &
    DomainServices &
    RemovalServices &
    SystemMailServices &
    CampaignServices;
  workflowConcurrency: number;
  emailConcurrency: number;
  bulkConcurrency: number;
  webhookConcurrency: number;
}

export interface Workers {
  /** Ends when the workers were stopped. @throws when one of them cannot go on. */
  done: Promise<void>;
  /** Finishes what is at work and stops. */
  stop(): Promise<void>;
}

/**
 * Decisions at work at once. They share one thread: what is taken on beyond that is served in the
 * order it came, while what stays with Temporal is served project by project.
 */
const workflowTasksMax = 20;
/** Longest wait for activities at work when the process is asked to stop. */
const graceTime = '15 seconds';

/** Starts the workers of all task queues in this process. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { connection, namespace, taskQueue, services } = options;
  const workers = [
    await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: options.bundle,
      activities: {
        // WEBHOOK among them: runs that the version before decided for call it here.
        ...createStepActivities(services, options.workflowConcurrency),
        ...createSweepActivities(services),
        ...createRemovalActivities(services).control,
        ...createCampaignControl(services),
        ...createDomainActivities(services),
      },
      maxConcurrentWorkflowTaskExecutions: workflowTasksMax,
      maxConcurrentActivityTaskExecutions: options.workflowConcurrency,
      maxConcurrentLocalActivityExecutions: options.workflowConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // Its own queue: a burst of mail must never stand in front of a decision.
    await Worker.create({
      connection,
      namespace,
      taskQueue: `${taskQueue}-mail`,
      activities: {
        ...createDeliveryActivities(services),
        ...createCampaignSending(services),
        ...createSystemMailActivities(services),
      },
      maxConcurrentActivityTaskExecutions: options.emailConcurrency,
      // Delivery stops at its next batch when told so, and keeps what it has done.
      shutdownGraceTime: 0,
      // An attempt that Temporal gave up before, whose outcomes still wait for the database.
      shutdownForceTime: '3 minutes',
    }),
    // Its own queue, too: the database has other things to do than the largest import.
    await Worker.create({
      connection,
      namespace,
      taskQueue: `${taskQueue}-bulk`,
      activities: {
        ...createImportActivities(services),
        ...createBulkActivities(services),
        ...createRemovalActivities(services).bulk,
      },
      maxConcurrentActivityTaskExecutions: options.bulkConcurrency,
      // As delivery.
      shutdownGraceTime: 0,
    }),
    // Its own queue: receivers may be slow, and nothing of ours waits behind them.
    await Worker.create({
      connection,
      namespace,
      taskQueue: `${taskQueue}-webhook`,
      activities: { WEBHOOK: createStepActivities(services, options.webhookConcurrency).WEBHOOK },
      maxConcurrentActivityTaskExecutions: options.webhookConcurrency,
      shutdownGraceTime: graceTime,
    }),
  ];
  const done = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
  done.catch(() => {});
  return {
    done,
    async stop() {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await done;
    },
  };
}
