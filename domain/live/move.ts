import { isJsonEqual } from '../filter/value.ts';
import { counterpartOf, type Mapping, ownConfig } from '../workflow/compare.ts';
import { findStep, type Graph, type GraphStep, stepAfter } from '../workflow/graph.ts';
import { passOver, type StepMark } from '../workflow/place.ts';
import { delayEnd, type DelayEnd, type DelayScope } from '../workflow/steps/delay.ts';
import { digestEnd, digestExpectation, digestSame } from '../workflow/steps/digest.ts';
import type { DigestSettings, Expectation } from '../workflow/steps/effects.ts';
import { expectationOf, expectSame, waitEnd } from '../workflow/steps/wait-for-event.ts';
import type { StepConfig } from '../workflow/steps/registry.ts';

/** Decides how an execution continues when it moves to another version of its workflow. */

/** The situation of an execution at its current step. */
export type Rest =
  /**
   * The execution is in a delay, waits for an event, or collects events. `beganAt`: the time from
   * which the length of the delay, wait or digest counts.
   */
  | { kind: 'delay' | 'wait' | 'digest'; beganAt: Date }
  /** The execution is between two steps, or its step is running or has failed. */
  | { kind: 'none' };

/** The changes to an execution that moves. Step ids are those of the target graph. */
export interface Move {
  currentStepId: string;
  /** Steps that have begun and have another id in the target graph. */
  renamed: { from: string; to: string }[];
  /** The new end of the current delay; undefined: unchanged. */
  delay?: DelayEnd;
  /** The step after the current delay; null: there is none. */
  scheduledStepId?: string | null;
  /** The current wait or digest after the move; undefined: unchanged. */
  wait?: {
    expiresAt: Date | null;
    /** The events that are expected after the move; null: the same events as before the move. */
    expected: Expectation | null;
    /** Set only for a digest, which keeps the events that it has already taken. */
    digest?: Pick<DigestSettings, 'max'>;
  };
}

/**
 * Returns the changes to an execution that moves from one graph to another. Returns null if the
 * current step has no counterpart of the same type, or if the execution has begun another step with
 * the same counterpart.
 *
 * A delay, wait or digest keeps its beginning. If the two steps have different configs, the end is
 * computed again from this beginning; a delay until a date reads the date again.
 * @param execution.marks the states of all steps that have begun or are scheduled
 */
export function planMove(
  [graph, other]: readonly [Graph, Graph],
  execution: { currentStepId: string | null; marks: readonly StepMark[]; rest: Rest },
  mapping: Mapping,
  scope: Omit<DelayScope, 'beganAt'>,
): Move | null {
  const { rest } = execution;
  const current = findStep(graph, execution.currentStepId ?? '');
  const target = current && counterpartOf(current, other, mapping).step;
  if (!target) return null;
  const begun = execution.marks.filter(hasBegun).map((mark) => {
    const step = findStep(graph, mark.stepId);
    const there = step && counterpartOf(step, other, mapping).step;
    return { from: mark.stepId, mark: { ...mark, stepId: there?.id ?? mark.stepId } };
  });
  const isTaken = begun.some(({ from, mark }) => from !== current.id && mark.stepId === target.id);
  if (isTaken) return null;
  const move: Move = { currentStepId: target.id, renamed: renames(begun) };
  const isSame = isJsonEqual(ownConfig(current), ownConfig(target));
  if (rest.kind === 'delay') {
    move.scheduledStepId = nextOf(other, target, begun);
    if (!isSame) {
      const { beganAt } = rest;
      move.delay = delayEnd(target.config as StepConfig<'DELAY'>, { ...scope, beganAt });
      if (exitOf(move) !== null) move.scheduledStepId = null;
    }
  }
  if (rest.kind === 'wait' && !isSame) {
    const config = target.config as StepConfig<'WAIT_FOR_EVENT'>;
    const isExpectedStill = expectSame(current.config as StepConfig<'WAIT_FOR_EVENT'>, config);
    move.wait = {
      expiresAt: waitEnd(config, rest.beganAt),
      expected: isExpectedStill ? null : expectationOf(config, scope),
    };
  }
  if (rest.kind === 'digest' && !isSame) {
    const config = target.config as StepConfig<'DIGEST'>;
    const isExpectedStill = digestSame(current.config as StepConfig<'DIGEST'>, config);
    move.wait = {
      expiresAt: digestEnd(config, rest.beganAt, scope),
      expected: isExpectedStill ? null : digestExpectation(config, scope),
      digest: { max: config.max ?? null },
    };
  }
  return move;
}

/**
 * Returns the exit reason of a moved execution that ends at once, because the date of its delay is
 * past; null: it continues.
 */
export function exitOf({ delay }: Move): string | null {
  return delay?.kind === 'past' ? delay.exitReason : null;
}

interface Begun {
  /** The id of the step in the source graph. */
  from: string;
  /** The mark of the step, with its id in the target graph. */
  mark: StepMark;
}

/**
 * Returns true if a step has begun. A scheduled step that was skipped because the execution ended
 * has not begun.
 */
function hasBegun({ status, startedAt }: StepMark): boolean {
  return status !== 'SCHEDULED' && !(status === 'SKIPPED' && startedAt === null);
}

function nextOf(other: Graph, { id }: GraphStep, begun: readonly Begun[]): string | null {
  const marks = begun.map(({ mark }) => mark);
  return passOver(other, stepAfter(other, id, null), marks)?.id ?? null;
}

/**
 * Returns the changes of step ids. If the mapping gives two begun steps the same counterpart, only
 * the first of them is renamed.
 */
function renames(begun: readonly Begun[]): { from: string; to: string }[] {
  const ids = new Set<string>();
  return begun.flatMap(({ from, mark: { stepId: to } }) => {
    const isFirst = !ids.has(to);
    ids.add(to);
    return isFirst && to !== from ? [{ from, to }] : [];
  });
}
