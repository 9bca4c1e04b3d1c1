import { type Graph, type GraphStep, type GraphTransition, waysByStep } from '../workflow/graph.ts';
import { explanationOf } from '../workflow/explanation.ts';
import { branchName } from '../workflow/graph-rules.ts';
import { branchIn } from '../workflow/place.ts';
import { stepModules } from '../workflow/steps/registry.ts';
import type { StepModule } from '../workflow/steps/step.ts';
import type { Picture, PictureStep, StepState } from './picture.ts';

/** Creates the content of pictures of workflows and executions. */

export interface StepNumbers {
  entered: number;
  waiting: number;
  failed: number;
}

/** Returns the picture of a graph, with numbers on its steps if given. */
export function pictureOfGraph(
  graph: Graph,
  { name, subtitle }: { name: string; subtitle: string },
  numbers: ReadonlyMap<string, StepNumbers> | null,
): Picture {
  return {
    title: name,
    subtitle,
    steps: graph.steps.map((step) => {
      const { id, name: stepName } = step;
      const counts = numbers?.get(id);
      const notes = counts ? [numbersText(counts)] : [];
      return {
        id,
        label: labelOf(step),
        name: stepName,
        state: null,
        word: null,
        notes,
        fault: null,
      };
    }),
    ways: waysOf(graph, () => null),
  };
}

function numbersText({ entered, waiting, failed }: StepNumbers): string {
  const parts = [`${grouped(entered)} entered`];
  if (waiting > 0) parts.push(`${grouped(waiting)} waiting`);
  if (failed > 0) parts.push(`${grouped(failed)} failed`);
  return parts.join(' · ');
}

const grouped = (count: number) => count.toLocaleString('en-US');

export interface ExecutionState {
  workflowName: string;
  version: number;
  status: string;
  currentStepId: string | null;
  /** True if the execution is paused, either itself or through its workflow. */
  isPaused: boolean;
  error: string | null;
  exitReason: string | null;
  startedAt: Date;
  completedAt: Date | null;
  steps: readonly StepDone[];
}

/** A step execution, with the columns that a picture needs. */
export interface StepDone {
  stepId: string;
  status: string;
  startedAt: Date | null;
  completedAt: Date | null;
  scheduledFor: Date | null;
  executeAfter: Date | null;
  output: Record<string, unknown> | null;
  error: string | null;
}

/**
 * Returns the picture of an execution: its graph with the transitions it has taken. Steps that the
 * graph does not have are left out.
 */
export function pictureOfExecution(graph: Graph, execution: ExecutionState): Picture {
  const done = new Map(execution.steps.map((step) => [step.stepId, step]));
  const failedAt = failedStepOf(execution);
  const ways = waysByStep(graph);
  /**
   * Returns the transition by which the execution left a step; undefined if it has not reached the
   * target.
   */
  const wayFrom = (step: StepDone | undefined): GraphTransition | undefined => {
    const out = (step && ways.get(step.stepId)) ?? [];
    const branch = branchIn(step?.output ?? null);
    const way = out.find((one) => one.branch === branch) ?? out.find((one) => one.branch === null);
    return way && done.has(way.toStepId) ? way : undefined;
  };
  return {
    title: execution.workflowName,
    subtitle: subtitleOf(execution),
    steps: graph.steps.map((step) => {
      const its = done.get(step.id);
      const state = its ? stateOf(its, execution, failedAt) : 'untouched';
      return pictureStep(step, state, its, execution, done.get(wayFrom(its)?.toStepId ?? ''));
    }),
    ways: waysOf(graph, (way) => way === wayFrom(done.get(way.fromStepId))),
  };
}

function subtitleOf({
  version,
  status,
  exitReason,
  startedAt,
  completedAt,
  isPaused,
}: ExecutionState) {
  const reason = exitReason === null ? '' : ` (${exitReason})`;
  const parts = [`Version ${version}`, `${status}${isPaused ? ', paused' : ''}${reason}`];
  parts.push(`started ${timeText(startedAt)} UTC`);
  if (completedAt) parts.push(`${durationText(startedAt, completedAt)} in all`);
  return parts.join(' · ');
}

/**
 * Returns the step at which the execution failed: the failed step, or the current one if the run
 * ended without a failed step. null: the execution has not failed.
 */
function failedStepOf({ status, steps, currentStepId }: ExecutionState): string | null {
  if (status !== 'FAILED') return null;
  return steps.find((step) => step.status === 'FAILED')?.stepId ?? currentStepId;
}

function stateOf(
  { stepId, status, startedAt }: StepDone,
  execution: ExecutionState,
  failedAt: string | null,
): StepState {
  if (stepId === failedAt || status === 'FAILED') return 'failed';
  if (status === 'SKIPPED') return 'skipped';
  const isActive = execution.status === 'RUNNING' || execution.status === 'WAITING';
  if (isActive && stepId === execution.currentStepId) return 'current';
  if (status === 'SCHEDULED') return 'scheduled';
  return startedAt === null && status !== 'COMPLETED' ? 'untouched' : 'done';
}

function pictureStep(
  step: GraphStep,
  state: StepState,
  done: StepDone | undefined,
  execution: ExecutionState,
  next: StepDone | undefined,
): PictureStep {
  const { id, type, name } = step;
  const base = { id, label: labelOf(step), name, state };
  if (!done) return { ...base, word: null, notes: [], fault: null };
  const delay = stepModules[type]?.rests === 'delay' ? endOfDelay(execution, next) : null;
  const explanation = explanationOf(step, done.output);
  return {
    ...base,
    word: state === 'current' ? currentWord(execution) : state,
    notes: [...timesOf(state, done, delay), ...(explanation === null ? [] : [explanation])],
    fault: done.error ?? (state === 'failed' ? execution.error : null),
  };
}

/**
 * Returns when a delay ends: when the next step begins or is skipped. Without a next step, the
 * delay ends when the execution ends.
 */
function endOfDelay({ completedAt }: ExecutionState, next: StepDone | undefined): DelayEnd {
  return {
    isAt: next ? (next.startedAt ?? next.completedAt) : completedAt,
    willBeAt: next?.scheduledFor ?? null,
  };
}

interface DelayEnd {
  isAt: Date | null;
  willBeAt: Date | null;
}

function currentWord({ isPaused, status }: ExecutionState): string {
  if (isPaused) return 'paused';
  return status === 'WAITING' ? 'waiting' : 'running';
}

/** Returns in words when a step began, and how long it took or until when it lasts. */
function timesOf(state: StepState, step: StepDone, delay: DelayEnd | null): string[] {
  const { startedAt, completedAt, scheduledFor, executeAfter, output } = step;
  if (state === 'scheduled') return scheduledFor ? [`from ${timeText(scheduledFor)}`] : [];
  if (startedAt === null) return completedAt ? [timeText(completedAt)] : [];
  if (state === 'current') {
    const until = delay ? (delay.willBeAt ?? momentOf(output?.['resumeAt'])) : executeAfter;
    return [`since ${timeText(startedAt)}`, ...(until ? [`until ${timeText(until)}`] : [])];
  }
  const end = delay && state !== 'skipped' ? delay.isAt : completedAt;
  return [`${timeText(startedAt)}${end ? ` · ${durationText(startedAt, end)}` : ''}`];
}

function momentOf(text: unknown): Date | null {
  return typeof text === 'string' && Number.isFinite(Date.parse(text)) ? new Date(text) : null;
}

function waysOf(graph: Graph, isTaken: (way: GraphTransition) => boolean | null): Picture['ways'] {
  const steps = new Map(graph.steps.map((step) => [step.id, step]));
  return [...waysByStep(graph).values()].flat().flatMap((way) => {
    const [from, to] = [steps.get(way.fromStepId), steps.get(way.toStepId)];
    if (!from || !to) return [];
    const label = way.branch === null ? null : branchName(from, way.branch);
    return [{ from: from.id, to: to.id, label, isTaken: isTaken(way) }];
  });
}

/**
 * Returns the label of a step's type. A version may have steps of a type that this build does not
 * know.
 */
function labelOf({ type, config }: GraphStep): string {
  const module: StepModule | undefined = stepModules[type];
  const note = module?.note?.(config);
  return [module?.label ?? type, ...(note === undefined ? [] : [note])].join(' · ');
}

/** Returns a time in UTC, to the second. */
function timeText(moment: Date): string {
  return moment.toISOString().slice(0, 19).replace('T', ' ');
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Returns a duration in its two largest units: `2 d 3 h`. */
function durationText(from: Date, to: Date): string {
  const ms = Math.max(0, to.getTime() - from.getTime());
  if (ms < 1_000) return `${ms} ms`;
  let rest = Math.round(ms / 1_000);
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(rest / seconds);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * seconds;
  }
  return parts.slice(0, 2).join(' ');
}
