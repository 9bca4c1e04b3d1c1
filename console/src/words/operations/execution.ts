import type { Execution, ExecutionDetails } from '../../api/api.ts';
import { counted } from '../numbers.ts';
import { fullTime } from '../times.ts';
import type { Tone } from '../tone.ts';

/** States of executions in words. */
export const executionStates: Record<Execution['status'], { text: string; tone: Tone }> = {
  RUNNING: { text: 'Running', tone: 'neutral' },
  WAITING: { text: 'Waiting', tone: 'neutral' },
  COMPLETED: { text: 'Completed', tone: 'good' },
  EXITED: { text: 'Exited', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  CANCELLED: { text: 'Cancelled', tone: 'warning' },
};

/** Exit reasons that Everpost itself sets, one sentence per code. */
const exitReasons: Record<string, string> = {
  date_past: 'the date of a delay had passed.',
  date_missing: 'the contact has no date for a delay.',
};

/** Returns a text with a full stop at its end, if it has no such sign yet. */
export const ended = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

export const isActive = ({ status }: Pick<Execution, 'status'>): boolean =>
  status === 'RUNNING' || status === 'WAITING';

/**
 * Returns the latest end of an execution's wait; null: the execution does not wait, or waits
 * without an end. A waiting step has the end of its wait. The end of a delay is the start time of
 * the next step.
 */
export function endOfWait({
  status,
  currentStepId,
  stepExecutions,
}: Pick<ExecutionDetails, 'status' | 'currentStepId' | 'stepExecutions'>): string | null {
  if (status !== 'WAITING') return null;
  const current = stepExecutions.findLast(({ stepId }) => stepId === currentStepId);
  if (current?.status === 'WAITING') return current.executeAfter;
  const next = stepExecutions.findLast((step) => step.status === 'SCHEDULED');
  const resumeAt = current?.output?.['resumeAt'];
  return next?.scheduledFor ?? (typeof resumeAt === 'string' ? resumeAt : null);
}

/** Returns a sentence about the state of an execution, with the reason. */
export function executionSentence(execution: ExecutionDetails): string {
  const { status, stuck, exitReason, warnings, workflow, stepExecutions } = execution;
  const failed = stepExecutions.findLast((step) => step.status === 'FAILED');
  switch (status) {
    case 'COMPLETED':
      return warnings > 0
        ? `All steps are done, ${counted(warnings, 'step')} with a warning.`
        : 'All steps are done.';
    case 'EXITED':
      return exitReason === null
        ? 'It ended at an exit.'
        : `It ended early: ${exitReasons[exitReason] ?? ended(exitReason)}`;
    case 'CANCELLED':
      return 'It was cancelled.';
    case 'FAILED':
      return `It failed${failed ? ` at “${failed.step.name}”` : ''}: ${ended(execution.error ?? 'no reason is known')}`;
  }
  if (execution.pausedAt !== null) {
    const why = execution.pauseReason === null ? '' : ` (${execution.pauseReason})`;
    return `It is paused${why}: no step begins until it is resumed.`;
  }
  if (workflow.pausedAt !== null) return 'It is held, because its workflow is paused.';
  if (stuck) return `It is stuck since ${fullTime(stuck.since)}: ${ended(stuck.reason)}`;
  return waitingSentence(execution);
}

function waitingSentence(execution: ExecutionDetails): string {
  const { status, currentStep } = execution;
  const step = currentStep ? `“${currentStep.name}”` : 'its first step';
  if (status === 'RUNNING') return `It is at ${step}.`;
  const end = endOfWait(execution);
  return end === null ? `It waits at ${step}.` : `It waits at ${step} until ${fullTime(end)}.`;
}
