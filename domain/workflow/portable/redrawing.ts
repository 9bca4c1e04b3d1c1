import { isJsonEqual } from '../../filter/value.ts';
import { ownConfig } from '../compare.ts';
import type { GraphStep, GraphTransition } from '../graph.ts';

/** A step with its key in the portable graph and its position on the canvas. */
export interface DrawnStep extends GraphStep {
  key: string;
  position: { x: number; y: number };
}

export interface Drawing {
  steps: readonly DrawnStep[];
  transitions: readonly GraphTransition[];
}

export interface Redrawing {
  removedSteps: string[];
  addedSteps: DrawnStep[];
  changedSteps: DrawnStep[];
  removedTransitions: string[];
  addedTransitions: GraphTransition[];
}

/**
 * Returns the changes that turn `before` into `after`. Steps are matched by their ids. Transitions
 * have no stable ids, so they are matched by source, target and branch.
 */
export function redrawing(before: Drawing, after: Drawing): Redrawing {
  const [stepsBefore, stepsAfter] = [byId(before), byId(after)];
  const [waysBefore, waysAfter] = [waysOf(before), waysOf(after)];
  return {
    removedSteps: before.steps.map(({ id }) => id).filter((id) => !stepsAfter.has(id)),
    addedSteps: after.steps.filter(({ id }) => !stepsBefore.has(id)),
    changedSteps: after.steps.filter((step) => {
      const known = stepsBefore.get(step.id);
      return known !== undefined && !isSame(known, step);
    }),
    removedTransitions: before.transitions
      .filter((way) => !waysAfter.has(wayOf(way)))
      .map(({ id }) => id),
    addedTransitions: after.transitions.filter((way) => !waysBefore.has(wayOf(way))),
  };
}

function byId({ steps }: Drawing): Map<string, DrawnStep> {
  return new Map(steps.map((step) => [step.id, step]));
}

function waysOf({ transitions }: Drawing): Set<string> {
  return new Set(transitions.map((way) => wayOf(way)));
}

function wayOf({ fromStepId, toStepId, branch }: GraphTransition): string {
  return JSON.stringify([fromStepId, toStepId, branch]);
}

/**
 * Returns true if two steps are the same. The copy of the template's id in a config does not
 * matter.
 */
function isSame(one: DrawnStep, other: DrawnStep): boolean {
  return (
    one.name === other.name &&
    one.templateId === other.templateId &&
    one.position.x === other.position.x &&
    one.position.y === other.position.y &&
    isJsonEqual(ownConfig(one), ownConfig(other))
  );
}

/** Returns false if a redrawing contains no changes. */
export function isRedrawn(made: Redrawing): boolean {
  return Object.values(made).some((parts: unknown[]) => parts.length > 0);
}
