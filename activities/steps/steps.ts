import { transact } from '../../db/database.ts';
import {
  completeExecution,
  findExecutionStatus,
} from '../../db/workflows/executions/executions.ts';
import { graphReader } from '../../db/workflows/graphs.ts';
import { listExecutionStarts } from '../../db/workflows/executions/starts.ts';
import type { Interruption } from '../../domain/workflow/decide.ts';
import type { ExecutionStart } from '../../domain/runs/execution.ts';
import { type PerformedType, stepTypesWith } from '../../domain/workflow/steps/registry.ts';
import { performCalled, type StepCall, type StepCallById, type StepResult } from './perform.ts';
import { playStep, settleStep } from './play.ts';
import { createWebhookCalls, type WebhookServices } from './webhook.ts';

/**
 * One activity for each step type that is performed, and three more (below). An activity has the
 * name of its step type, because operators see the name in the Temporal UI.
 */
export interface StepActivities extends Record<
  PerformedType,
  (call: StepCallById) => Promise<StepResult>
> {
  SETTLE_WAIT(call: StepCallById): Promise<StepResult>;
  /** Completes an execution that has no step left in this version, unless its row has changed. */
  COMPLETE(executionId: string, version: number): Promise<Interruption | void>;
  /**
   * Returns the position at which an execution continues according to its row, or how it has ended.
   */
  FIND_POSITION(executionId: string): Promise<{ end: ExecutionEnd } | { start: ExecutionStart }>;
}

/** The result of an execution's run in Temporal. */
export type ExecutionEnd = 'COMPLETED' | 'EXITED' | 'CANCELLED';

export type StepServices = WebhookServices;

type CalledStep = (call: StepCallById) => Promise<StepResult>;

/**
 * Creates the activities of the steps. Each is one transaction, except that WEBHOOK is two.
 * Repeating them is harmless.
 * @param webhookSlots maximum number of parallel webhook calls, over all projects
 */
export function createStepActivities(services: StepServices, webhookSlots: number): StepActivities {
  const { db } = services;
  const graphs = { db, findGraph: graphReader(db) };
  const called =
    (perform: (call: StepCall) => Promise<StepResult>): CalledStep =>
    (call) =>
      performCalled(graphs, call, perform);
  const played = called((call) => playStep(services, call));
  const performed = stepTypesWith(({ play }) => play).map((type) => [type, played]);
  return {
    ...(Object.fromEntries(performed) as Record<PerformedType, CalledStep>),
    WEBHOOK: called(createWebhookCalls(services, webhookSlots)),
    SETTLE_WAIT: called((call) => settleStep(db, call)),
    async COMPLETE(executionId, version) {
      const isOver = await transact(db, (tx) => completeExecution(tx, executionId, version));
      return isOver ? undefined : { kind: 'elsewhere' };
    },
    async FIND_POSITION(executionId) {
      const [due] = await listExecutionStarts(db, [executionId], graphs.findGraph);
      if (due && !due.hasEnded) return { start: due.start };
      const status = await findExecutionStatus(db, executionId);
      return { end: status === 'COMPLETED' || status === 'EXITED' ? status : 'CANCELLED' };
    },
  };
}
