import { ApplicationFailure } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import {
  completeStep,
  endExecution,
  enterStep,
  failStep,
  findStepEnd,
  insertScheduledStep,
  mergeExecutionContext,
  type StepVisit,
  updateExecutionWaiting,
} from '../db/executions.ts';
import { registerWait, settleWait } from '../db/waits.ts';
import type { GraphStep } from '../domain/graph.ts';
import { type Outcome, waitOutcome } from '../domain/journey.ts';
import { delayUnitMs, type StepConfig } from '../domain/steps.ts';
import type { Dispatcher } from '../workflows/dispatcher.ts';
import { StepFailure } from './failure.ts';
import { sendStepEmail } from './send-email.ts';

/** What a step's activity is told. */
export interface StepCall {
  executionId: string;
  projectId: string;
  step: GraphStep;
  /** When the step began: the end of the one before. An event counts from then on. */
  since: string;
  /** Where a step with one way on leads. */
  nextStepId: string | null;
}

/** What came of it; `since` is when the next step begins, where the database knows it. */
export interface StepResult {
  outcome: Outcome;
  since?: string;
}

/** Named as the product names them: operators read these words in the Temporal UI. */
export interface StepActivities {
  SEND_EMAIL(call: StepCall): Promise<StepResult>;
  DELAY(call: StepCall): Promise<StepResult>;
  WAIT_FOR_EVENT(call: StepCall): Promise<StepResult>;
  SETTLE_WAIT(call: StepCall): Promise<StepResult>;
  EXIT(call: StepCall): Promise<StepResult>;
  COMPLETE(executionId: string): Promise<void>;
}

export interface StepServices {
  db: Database;
  dispatcher: Dispatcher;
  apiUrl: string;
}

/**
 * The activities of the steps. Each is one transaction and may be repeated: its key is the step
 * execution, of which there is one per execution and step.
 */
export function createStepActivities(services: StepServices): StepActivities {
  const { db } = services;

  /** Enters the step, does `effect` and commits both; what ended before is told again. */
  async function perform(
    call: StepCall,
    effect: (tx: Database, visit: StepVisit) => Promise<StepResult>,
  ): Promise<StepResult> {
    const failure: { text?: string } = {};
    const result = await db.transaction().execute(async (tx) => {
      const visit = await enterStep(tx, call.executionId, call.step.id);
      if (!visit) return endedResult(tx, call);
      try {
        return await effect(tx, visit);
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        await failStep(tx, visit, error.message);
        failure.text = error.message;
        return null;
      }
    });
    if (result) return result;
    throw ApplicationFailure.nonRetryable(
      `Step "${call.step.name}" failed: ${failure.text}`,
      'STEP_FAILED',
    );
  }

  /** The outcome of a step whose execution is not active: it ended, here or elsewhere. */
  async function endedResult(tx: Database, call: StepCall): Promise<StepResult> {
    const end = await findStepEnd(tx, call.executionId, call.step.id);
    if (end?.stepStatus === 'FAILED') {
      throw ApplicationFailure.nonRetryable(
        `Step "${call.step.name}" failed: ${end.error}`,
        'STEP_FAILED',
      );
    }
    return { outcome: { kind: end?.executionStatus === 'EXITED' ? 'exited' : 'closed' } };
  }

  return {
    async SEND_EMAIL(call) {
      const result = await perform(call, async (tx, visit) => {
        if (visit.stepExecution.status === 'COMPLETED') return { outcome: { kind: 'done' } };
        const output = await sendStepEmail(tx, services.apiUrl, call.step, visit);
        const since = await completeStep(tx, visit.stepExecution.id, output);
        return { outcome: { kind: 'done' }, since };
      });
      services.dispatcher.dispatch({ lanes: [call.projectId] });
      return result;
    },

    DELAY: (call) =>
      perform(call, async (tx, visit) => {
        const { amount, unit } = call.step.config as StepConfig<'DELAY'>;
        const began = visit.stepExecution.started_at ?? new Date();
        const resumeAt = new Date(began.getTime() + amount * delayUnitMs[unit]);
        await completeStep(tx, visit.stepExecution.id, {
          delayAmount: amount,
          delayUnit: unit,
          resumeAt: resumeAt.toISOString(),
        });
        if (call.nextStepId) await insertScheduledStep(tx, visit, call.nextStepId, resumeAt);
        await updateExecutionWaiting(tx, call.executionId);
        return { outcome: { kind: 'resting', until: resumeAt.toISOString() } };
      }),

    WAIT_FOR_EVENT: (call) =>
      perform(call, async (tx, visit) => {
        const { eventName, timeout } = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
        const { stepExecution } = visit;
        if (stepExecution.status === 'COMPLETED') return settledResult(visit);
        const began = stepExecution.started_at ?? new Date();
        const expiresAt = timeout === undefined ? null : new Date(began.getTime() + timeout * 1000);
        const event = await registerWait(tx, visit, { eventName, since: call.since, expiresAt });
        if (event) return endWait(tx, visit, eventName, event);
        await updateExecutionWaiting(tx, call.executionId);
        return { outcome: { kind: 'waiting', until: expiresAt?.toISOString() ?? null } };
      }),

    SETTLE_WAIT: (call) =>
      perform(call, async (tx, visit) => {
        if (visit.stepExecution.status === 'COMPLETED') return settledResult(visit);
        const { eventName } = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
        return endWait(tx, visit, eventName, await settleWait(tx, visit.stepExecution.id));
      }),

    EXIT: (call) =>
      perform(call, async (tx, visit) => {
        const reason = (call.step.config as StepConfig<'EXIT'>).reason ?? 'exit_step';
        await completeStep(tx, visit.stepExecution.id, { exited: true, reason });
        await endExecution(tx, call.executionId, { status: 'EXITED', reason });
        return { outcome: { kind: 'exited' } };
      }),

    async COMPLETE(executionId) {
      await endExecution(db, executionId, { status: 'COMPLETED' });
    },
  };
}

/** Ends a waiting step: by its event, whose data joins the context, or by its time-out. */
async function endWait(
  tx: Database,
  visit: StepVisit,
  eventName: string,
  event: Awaited<ReturnType<typeof settleWait>>,
): Promise<StepResult> {
  if (!event) {
    const output = { waitOutcome: 'TIMEOUT', timedOut: true, eventName };
    const since = await completeStep(tx, visit.stepExecution.id, output);
    return { outcome: waitOutcome('TIMEOUT'), since };
  }
  if (event.data) await mergeExecutionContext(tx, visit.execution.id, event.data);
  const since = await completeStep(tx, visit.stepExecution.id, {
    waitOutcome: 'EVENT',
    eventReceived: true,
    eventName,
    ...(event.data ? { eventData: event.data } : {}),
    receivedAt: event.createdAt.toISOString(),
  });
  return { outcome: waitOutcome('EVENT'), since };
}

function settledResult({ stepExecution }: StepVisit): StepResult {
  const output = stepExecution.output as { waitOutcome: 'EVENT' | 'TIMEOUT' };
  return { outcome: waitOutcome(output.waitOutcome) };
}
