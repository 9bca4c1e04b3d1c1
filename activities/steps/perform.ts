import { ApplicationFailure } from '@temporalio/activity';
import { v7 as uuidV7 } from 'uuid';
import { type Database, transact } from '../../db/database.ts';
import { endExecution } from '../../db/workflows/executions.ts';
import {
  type StepVisit,
  completeStep,
  enterStep,
  failStep,
  findStepEnd,
} from '../../db/workflows/steps.ts';
import type { FindGraph } from '../../db/workflows/graphs.ts';
import {
  findStep,
  type GraphStep,
  refOf,
  stepAfter,
  type StepRef,
} from '../../domain/workflow/graph.ts';
import { nextStep, type Outcome } from '../../domain/workflow/decide.ts';

interface CallIds {
  executionId: string;
  projectId: string;
  /** When the step began, which is the end of the previous one. Events count from then on. */
  since: string;
}

/** The input of a step's activity, by ids: the step is in the graph of the execution's version. */
export interface StepCallById extends CallIds {
  workflowId: string;
  version: number;
  stepId: string;
}

/** A step to perform. Runs of a format before 3 call its activity with all of this. */
export interface StepCall extends CallIds {
  step: GraphStep;
  /** The next step, for a step with one outgoing edge. */
  nextStepId: string | null;
}

/** The outcome of a step; `since` is when the next step begins, where the database knows it. */
export interface StepResult {
  outcome: Outcome;
  since?: string;
  /** The step that comes next, if one does, for a call by ids. */
  next?: StepRef;
}

/**
 * Performs a step that is called by ids or, by an older run, with its content. The result of a call
 * by ids also names the next step.
 */
export async function performCalled(
  findGraph: FindGraph,
  call: StepCallById | StepCall,
  perform: (call: StepCall) => Promise<StepResult>,
): Promise<StepResult> {
  if ('step' in call) return perform(call);
  const { executionId, projectId, since, workflowId, version, stepId } = call;
  const graph = await findGraph(workflowId, version);
  // The workflow was deleted, and its executions with it.
  if (!graph) return { outcome: { kind: 'closed' } };
  const step = findStep(graph, stepId);
  if (!step) throw new Error(`Version ${version} of workflow ${workflowId} has no step ${stepId}.`);
  const nextStepId = stepAfter(graph, stepId, null)?.id ?? null;
  const result = await perform({ executionId, projectId, since, step, nextStepId });
  const next = nextStep(graph, stepId, result.outcome);
  return next ? { ...result, next: refOf(next) } : result;
}

/**
 * The effect of a step, inside the transaction that has entered it. It throws a StepFailure before it
 * writes anything: what it has written would be committed with the failure.
 */
export type StepEffect<T = StepResult> = (
  tx: Database,
  visit: StepVisit,
  call: StepCall,
) => Promise<T>;

/** A step that cannot succeed, however often it is tried. The customer reads the message. */
export class StepFailure extends Error {
  readonly output: Record<string, unknown> | null;

  constructor(message: string, output: Record<string, unknown> | null = null) {
    super(message);
    this.output = output;
  }
}

/**
 * Enters a step, runs its effect and commits both, or the failure of the effect.
 * It may be repeated: there is one step execution per execution and step, and a completed one
 * returns its stored result.
 * @param newId id of a new step execution. A caller that may restart the transaction passes the
 *   same one each time.
 * @throws ApplicationFailure of type STEP_FAILED, not retryable, when the step has failed.
 */
export async function performStep<T = StepResult>(
  db: Database,
  call: StepCall,
  effect: StepEffect<T>,
  newId: string = uuidV7(),
): Promise<T | StepResult> {
  const result = await transact(db, async (tx) => {
    const visit = await enterStep(tx, call.executionId, call.step.id, newId);
    if (!visit) return endedResult(tx, call);
    try {
      return await effect(tx, visit, call);
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      // Committed, not rolled back: the record must agree with Temporal.
      await failStep(tx, visit, error.message, error.output);
      return error;
    }
  });
  if (result instanceof StepFailure) throw stepFailed(call, result.message);
  return result;
}

/** The result of a step whose execution has already ended, here or elsewhere. */
async function endedResult(tx: Database, call: StepCall): Promise<StepResult> {
  const end = await findStepEnd(tx, call.executionId, call.step.id);
  if (end?.stepStatus === 'FAILED') throw stepFailed(call, end.error ?? '');
  switch (end?.executionStatus) {
    case 'COMPLETED':
      return { outcome: { kind: 'ended' } };
    case 'EXITED':
      return { outcome: { kind: 'exited' } };
    default:
      return { outcome: { kind: 'closed' } };
  }
}

/** Completes a step with one outgoing edge; after the last step, it completes the execution. */
export async function finishStep(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
  output: Record<string, unknown>,
): Promise<StepResult> {
  const completed = completeStep(tx, visit.stepExecution.id, output);
  if (call.nextStepId !== null) return { outcome: { kind: 'done' }, since: await completed };
  // One round trip for both.
  await Promise.all([completed, endExecution(tx, call.executionId, { status: 'COMPLETED' })]);
  return { outcome: { kind: 'ended' } };
}

function stepFailed(call: StepCall, reason: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `Step "${call.step.name}" failed: ${reason}`,
    'STEP_FAILED',
  );
}
