import { v7 as uuidV7 } from 'uuid';
import type { Database } from '../../db/database.ts';
import { completeStepAndEnd } from '../../db/workflows/executions/executions.ts';
import {
  completeDelay,
  completeStep,
  leaveWait,
  type StepVisit,
  updateExecutionWaiting,
} from '../../db/workflows/executions/steps.ts';
import { openDigest, settleDigest } from '../../db/workflows/executions/digests.ts';
import {
  completeWait,
  registerWait,
  settleWait,
  type WaitEnd,
} from '../../db/workflows/executions/waits.ts';
import { exitWithStep } from '../../db/transactions/executions/fail-step.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import { branchIn } from '../../domain/workflow/place.ts';
import type { Played } from '../../domain/workflow/steps/effects.ts';
import { stepModules } from '../../domain/workflow/steps/registry.ts';
import { finishStep, performStep, placeOfCall, type StepCall, type StepResult } from './perform.ts';
import { type PlayServices, RowEffects } from './row-effects.ts';
import { bug } from '../../domain/errors.ts';

/** Plays a step and ends it, in one transaction. Repeating this is harmless. */
export function playStep(services: PlayServices, call: StepCall): Promise<StepResult> {
  return enterAndPlay(services, call, (tx, effects, played) =>
    endPlayed(tx, effects, call, played),
  );
}

/**
 * Begins a step and plays it, in one transaction. A step that is complete or waiting continues as
 * its row says.
 * @param end records the result of playing the step
 */
export function enterAndPlay<T>(
  services: PlayServices,
  call: StepCall,
  end: (tx: Database, effects: RowEffects, played: Played) => Promise<T>,
): Promise<T | StepResult> {
  // A restarted transaction needs the same ids, because the rendered texts contain them.
  const [newId, emailId] = [uuidV7(), uuidV7()];
  return renderAhead(services.renderer, (renderer) =>
    performStep(
      services.db,
      call,
      async (tx, visit): Promise<T | StepResult> => {
        if (visit.completedAt) return repeatedResult(tx, visit, visit.completedAt, call);
        // The step waits already, because its run has started again or the end of the wait was
        // moved.
        if (visit.stepExecution.status === 'WAITING') return settle(tx, visit, call, false);
        const { play } = stepModules[call.step.type];
        if (!play) throw bug(`A step of the type ${call.step.type} has no action.`);
        const effects = new RowEffects(tx, visit, { ...services, renderer }, emailId);
        return end(tx, effects, await play(call.step, effects));
      },
      newId,
    ),
  );
}

/** Ends a step that was played, or begins its delay, wait or digest. */
export async function endPlayed(
  tx: Database,
  { visit }: Pick<RowEffects, 'visit'>,
  call: StepCall,
  played: Played,
): Promise<StepResult> {
  switch (played.kind) {
    case 'done': {
      const result = await finishStep(tx, visit, call, played.output);
      return played.gaveUp === undefined ? result : { ...result, gaveUp: played.gaveUp };
    }
    case 'branch': {
      const since = await completeStep(tx, visit.stepExecution.id, played.output);
      return { outcome: { kind: 'branch', branch: played.branch }, since };
    }
    case 'exit':
      await completeStepAndEnd(tx, visit, played.output, {
        status: 'EXITED',
        reason: played.reason,
      });
      return { outcome: { kind: 'exited' } };
    case 'rest': {
      const place = { stepId: call.step.id, nextStepId: call.nextStepId };
      const until = await completeDelay(tx, visit.execution, place, played.end);
      return { outcome: { kind: 'resting', until: until.toISOString() } };
    }
    case 'wait':
      return beginWait(tx, visit, call, played);
    case 'digest':
      await openDigest(tx, visit, { ...played, stepSince: call.since });
      return settle(tx, visit, call, false);
    case 'call':
      throw bug(`Another activity makes the requests of the type ${call.step.type}.`);
  }
}

/** Returns the result of a step that an earlier attempt completed. */
async function repeatedResult(
  tx: Database,
  visit: StepVisit,
  since: string,
  call: StepCall,
): Promise<StepResult> {
  const { rests, branches } = stepModules[call.step.type];
  const output = visit.stepExecution.output as Record<string, unknown> | null;
  // The output of a delay contains its end (`resumeAt`), even after the end was moved. A delay
  // until a past date has no `resumeAt`.
  const resumeAt = output?.['resumeAt'];
  if (rests === 'delay' && typeof resumeAt === 'string') {
    await updateExecutionWaiting(tx, placeOfCall(call), new Date(resumeAt));
    return { outcome: { kind: 'resting', until: resumeAt } };
  }
  const branch = branches ? branchIn(output) : null;
  return { outcome: branch === null ? { kind: 'done' } : { kind: 'branch', branch }, since };
}

async function beginWait(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
  { eventName, since: lookBack, where, until }: Extract<Played, { kind: 'wait' }>,
): Promise<StepResult> {
  const wait = { eventName, lookBack, where, since: call.since, expiresAt: until };
  const event = await registerWait(tx, visit, wait);
  if (event) return endWait(tx, visit, call, { event });
  // An exit rule was met while the step waited for a retry.
  if (await exitWithStep(tx, visit)) return { outcome: { kind: 'exited' } };
  await updateExecutionWaiting(tx, placeOfCall(call), until);
  return { outcome: { kind: 'waiting', until: until?.toISOString() ?? null } };
}

/** Ends the wait of a step by its event or its timeout; the database decides which came first. */
export function settleStep(db: Database, call: StepCall): Promise<StepResult> {
  return performStep(db, call, (tx, visit) =>
    visit.completedAt
      ? repeatedResult(tx, visit, visit.completedAt, call)
      : settle(tx, visit, call, true),
  );
}

/**
 * Ends the wait or digest of a step if its event or its end has come; otherwise the step waits on.
 * @param isOver true if the run has reached the end of the wait, or has got its event
 */
async function settle(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
  isOver: boolean,
): Promise<StepResult> {
  if (stepModules[call.step.type].rests === 'digest') return settleOpenDigest(tx, visit, call);
  const settled = await settleWait(tx, visit.stepExecution.id, isOver);
  if ('event' in settled) return endWait(tx, visit, call, settled);
  // A retry has set the execution to RUNNING, although its step still waits.
  await updateExecutionWaiting(tx, placeOfCall(call), settled.until);
  return { outcome: { kind: 'waiting', until: settled.until?.toISOString() ?? null } };
}

async function settleOpenDigest(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
): Promise<StepResult> {
  const settled = await settleDigest(tx, visit);
  if ('output' in settled) return finishStep(tx, visit, call, settled.output);
  // An exit rule was met while the step waited for a retry.
  if (await exitWithStep(tx, visit)) return { outcome: { kind: 'exited' } };
  await updateExecutionWaiting(tx, placeOfCall(call), settled.until);
  return { outcome: { kind: 'waiting', until: settled.until.toISOString() } };
}

/** Ends a wait. If an event ends it, the data of the event are added to the context. */
async function endWait(
  tx: Database,
  visit: StepVisit,
  { step }: StepCall,
  end: WaitEnd,
): Promise<StepResult> {
  const { event } = end;
  const { afterWait } = stepModules[step.type];
  if (!afterWait)
    throw bug(`A wait has ended at a step of the type ${step.type}, which has no such waits.`);
  await leaveWait(tx, visit.execution.id, event?.data ?? null);
  const ended = afterWait(step.config, event && { data: event.data, at: event.createdAt });
  const since = await completeWait(tx, visit.stepExecution.id, ended.output, end);
  const { kind } = ended;
  return { outcome: kind === 'branch' ? { kind, branch: ended.branch } : { kind }, since };
}
