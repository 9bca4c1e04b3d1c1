import {
  branchesOf,
  type Config,
  findStep,
  findWay,
  firstConfigs,
  type Journey,
  namedBranches,
  type Step,
  type StepType,
  targetsOf,
  typeNames,
  wayOf,
  waysOut,
} from './graph.ts';

/**
 * Changes of a graph. Each function returns a new graph. If the change is not allowed, it returns
 * the same graph.
 */

interface Point {
  x: number;
  y: number;
}

const below = 140;
const beside = 280;

/** Returns a text in lower case, without accents, with its words joined by hyphens. */
function readable(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '');
  return plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Returns `text`, with a number if the text is taken: `delay`, `delay-2`. */
function free(text: string, join: string, isTaken: (text: string) => boolean): string {
  for (let number = 1; ; number++) {
    const made = number === 1 ? text : `${text}${join}${number}`;
    if (!isTaken(made)) return made;
  }
}

export interface NewStep {
  stepType: StepType;
  /** Key of the step that leads to the new step; null: the new step is not connected. */
  after: string | null;
  /** The branch of the step `after` that leads to the new step. */
  branch: string | null;
  position?: Point | undefined;
}

/**
 * Adds a step. A step that followed on the same branch now follows the new step.
 * @param usedKeys keys that the new step must not get, because a key always means the same step
 */
export function addStep(
  journey: Journey,
  { stepType, after, branch, position }: NewStep,
  usedKeys: readonly string[],
): { journey: Journey; key: string } {
  const before = findStep(journey, after);
  const name = free(typeNames[stepType], ' ', (text) =>
    journey.steps.some((step) => step.name === text),
  );
  const key = free(readable(typeNames[stepType]), '-', (text) => usedKeys.includes(text));
  const step: Step = {
    key,
    type: stepType,
    name,
    config: structuredClone(firstConfigs[stepType]),
    position: position ?? freePosition(journey, before, branch),
  };
  const added = { ...journey, steps: [...journey.steps, step] };
  if (!before) return { journey: added, key };
  const old = findWay(journey, before.key, branch);
  const kept = journey.transitions.filter((way) => way !== old);
  const first = namedBranches(step)[0]?.id ?? null;
  const next = old && stepType !== 'EXIT' ? [wayOf(key, old.to, first)] : [];
  return {
    journey: { ...added, transitions: [...kept, wayOf(before.key, key, branch), ...next] },
    key,
  };
}

/** Returns a free position below the step that leads to the new step. */
function freePosition(journey: Journey, before: Step | undefined, branch: string | null): Point {
  const last = journey.steps.at(-1);
  const { x, y } = (before ?? last)?.position ?? { x: 100, y: 100 };
  const branches = before ? branchesOf(journey, before) : [];
  const column = Math.max(
    0,
    branches.findIndex(({ id }) => id === branch),
  );
  const spot = { x: x + beside * column, y: y + below };
  const isTaken = () =>
    journey.steps.some(
      ({ position }) => Math.abs(position.x - spot.x) < 200 && Math.abs(position.y - spot.y) < 80,
    );
  while (isTaken()) spot.y += below;
  return spot;
}

/** The part of a step that its form changes. */
export interface StepChange {
  name?: string;
  config?: Config;
  /** null: no template. */
  template?: { id: string; name: string } | null;
}

/** Changes a step. Transitions of branches that the step no longer has are removed. */
export function changeStep(journey: Journey, key: string, change: StepChange): Journey {
  const old = findStep(journey, key);
  if (!old) return journey;
  const { template, ...rest } = change;
  const { template: before, ...plain } = { ...old, ...rest };
  const chosen = template === undefined ? before : template;
  const step: Step = chosen ? { ...plain, template: chosen } : plain;
  const steps = journey.steps.map((one) => (one === old ? step : one));
  return { ...journey, steps, transitions: keptWays(journey, old, step) };
}

/**
 * Renames the branch for all other contacts when a condition changes between two and several
 * branches.
 */
const renamedBranches: Readonly<Record<string, string>> = { no: 'default', default: 'no' };

function keptWays({ transitions }: Journey, old: Step, step: Step): Journey['transitions'] {
  const had = namedBranches(old);
  if (had.length === 0) return transitions;
  const has = new Set(namedBranches(step).map(({ id }) => id));
  return transitions.flatMap((way) => {
    const { from, to, branch } = way;
    if (from !== step.key || branch === undefined || has.has(branch)) return [way];
    const other = renamedBranches[branch];
    return other !== undefined && has.has(other) ? [wayOf(from, to, other)] : [];
  });
}

/** Connects a branch to a step, and removes the branch's former transition. */
export function connect(
  journey: Journey,
  from: string,
  branch: string | null,
  to: string,
): Journey {
  const step = findStep(journey, from);
  if (!step || !targetsOf(journey, step).some(({ key }) => key === to)) return journey;
  const { transitions } = disconnect(journey, from, branch);
  return { ...journey, transitions: [...transitions, wayOf(from, to, branch)] };
}

export function disconnect(journey: Journey, from: string, branch: string | null): Journey {
  const old = findWay(journey, from, branch);
  return { ...journey, transitions: journey.transitions.filter((way) => way !== old) };
}

/**
 * Deletes a step. If exactly one transition left the deleted step, the steps before it now lead to
 * the target of this transition. With several transitions, the targets stay unconnected.
 */
export function deleteStep(journey: Journey, key: string): Journey {
  if (findStep(journey, key)?.type === 'TRIGGER') return journey;
  const next = waysOut(journey, key);
  const successor = next.length === 1 ? next[0]!.to : null;
  const transitions = journey.transitions.flatMap((way) => {
    if (way.from === key) return [];
    if (way.to !== key) return [way];
    return successor === null ? [] : [{ ...way, to: successor }];
  });
  return { ...journey, steps: journey.steps.filter((step) => step.key !== key), transitions };
}

/** Moves steps on the canvas. */
export function moveSteps(journey: Journey, positions: Readonly<Record<string, Point>>): Journey {
  const steps = journey.steps.map((step) => {
    const position = positions[step.key];
    return position ? { ...step, position } : step;
  });
  return { ...journey, steps };
}
