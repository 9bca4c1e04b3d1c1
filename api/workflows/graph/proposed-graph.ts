import { z } from 'zod';
import { invalidField, Problem, problems, Refusals } from '../../../domain/errors.ts';
import { nearest } from '../../../domain/text-rules.ts';
import type { ExitRule } from '../../../domain/workflow/exit-rules.ts';
import {
  findStep,
  type Graph,
  type GraphStep,
  withExitRules,
} from '../../../domain/workflow/graph.ts';
import { transitionFault } from '../../../domain/workflow/graph-rules.ts';
import { stepTypes } from '../../../domain/workflow/steps/registry.ts';
import { ExitRules } from '../../../domain/workflow/steps/schemas.ts';
import { Name, named, Uuid } from '../../http/schemas.ts';
import { ofTypes } from './step-input.ts';
import { chosenBranch, type GivenBranch, TransitionInput } from './transition-input.ts';
import { templateOfConfig } from './step-config.ts';

/** A whole graph in a request, in the form that `GET /workflows/{id}` returns. */

/** The id of a step, which may be any text, because the graph is not stored. */
const FreeId = z.string().min(1).max(200);

const ProposedStep = ofTypes(
  'Proposed',
  stepTypes,
  z.object({ id: FreeId, name: Name, templateId: Uuid.nullable().optional() }),
);

/** Maximum number of steps, and of transitions, in the graph of a request. */
export const itemsMax = 1_000;

export const ProposedGraph = named('ProposedGraph', {
  steps: z.array(ProposedStep).min(1).max(itemsMax),
  transitions: z
    .array(TransitionInput.extend({ fromStepId: FreeId, toStepId: FreeId }))
    .max(itemsMax),
  exitRules: ExitRules.default([]),
});

interface GivenGraph {
  steps: readonly (Omit<GraphStep, 'templateId'> & { templateId?: string | null | undefined })[];
  transitions: readonly (GivenBranch & { fromStepId: string; toStepId: string })[];
  exitRules: readonly ExitRule[];
}

/** The names that errors use for the parts of a graph. */
export interface GraphFields {
  /** Returns the name of a step below the field `steps`. */
  step(id: string, index: number): string | number;
  /** Name of the field with a step's id. */
  id: string;
  /** Names of the fields with the ends of a transition. */
  from: string;
  to: string;
  branch: string;
}

const proposedFields: GraphFields = {
  step: (_, index) => index,
  id: 'id',
  from: 'fromStepId',
  to: 'toStepId',
  branch: 'condition.branch',
};

/**
 * Returns the graph in a request.
 * @param path the fields that contain the graph, the outermost first
 * @throws Problem VALIDATION_ERROR for steps and transitions that break a rule of graphs
 */
export function graphOf(given: GivenGraph, path: readonly string[], names = proposedFields): Graph {
  const field = (...inside: (string | number)[]) => [...path, ...inside].join('.');
  const graph: Graph = { steps: [], transitions: [] };
  const refusals = new Refusals();
  let hints = hintsMax;
  const end = (id: string, at: string) => {
    if (!findStep(graph, id)) hints -= 1;
    return requireStep(graph, id, at, hints >= 0);
  };
  given.steps.forEach(({ id, type, name, config, templateId }, index) => {
    const at = field('steps', names.step(id, index));
    if (findStep(graph, id)) {
      const message = `Another step of the graph also has the ${names.id} "${id}". Choose another ${names.id}.`;
      return refusals.add(invalidField(`${at}.${names.id}`, 'custom', message));
    }
    if (type === 'TRIGGER' && graph.steps.some((step) => step.type === 'TRIGGER')) {
      refusals.add(invalidField(`${at}.type`, 'custom', problems.TRIGGER_STEP_EXISTS[1]));
    }
    const step: GraphStep = {
      id,
      type,
      name,
      config,
      templateId: templateId ?? templateOfConfig(config) ?? null,
    };
    graph.steps.push(step);
  });
  if (!graph.steps.some((step) => step.type === 'TRIGGER')) {
    refusals.add(
      invalidField(field('steps'), 'required', 'No step has the type TRIGGER. Add one.'),
    );
  }
  given.transitions.forEach((transition, index) => {
    const at = field('transitions', index);
    const ends = [
      refusals.try(() => end(transition.fromStepId, `${at}.${names.from}`)),
      refusals.try(() => end(transition.toStepId, `${at}.${names.to}`)),
    ] as const;
    const [from, to] = ends;
    if (!from || !to) return;
    refusals.try(() => {
      const branch = branchOf(from, transition, (one) =>
        one === 'condition.branch' ? `${at}.${names.branch}` : `${at}.${one}`,
      );
      const code = transitionFault(graph, from, to, branch);
      if (code) throw invalidField(at, 'custom', problems[code][1]);
      graph.transitions.push({ id: at, fromStepId: from.id, toStepId: to.id, branch });
    });
  });
  refusals.throw();
  return withExitRules(graph, given.exitRules);
}

function branchOf(from: GraphStep, given: GivenBranch, rename: (field: string) => string) {
  try {
    return chosenBranch(from, given);
  } catch (error) {
    throw renamed(error, rename);
  }
}

/**
 * Maximum number of ids that are compared with an unknown id. The time of a comparison grows with
 * the product of both lengths.
 */
const comparedMax = 200;
/** Maximum number of unknown ids in a graph for which a similar id is searched. */
const hintsMax = 20;

function requireStep(graph: Graph, id: string, field: string, mayHint: boolean): GraphStep {
  const step = findStep(graph, id);
  if (step) return step;
  const ids = graph.steps.slice(0, comparedMax).map((one) => one.id);
  const meant = mayHint ? nearest(id, ids, Math.max(2, Math.floor(id.length / 3))) : undefined;
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  throw invalidField(field, 'not_found', `"${id}" is not a step of this graph.${hint}`);
}

/** Returns a Problem with renamed fields; any other error is returned unchanged. */
export function renamed(error: unknown, rename: (field: string) => string): unknown {
  if (!(error instanceof Problem) || !error.errors) return error;
  const errors = error.errors.map((one) => ({ ...one, field: rename(one.field) }));
  return new Problem(error.code, { errors });
}
