import { isJsonEqual } from '../filter/value.ts';
import { counterpartOf, type Mapping, ownConfig } from '../workflow/compare.ts';
import { findStep, type Graph, type GraphStep, stepAfter } from '../workflow/graph.ts';
import { passOver, type StepMark } from '../workflow/place.ts';
import { delayEnd, type DelayEnd, type DelayScope } from '../workflow/steps/delay.ts';
import { digestEnd, digestExpectation, digestSame } from '../workflow/steps/digest.ts';
import type { DigestSettings, Expectation } from '../workflow/steps/effects.ts';
import { expectationOf, expectSame, waitEnd } from '../workflow/steps/wait-for-event.ts';
import type { StepConfig } from '../workflow/steps/registry.ts';

/** Decides how an execution continues in another version of its workflow. */

/** The state of an execution at its current step. */
export type Rest =
  /**
   * It is in a delay, waits for an event that has not arrived, or collects events. `beganAt`: the time
   * from which the length of the delay, wait or digest is counted.
   */
  | { kind: 'delay' | 'wait' | 'digest'; beganAt: Date }
  /** It is between two steps, or its step is running or has failed. */
  | { kind: 'none' };

/** Changes to an execution that moves. Steps are those of the target graph. */
export interface Move {
  currentStepId: string;
  /** Begun steps that have another id in the target graph. */
  renamed: { from: string; to: string }[];
  /** The recomputed end of its delay; undefined: unchanged. */
  delay?: DelayEnd;
  /** The step after its running delay; null: none. */
  scheduledStepId?: string | null;
  /** Its wait or digest after the move; undefined: unchanged. */
  wait?: {
    expiresAt: Date | null;
    /** The events that it expects from the move on; null: the same as before. */
    expected: Expectation | null;
    /** Only for a digest. It keeps the events that it has taken. */
    digest?: Pick<DigestSettings, 'max'>;
  };
}

/**
 * Returns the changes to an execution that moves from one graph to another; null: its current step has
 * no counterpart of the same type there, or the execution has begun another step with the same
 * counterpart.
 *
 * A delay, wait or digest keeps its beginning. If its config differs, its end is computed again from
 * this beginning; a delay until a date reads the date again.
 * @param execution.marks of all steps that it has begun or scheduled
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
 * Returns why a moved execution ends at once: the date of its delay is in the past; null: it
 * continues.
 */
export function exitOf({ delay }: Move): string | null {
  return delay?.kind === 'past' ? delay.exitReason : null;
}

interface Begun {
  /** Its id in the source graph. */
  from: string;
  /** Its mark, with its id in the target graph. */
  mark: StepMark;
}

/** A step that was scheduled, and then skipped because the execution ended, has not begun. */
function hasBegun({ status, startedAt }: StepMark): boolean {
  return status !== 'SCHEDULED' && !(status === 'SKIPPED' && startedAt === null);
}

function nextOf(other: Graph, { id }: GraphStep, begun: readonly Begun[]): string | null {
  const marks = begun.map(({ mark }) => mark);
  return passOver(other, stepAfter(other, id, null), marks)?.id ?? null;
}

/** If the mapping gives two begun steps the same counterpart, only the first one is renamed. */
function renames(begun: readonly Begun[]): { from: string; to: string }[] {
  const ids = new Set<string>();
  return begun.flatMap(({ from, mark: { stepId: to } }) => {
    const isFirst = !ids.has(to);
    ids.add(to);
    return isFirst && to !== from ? [{ from, to }] : [];
  });
}
