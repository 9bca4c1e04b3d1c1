import type { FieldProblem, ProblemCode } from '../errors.ts';
import { type Graph, type GraphStep, reachableFrom, waysByStep, waysOut } from './graph.ts';
import { stepModules } from './steps/registry.ts';
import { type StepWarning, type TemplateSenders, waitBranches } from './steps/step.ts';

/** Rules about graphs: which edits are allowed, and when a graph can run. */

/**
 * Returns the first rule that a new transition would break, or null. Both ends are steps of the
 * graph. The rules, in this order: the transition must not lead to its own step, from EXIT or into
 * TRIGGER; it must not exist already; it must not close a loop.
 */
export function transitionFault(
  graph: Graph,
  from: GraphStep,
  to: GraphStep,
  branch: string | null,
): ProblemCode | null {
  if (from.id === to.id) return 'TRANSITION_SELF';
  if (stepModules[from.type]?.ways === 'none') return 'TRANSITION_FROM_EXIT';
  if (to.type === 'TRIGGER') return 'TRANSITION_TO_TRIGGER';
  if (waysOut(graph, from.id).some((way) => way.branch === branch)) {
    return branch === null ? 'TRANSITION_EXISTS' : 'TRANSITION_BRANCH_EXISTS';
  }
  if (reachableFrom(graph, to.id).has(from.id)) return 'TRANSITION_LOOP';
  return null;
}

type Configured = Pick<GraphStep, 'type' | 'config'>;

/** Returns the ids of a step's branches; empty if its type has none. */
export function branchesOf({ type, config }: Configured): string[] {
  return (stepModules[type]?.branches?.(config) ?? []).map(({ id }) => id);
}

/**
 * Returns the name of a branch for people. If the step no longer has the branch, the name is its
 * id.
 */
export function branchName({ type, config }: Configured, branch: string): string {
  const known = stepModules[type]?.branches?.(config) ?? [];
  return known.find(({ id }) => id === branch)?.name ?? branch;
}

/**
 * Returns the branches for which a step has a transition. If some transitions name branches, a
 * transition without one stands for all branches of the step. Empty: no transition names a branch.
 */
export function resultsOf(graph: Graph, step: GraphStep): string[] {
  const named = waysOut(graph, step.id).map((way) => way.branch);
  if (named.every((branch) => branch === null)) return [];
  if (!named.includes(null)) return named.flatMap((branch) => branch ?? []);
  return branchesOf(step);
}

/**
 * Returns the step to which a new step is connected automatically: the newest one that is reachable
 * from TRIGGER, has no outgoing transition, and may have one without a branch. `graph.steps` is in
 * order of creation.
 */
export function autoConnectLeaf(graph: Graph): GraphStep | undefined {
  const trigger = graph.steps.find((step) => step.type === 'TRIGGER');
  if (!trigger) return undefined;
  const reachable = reachableFrom(graph, trigger.id);
  return graph.steps.findLast(
    (step) => reachable.has(step.id) && mayLeadOn(step) && waysOut(graph, step.id).length === 0,
  );
}

/** Returns true if a step of this type may have an outgoing transition without a branch. */
function mayLeadOn({ type }: GraphStep): boolean {
  const ways = stepModules[type]?.ways;
  return ways === 'one' || ways === 'outcomes';
}

/** The changes that remove a step. */
export interface Removal {
  /** The ids of the removed steps. Their transitions are removed as well. */
  stepIds: string[];
  /** Transitions that will lead to another step. They keep their branch. */
  relinked: { transitionId: string; toStepId: string }[];
}

/** Returns the changes that remove a step and all steps that are reachable only through it. */
export function pruning(graph: Graph, stepId: string): Removal {
  const below = reachableFrom(graph, stepId);
  const kept = new Set<string>();
  const open = graph.steps.map((step) => step.id).filter((id) => !below.has(id));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { toStepId } of waysOut(graph, next)) {
      if (toStepId !== stepId && below.has(toStepId) && !kept.has(toStepId)) {
        kept.add(toStepId);
        open.push(toStepId);
      }
    }
  }
  return { stepIds: [...below].filter((id) => !kept.has(id)), relinked: [] };
}

/**
 * Returns the changes that remove one step and close the gap: the incoming transitions of the step
 * will lead to its successor, if there is one. Null when the step has branches, because then there
 * is no single successor.
 */
export function splicing(graph: Graph, step: GraphStep): Removal | null {
  const [way, ...others] = waysOut(graph, step.id);
  if (stepModules[step.type]?.ways === 'branches' || others.length > 0) return null;
  const waysIn = graph.transitions.filter((transition) => transition.toStepId === step.id);
  return {
    stepIds: [step.id],
    relinked: way ? waysIn.map(({ id }) => ({ transitionId: id, toStepId: way.toStepId })) : [],
  };
}

/** Returns all reasons why a workflow cannot be enabled; empty: it can be enabled. */
export function enablingProblems(
  graph: Graph,
  trigger: { type: string; eventName: string | null; isScheduled?: boolean },
  templates: TemplateSenders,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (trigger.type === 'EVENT' && !trigger.eventName) {
    problems.push({
      field: 'triggerConfig',
      code: 'required',
      message: 'The trigger has no event. Set its `eventName`.',
    });
  }
  if (trigger.type === 'SCHEDULE' && !trigger.isScheduled) problems.push(noSchedule);
  for (const step of graph.steps) {
    const taken = takenFrom(graph, step);
    const own = stepModules[step.type]?.problems?.(step, { taken, templates }) ?? [];
    for (const message of [...branchProblems(step, taken), ...own]) {
      problems.push({ field: `steps.${step.id}`, code: 'custom', message });
    }
  }
  return problems;
}

/**
 * Returns the problems of a step whose transitions must name branches: none names a branch, or one
 * names a branch that the step does not have.
 */
function branchProblems(step: GraphStep, taken: readonly (string | null)[]): string[] {
  if (stepModules[step.type]?.ways !== 'branches') return [];
  const named = taken.flatMap((branch) => branch ?? []);
  if (named.length === 0)
    return [`"${step.name}" has no transition. Connect at least one of its branches.`];
  const known = branchesOf(step);
  return named
    .filter((branch) => !known.includes(branch))
    .map(
      (branch) =>
        `"${step.name}" has a transition of the branch "${branch}", which does not exist. Remove the transition.`,
    );
}

/** The problem of a SCHEDULE trigger that has no cron or no zone. */
export const noSchedule: FieldProblem = {
  field: 'triggerConfig',
  code: 'required',
  message: 'The trigger has no schedule. Set its `cron` and `timeZone`.',
};

function takenFrom(graph: Graph, step: GraphStep): (string | null)[] {
  return waysOut(graph, step.id).map(({ branch }) => branch);
}

/** A probable mistake in a graph that can run. The warning is shown, but no request is refused. */
export interface GraphWarning extends StepWarning {
  /** The id of the step with the mistake. */
  step: string;
}

/**
 * Returns warnings about the shape of a graph: unreachable steps, branches that are never taken,
 * and events that a wait may miss.
 */
export function graphWarnings(graph: Graph): GraphWarning[] {
  const trigger = graph.steps.find(({ type }) => type === 'TRIGGER');
  const reached = trigger ? reachableFrom(graph, trigger.id) : new Set<string>();
  const ways = waysByStep(graph);
  const delays = graph.steps.filter(
    ({ id, type }) =>
      reached.has(id) && ['delay', 'digest'].includes(stepModules[type]?.rests ?? ''),
  );
  const behindDelays = reachableFrom(graph, ...delays.map(({ id }) => id));
  return graph.steps.flatMap((step): GraphWarning[] => {
    const { id, type, name } = step;
    if (!reached.has(id)) {
      const message = `No path leads from the trigger to "${name}", so no execution reaches it. Add a transition to it, or delete it.`;
      return [{ code: 'unreachable_step', message, step: id }];
    }
    const taken = (ways.get(id) ?? []).map(({ branch }) => branch);
    const isBehindDelay = behindDelays.has(id);
    const warnings = stepModules[type]?.warnings?.(step, { taken, isBehindDelay }) ?? [];
    return warnings.map((warning) => ({ ...warning, step: id }));
  });
}

/**
 * Returns warnings about branches that end the execution, at steps whose other branches continue.
 * Such an end is often intended, so only a check of the graph shows the warning.
 */
export function branchWarnings(graph: Graph): GraphWarning[] {
  const trigger = graph.steps.find(({ type }) => type === 'TRIGGER');
  const reached = trigger ? reachableFrom(graph, trigger.id) : new Set<string>();
  const ways = waysByStep(graph);
  return graph.steps.flatMap((step): GraphWarning[] => {
    const taken = (ways.get(step.id) ?? []).map(({ branch }) => branch);
    if (!reached.has(step.id) || taken.length === 0 || taken.includes(null)) return [];
    const ends = branchesOf(step).filter(
      (branch) => !taken.includes(branch) && isTaken(step, branch),
    );
    if (ends.length === 0) return [];
    const message =
      `"${step.name}" has no transition for ${ends.map((branch) => `"${branch}"`).join(', ')}, ` +
      'so executions end there.';
    return [{ code: 'unconnected_branch', message, step: step.id }];
  });
}

/** Returns false if the branch is the timeout of a step that has no timeout. */
function isTaken({ type, config }: GraphStep, branch: string): boolean {
  const isTimeout = stepModules[type].ways === 'outcomes' && branch === waitBranches.TIMEOUT;
  return !isTimeout || config['timeout'] != null;
}
