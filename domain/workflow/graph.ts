import type { FieldProblem, ProblemCode } from '../errors.ts';
import type { ExitRule } from './exit-rules.ts';
import { stepKinds, type StepType } from './step-types.ts';

/** The graph of a workflow and its rules. No clock, no zod: the workflow sandbox uses it too. */

export interface GraphStep {
  id: string;
  type: StepType;
  name: string;
  config: Record<string, unknown>;
  templateId: string | null;
}

/** A step as a run knows it: the rest is read when the step is performed. */
export type StepRef = Pick<GraphStep, 'id' | 'type' | 'name'>;

export function refOf({ id, type, name }: GraphStep): StepRef {
  return { id, type, name };
}

export interface GraphTransition {
  id: string;
  fromStepId: string;
  toStepId: string;
  /** The step result that takes this transition; null: any. */
  branch: string | null;
}

/** One version of a workflow, as its executions run it. */
export interface Graph {
  steps: GraphStep[];
  transitions: GraphTransition[];
  /** Absent: none. */
  exitRules?: readonly ExitRule[];
}

/** A graph with these exit rules. Without any, it is as those of the time before there were rules. */
export function withExitRules(graph: Graph, exitRules: readonly ExitRule[]): Graph {
  return exitRules.length === 0 ? graph : { ...graph, exitRules };
}

/** The two results of a wait, as branches. */
export const waitBranches = { EVENT: 'event', TIMEOUT: 'timeout' } as const;

export function findStep(graph: Graph, stepId: string): GraphStep | undefined {
  return graph.steps.find((step) => step.id === stepId);
}

/** The outgoing transitions of a step. */
export function waysOut(graph: Graph, stepId: string): GraphTransition[] {
  return graph.transitions.filter((transition) => transition.fromStepId === stepId);
}

/**
 * The step after `branch` (null: a step with one outgoing edge): by the transition of that branch,
 * else by the one without a branch, else none.
 */
export function stepAfter(
  graph: Graph,
  stepId: string,
  branch: string | null,
): GraphStep | undefined {
  const ways = waysOut(graph, stepId);
  const way =
    ways.find((transition) => transition.branch === branch) ??
    ways.find((transition) => transition.branch === null);
  return way && findStep(graph, way.toStepId);
}

/** The outgoing transitions of all steps that have any, by step id. */
export function waysByStep(graph: Graph): Map<string, GraphTransition[]> {
  const ways = new Map<string, GraphTransition[]>();
  for (const way of graph.transitions) {
    const known = ways.get(way.fromStepId);
    if (known) known.push(way);
    else ways.set(way.fromStepId, [way]);
  }
  return ways;
}

/** The steps reachable from `stepId`, itself included. */
export function reachableFrom(graph: Graph, stepId: string): Set<string> {
  const seen = new Set([stepId]);
  const open = [stepId];
  // Once for all steps: a graph may have thousands.
  const ways = waysByStep(graph);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { toStepId } of ways.get(next) ?? []) {
      if (!seen.has(toStepId)) {
        seen.add(toStepId);
        open.push(toStepId);
      }
    }
  }
  return seen;
}

/**
 * The rule that a new transition would break, or null. Both ends are steps of the graph. The first
 * broken rule in this order is returned: to itself, from EXIT, into TRIGGER, already exists, a
 * loop.
 */
export function transitionFault(
  graph: Graph,
  from: GraphStep,
  to: GraphStep,
  branch: string | null,
): ProblemCode | null {
  if (from.id === to.id) return 'TRANSITION_SELF';
  if (stepKinds[from.type].ways === 'none') return 'TRANSITION_FROM_EXIT';
  if (to.type === 'TRIGGER') return 'TRANSITION_TO_TRIGGER';
  if (waysOut(graph, from.id).some((way) => way.branch === branch)) {
    return branch === null ? 'TRANSITION_EXISTS' : 'TRANSITION_BRANCH_EXISTS';
  }
  if (reachableFrom(graph, to.id).has(from.id)) return 'TRANSITION_LOOP';
  return null;
}

/** The branches of a CONDITION step: yes and no, or its own ids and `default`. */
export function conditionBranches(config: Record<string, unknown>): string[] {
  if (config['mode'] !== 'multi') return ['yes', 'no'];
  const branches = Array.isArray(config['branches']) ? config['branches'] : [];
  return [...branches.map((branch: { id: string }) => branch.id), 'default'];
}

/**
 * The results that a step can have by its outgoing transitions: those that are named, or, where a
 * transition without a branch takes the rest, all. None: whatever its result, one way leads on.
 */
export function resultsOf(graph: Graph, step: GraphStep): string[] {
  const named = waysOut(graph, step.id).map((way) => way.branch);
  if (named.every((branch) => branch === null)) return [];
  if (!named.includes(null)) return named.flatMap((branch) => branch ?? []);
  return step.type === 'CONDITION' ? conditionBranches(step.config) : Object.values(waitBranches);
}

/**
 * The step that a new one is linked to automatically: the newest leaf reachable from TRIGGER that
 * is neither CONDITION nor EXIT. `graph.steps` is in order of creation.
 */
export function autoConnectLeaf(graph: Graph): GraphStep | undefined {
  const trigger = graph.steps.find((step) => step.type === 'TRIGGER');
  if (!trigger) return undefined;
  const reachable = reachableFrom(graph, trigger.id);
  return graph.steps.findLast(
    (step) => reachable.has(step.id) && mayLeadOn(step) && waysOut(graph, step.id).length === 0,
  );
}

/** Whether an outgoing transition of the step needs no branch. */
function mayLeadOn({ type }: GraphStep): boolean {
  const { ways } = stepKinds[type];
  return ways === 'one' || ways === 'outcomes';
}

/** What removing a step changes. */
export interface Removal {
  /** The removed steps; their transitions are removed too. */
  stepIds: string[];
  /** Transitions that lead to another step now, keeping their branch. */
  relinked: { transitionId: string; toStepId: string }[];
}

/** The removal of a step and of every step reachable only through it. */
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
 * The removal of one step from the middle: its incoming transitions lead to its successor, if it
 * has one. Null when the step branches: then it has no single successor.
 */
export function splicing(graph: Graph, step: GraphStep): Removal | null {
  const [way, ...others] = waysOut(graph, step.id);
  if (stepKinds[step.type].ways === 'branches' || others.length > 0) return null;
  const waysIn = graph.transitions.filter((transition) => transition.toStepId === step.id);
  return {
    stepIds: [step.id],
    relinked: way ? waysIn.map(({ id }) => ({ transitionId: id, toStepId: way.toStepId })) : [],
  };
}

/** What the check for enabling needs of the templates that the graph names. */
export type TemplateSenders = ReadonlyMap<
  string,
  {
    hasSender: boolean;
    isMarketing: boolean;
    /** What is wrong with its text, and where; absent: nothing. */
    broken?: string | undefined;
  }
>;

/** All reasons why a workflow cannot be enabled; empty when it can run. */
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
      message: 'Choose the event that starts the workflow.',
    });
  }
  if (trigger.type === 'SCHEDULE' && !trigger.isScheduled) problems.push(noSchedule);
  for (const step of graph.steps) {
    for (const message of stepProblems(graph, step, templates)) {
      problems.push({ field: `steps.${step.id}`, code: 'custom', message });
    }
  }
  return problems;
}

/** What is wrong with the trigger SCHEDULE without a cron or a zone. */
export const noSchedule: FieldProblem = {
  field: 'triggerConfig',
  code: 'required',
  message: 'Choose when the workflow starts: cron and timeZone.',
};

function stepProblems(graph: Graph, step: GraphStep, templates: TemplateSenders): string[] {
  const ways = waysOut(graph, step.id);
  if (step.type === 'TRIGGER' && ways.length === 0) return ['Nothing follows the trigger.'];
  if (step.type === 'SEND_EMAIL') {
    const template = step.templateId === null ? undefined : templates.get(step.templateId);
    if (!template) return [`"${step.name}" has no template.`];
    return [
      ...(template.hasSender ? [] : [`The template of "${step.name}" has no sender.`]),
      ...(step.config['topicId'] && !template.isMarketing
        ? [`"${step.name}" has a topic, and its template is not of the type MARKETING.`]
        : []),
      ...(template.broken === undefined
        ? []
        : [`The template of "${step.name}" cannot be rendered: ${template.broken}`]),
    ];
  }
  if (step.type === 'CONDITION') {
    const taken = ways.flatMap((way) => way.branch ?? []);
    if (taken.length === 0) return [`"${step.name}" leads nowhere.`];
    const known = conditionBranches(step.config);
    return taken
      .filter((branch) => !known.includes(branch))
      .map((branch) => `"${step.name}" has a way for the branch "${branch}" it no longer has.`);
  }
  return [];
}

export const graphWarningCodes = ['unreachable_step', 'timeout_never', 'unknown_field'] as const;

/** What is hardly meant in a graph that can run: it is said, and refused nowhere. */
export interface GraphWarning {
  code: (typeof graphWarningCodes)[number];
  message: string;
  /** The id of the step. */
  step: string;
}

/** What the shape of a graph does not let happen: steps that nobody comes to, ways that nobody takes. */
export function graphWarnings(graph: Graph): GraphWarning[] {
  const trigger = graph.steps.find(({ type }) => type === 'TRIGGER');
  const reached = trigger ? reachableFrom(graph, trigger.id) : new Set<string>();
  const ways = waysByStep(graph);
  return graph.steps.flatMap(({ id: step, type, name, config }): GraphWarning[] => {
    if (!reached.has(step)) {
      const message = `No way leads from the trigger to "${name}": nobody comes to it.`;
      return [{ code: 'unreachable_step', message, step }];
    }
    const endsNever = type === 'WAIT_FOR_EVENT' && config['timeout'] == null;
    const hasTimeout = ways.get(step)?.some(({ branch }) => branch === waitBranches.TIMEOUT);
    if (!endsNever || !hasTimeout) return [];
    const message =
      `"${name}" has no \`timeout\` (seconds, in its config) and waits for ever: its way for the ` +
      'branch "timeout" is never taken.';
    return [{ code: 'timeout_never', message, step }];
  });
}
