import { ApplicationFailure } from '@temporalio/activity';
import { v7 as uuidV7 } from 'uuid';
import { type Database, transact } from '../../db/database.ts';
import { completeStepAndEnd } from '../../db/workflows/executions/executions.ts';
import { exitExecutions } from '../../db/transactions/executions/exit-executions.ts';
import { holdStep } from '../../db/workflows/executions/pausing.ts';
import {
  type StepVisit,
  completeDelay,
  completeStep,
  completeStepAndEnter,
  enterStep,
  findObstacle,
} from '../../db/workflows/executions/steps.ts';
import { exitWithStep, failStep } from '../../db/transactions/executions/fail-step.ts';
import type { FindGraph } from '../../db/workflows/graphs.ts';
import { listStepMarks } from '../../db/workflows/executions/starts.ts';
import { findStep, type GraphStep, stepAfter, type StepRef } from '../../domain/workflow/graph.ts';
import {
  type Interruption,
  isInterruption,
  nextStep,
  type Outcome,
} from '../../domain/workflow/decide.ts';
import { passOver, refOf } from '../../domain/workflow/place.ts';
import type { FixedDelay } from '../../domain/workflow/steps/effects.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import { stepModules } from '../../domain/workflow/steps/registry.ts';

interface CallIds {
  executionId: string;
  projectId: string;
  /**
   * Time at which the step began, which is the end of the previous step. The step counts events
   * from this time.
   */
  since: string;
}

/**
 * The input of a step's activity, which has only ids. The step itself is in the graph of the
 * execution's version.
 */
export interface StepCallById extends CallIds {
  workflowId: string;
  version: number;
  stepId: string;
  /**
   * True if the execution was moved to this version, so that it skips steps that it has already
   * begun.
   */
  isMoved?: boolean;
}

export interface StepCall extends CallIds {
  step: GraphStep;
  version: number;
  /**
   * Id of the next step, for a step with one outgoing transition; null: the step is the last one.
   */
  nextStepId: string | null;
  /**
   * The fixed delay that follows, if there is one, and that begins in the transaction that ends
   * this step.
   */
  delay?: NextDelay;
}

/** A delay of fixed length that follows another step, and the step after the delay. */
export interface NextDelay {
  step: GraphStep;
  rule: FixedDelay;
  nextStepId: string | null;
}

/**
 * The result of a step's activity. `since`: when the next step begins; absent: it does not begin
 * now.
 */
export interface StepResult {
  outcome: Outcome | Interruption;
  since?: string;
  /**
   * Set when a delay has begun after the step: `outcome` then belongs to the delay, and the step
   * itself is done.
   */
  at?: StepRef;
  next?: StepRef;
  /**
   * Why the step failed although the execution continues (`onFailure: continue`), for operators.
   */
  gaveUp?: string;
}

const exited: StepResult = { outcome: { kind: 'exited' } };

/** Performs the step with these ids. The result also names the next step. */
export async function performCalled(
  { db, findGraph }: { db: Database; findGraph: FindGraph },
  call: StepCallById,
  perform: (call: StepCall) => Promise<StepResult>,
): Promise<StepResult> {
  const { executionId, projectId, since, workflowId, version, stepId, isMoved } = call;
  const graph = await findGraph(workflowId, version);
  // The workflow was deleted, with its executions.
  if (!graph) return { outcome: { kind: 'closed' } };
  const step = findStep(graph, stepId);
  if (!step) throw new Error(`Version ${version} of workflow ${workflowId} has no step ${stepId}.`);
  const marks = isMoved ? await listStepMarks(db, executionId) : [];
  const following = passOver(graph, stepAfter(graph, stepId, null), marks);
  // A delay of fixed length begins in the transaction that ends this step. A delay until a date
  // must read the contact, so it has a call of its own.
  const rule = following && stepModules[following.type]?.fixedRest?.(following.config);
  const delay = following &&
    rule && {
      step: following,
      rule,
      nextStepId: passOver(graph, stepAfter(graph, following.id, null), marks)?.id ?? null,
    };
  const nextStepId = following?.id ?? null;
  const ids = { executionId, projectId, since, version };
  const result = await perform({ ...ids, step, nextStepId, ...(delay && { delay }) });
  if (isInterruption(result.outcome)) return result;
  const next = passOver(graph, nextStep(graph, result.at?.id ?? stepId, result.outcome), marks);
  return next ? { ...result, next: refOf(next) } : result;
}

/**
 * The effect of a step, inside the transaction that has begun the step. An effect must not throw a
 * StepFailure after it has written something, because its writes would be committed with the
 * failure.
 */
export type StepEffect<T = StepResult> = (
  tx: Database,
  visit: StepVisit,
  call: StepCall,
) => Promise<T>;

/**
 * Begins a step, runs its effect and commits both, or commits the failure of the effect. Repeating
 * this is harmless: an execution has one step execution per step, and a completed one returns its
 * stored result.
 * @param newId id of a new step execution. A caller that may restart the transaction passes the
 * same id each time
 * @throws ApplicationFailure of type STEP_FAILED, not retryable, when the step has failed
 */
export async function performStep<T = StepResult>(
  db: Database,
  call: StepCall,
  effect: StepEffect<T>,
  newId: string = uuidV7(),
): Promise<T | StepResult> {
  const result = await transact(db, async (tx) => {
    const visit = await enterStep(tx, placeOfCall(call), newId);
    if (!visit) return refusedResult(tx, call);
    try {
      return await effect(tx, visit, call);
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error;
      // The failure is committed, not rolled back, because the rows must agree with Temporal.
      const hasFailed = await failStep(tx, visit, error.message, error.output);
      return hasFailed ? error : exited;
    }
  });
  if (result instanceof StepFailure) throw stepFailed(call, result.message);
  return result;
}

export function placeOfCall({ executionId, step, version }: StepCall) {
  return { executionId, stepId: step.id, version };
}

/** Returns the result of a step that could not begin. */
async function refusedResult(tx: Database, call: StepCall): Promise<StepResult> {
  const at = placeOfCall(call);
  const obstacle = await findObstacle(tx, at);
  switch (obstacle.kind) {
    case 'ended':
      if (obstacle.error !== null) throw stepFailed(call, obstacle.error);
      return { outcome: endedOutcomes[obstacle.status] ?? { kind: 'closed' } };
    case 'exit':
      await exitExecutions(tx, [{ id: call.executionId, reason: obstacle.reason }]);
      return exited;
    // The execution is held until the job that moves it signals its run.
    case 'move':
      return { outcome: { kind: 'held' } };
    case 'paused':
      return { outcome: { kind: (await holdStep(tx, at)) ? 'held' : 'elsewhere' } };
    default:
      return { outcome: { kind: 'elsewhere' } };
  }
}

const endedOutcomes: Readonly<Record<string, Outcome>> = {
  COMPLETED: { kind: 'ended' },
  EXITED: { kind: 'exited' },
};

/**
 * Completes a step with one outgoing transition; after the last step, also the execution. A fixed
 * delay that follows begins at once, which saves an activity. If an exit rule was met during the
 * step, the execution ends.
 */
export async function finishStep(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
  output: Record<string, unknown>,
): Promise<StepResult> {
  if (visit.execution.exit_pending !== null) {
    await completeStep(tx, visit.stepExecution.id, output);
    await exitWithStep(tx, visit);
    return exited;
  }
  if (call.delay && mayBegin(visit)) return finishIntoDelay(tx, visit, call.delay, output);
  const isMoving = visit.execution.move_job_id !== null;
  if (call.nextStepId === null && !isMoving) {
    await completeStepAndEnd(tx, visit, output, { status: 'COMPLETED' });
    return { outcome: { kind: 'ended' } };
  }
  const since = await completeStep(tx, visit.stepExecution.id, output);
  // The execution is being moved, and its new version decides which step is next.
  return isMoving ? { outcome: { kind: 'held' } } : { outcome: { kind: 'done' }, since };
}

/** Returns true if the execution may begin its next step. */
function mayBegin({ execution }: StepVisit): boolean {
  return !execution.is_paused && execution.move_job_id === null;
}

async function finishIntoDelay(
  tx: Database,
  visit: StepVisit,
  { step, rule, nextStepId }: NextDelay,
  output: Record<string, unknown>,
): Promise<StepResult> {
  await completeStepAndEnter(tx, visit, output, { stepId: step.id, newId: uuidV7() });
  const until = await completeDelay(tx, visit.execution, { stepId: step.id, nextStepId }, rule);
  return { outcome: { kind: 'resting', until: until.toISOString() }, at: refOf(step) };
}

/** Type of the ApplicationFailure when a step has failed, and its execution with it. */
const stepFailedType = 'STEP_FAILED';

export function isStepFailure(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === stepFailedType;
}

function stepFailed(call: StepCall, reason: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `Step "${call.step.name}" failed: ${reason}`,
    stepFailedType,
  );
}
