import { type NativeConnection, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { createDeliveryActivities, type DeliveryServices } from '../activities/delivery.ts';
import { createStepActivities, type StepServices } from '../activities/steps.ts';
import { createSweepActivities, type SweepServices } from '../activities/sweep.ts';

export interface WorkersOptions {
  connection: NativeConnection;
  namespace: string;
  /** Workflow tasks and everything quick; mail leaves from `<taskQueue>-mail`. */
  taskQueue: string;
  bundle: WorkflowBundleOption;
  services: StepServices & DeliveryServices & SweepServices;
  workflowConcurrency: number;
  emailConcurrency: number;
}

export interface Workers {
  /** Ends when the workers were stopped. @throws when one of them cannot go on. */
  done: Promise<void>;
  /** Finishes what is at work and stops. */
  stop(): Promise<void>;
}

/** Longest wait for activities at work when the process is asked to stop. */
const graceTime = '15 seconds';

/** Starts the workers of both task queues in this process. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { connection, namespace, taskQueue, services } = options;
  const workers = [
    await Worker.create({
      connection,
      namespace,
      taskQueue,
      workflowBundle: options.bundle,
      activities: { ...createStepActivities(services), ...createSweepActivities(services) },
      maxConcurrentActivityTaskExecutions: options.workflowConcurrency,
      maxConcurrentLocalActivityExecutions: options.workflowConcurrency,
      shutdownGraceTime: graceTime,
    }),
    // Its own queue: a burst of mail must never stand in front of a decision.
    await Worker.create({
      connection,
      namespace,
      taskQueue: `${taskQueue}-mail`,
      activities: { ...createDeliveryActivities(services) },
      maxConcurrentActivityTaskExecutions: options.emailConcurrency,
      // Delivery stops at its next batch when told so, and keeps what it has done.
      shutdownGraceTime: 0,
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
