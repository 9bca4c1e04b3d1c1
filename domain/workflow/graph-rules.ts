import type { FieldProblem, ProblemCode } from '../errors.ts';
import { type Graph, type GraphStep, reachableFrom, waysByStep, waysOut } from './graph.ts';
import { stepModules } from './steps/registry.ts';
import type { StepWarning, TemplateSenders } from './steps/step.ts';

/** The rules of graphs: how they may be edited, and when they can run. */

/**
 * Returns the rule that a new transition would break, or null. Both ends are steps of the graph. The
 * rules are checked in this order: it leads to its own step, from EXIT, or into TRIGGER; it already
 * exists; it closes a loop.
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

/** The ids of the branches of a step; empty if its type has no branches. */
export function branchesOf({ type, config }: Configured): string[] {
  return (stepModules[type]?.branches?.(config) ?? []).map(({ id }) => id);
}

/** The name of a branch for people. A branch that the step no longer has is named by its id. */
export function branchName({ type, config }: Configured, branch: string): string {
  const known = stepModules[type]?.branches?.(config) ?? [];
  return known.find(({ id }) => id === branch)?.name ?? branch;
}

/**
 * Returns the branches of a step that its transitions take: those that they name, or all branches of
 * the step if another transition has no branch. Empty: no transition names a branch.
 */
export function resultsOf(graph: Graph, step: GraphStep): string[] {
  const named = waysOut(graph, step.id).map((way) => way.branch);
  if (named.every((branch) => branch === null)) return [];
  if (!named.includes(null)) return named.flatMap((branch) => branch ?? []);
  return branchesOf(step);
}

/**
 * Returns the step after which a new step is linked automatically: the newest one that is reachable
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

/** Returns true if the step may have an outgoing transition without a branch. */
function mayLeadOn({ type }: GraphStep): boolean {
  const ways = stepModules[type]?.ways;
  return ways === 'one' || ways === 'outcomes';
}

/** Changes made by removing a step. */
export interface Removal {
  /** The removed steps; their transitions are removed too. */
  stepIds: string[];
  /** Transitions that lead to another step now, keeping their branch. */
  relinked: { transitionId: string; toStepId: string }[];
}

/** Returns the changes to remove a step with all steps that are reachable only through it. */
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
 * Returns the changes to remove one step from the middle: its incoming transitions lead to its
 * successor, if it has one. Null when the step branches, because it has no single successor.
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

/** Returns all reasons why a workflow cannot be enabled; empty when it can run. */
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
      message: 'The trigger has no event. Set eventName.',
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
 * Returns the problems of a step whose transitions must name branches: it has no such transition, or
 * one of a branch that it does not have.
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

/** The error of a SCHEDULE trigger without a cron or a zone. */
export const noSchedule: FieldProblem = {
  field: 'triggerConfig',
  code: 'required',
  message: 'The trigger has no schedule. Set cron and timeZone.',
};

function takenFrom(graph: Graph, step: GraphStep): (string | null)[] {
  return waysOut(graph, step.id).map(({ branch }) => branch);
}

/** A probable mistake in a graph that can run. It is reported, but never refused. */
export interface GraphWarning extends StepWarning {
  /** The id of the step. */
  step: string;
}

/**
 * Returns warnings about the shape of a graph: steps that no path reaches, branches that are never
 * taken, and events that a wait may miss.
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
      const message = `No path leads from the trigger to "${name}", so no execution reaches it.`;
      return [{ code: 'unreachable_step', message, step: id }];
    }
    const taken = (ways.get(id) ?? []).map(({ branch }) => branch);
    const isBehindDelay = behindDelays.has(id);
    const warnings = stepModules[type]?.warnings?.(step, { taken, isBehindDelay }) ?? [];
    return warnings.map((warning) => ({ ...warning, step: id }));
  });
}
