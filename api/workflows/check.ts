import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { listTemplateNames } from '../../db/templates/templates.ts';
import { listTopicNames } from '../../db/topics/topics.ts';
import { type FieldProblem, Problem } from '../../domain/errors.ts';
import { withoutMasked } from '../../domain/secrets/in-templates.ts';
import type { Graph as StoredGraph } from '../../domain/workflow/graph.ts';
import { branchWarnings, type GraphWarning } from '../../domain/workflow/graph-rules.ts';
import { endpoint } from '../http/endpoint.ts';
import { JsonObject } from '../http/schemas.ts';
import { readRequest, refuseAll } from '../http/validation.ts';
import type { Services } from '../services/services.ts';
import { findBrokenTemplates, findWarnings, refuseBroken, warningsMax } from './graph/enabling.ts';
import { requireGraphSize } from './graph/graph.ts';
import { GraphWarnings } from './graph/record.ts';
import { changedStart, newStart } from './graph/starts.ts';
import { triggerAfter } from './graph/trigger.ts';
import { portableExample } from './portable/record.ts';
import { inPlace, refuseGraph } from './portable/storing.ts';
import { topicOfConfig } from './graph/step-config.ts';
import { GivenGraph } from './portable/input.ts';
import { keyedGraph } from './portable/keyed-graph.ts';

type Graph = z.output<typeof GivenGraph>;

/** The field of the request that contains the graph. */
const path = ['graph'];

const CheckedGraph = z.object({ graph: GivenGraph });

export const checkWorkflow = endpoint({
  id: 'checkWorkflow',
  method: 'POST',
  path: '/workflows/check',
  summary: 'Check a graph without storing it',
  description:
    '`problems` are all reasons for which PUT …/graph would refuse the graph, or the workflow could ' +
    'not be enabled. `warnings` are probable mistakes, such as a step that no path reaches or a ' +
    'branch without a transition; they are looked for once the graph can be stored. Fields and ' +
    'warnings name a step by its key. A masked header value counts as a stored one. ' +
    'Nothing is changed, and `Idempotency-Key` is ignored.',
  access: 'secret',
  idempotent: false,
  whileDisabled: true,
  body: z.object({
    graph: JsonObject.meta({
      type: 'object',
      additionalProperties: true,
      description: 'As returned by GET /workflows/{id}/graph',
    }),
  }),
  response: z.object({
    problems: z.array(z.object({ field: z.string(), code: z.string(), message: z.string() })),
    warnings: GraphWarnings,
  }),
  example: {
    body: { graph: portableExample },
    response: {
      problems: [
        {
          field: 'graph.steps.two-days.config.amount',
          code: 'too_big',
          message: 'Must be at most 365.',
        },
      ],
      warnings: [],
    },
  },
  async handle({ db, renderer, caller: { projectId }, body }) {
    const given = { params: undefined, query: undefined, body };
    const read = readRequest({ body: CheckedGraph }, given);
    const cut = (read.parts.body ?? {}) as { graph?: Partial<Graph> };
    const problems = await problemsOf(() =>
      refuseAll(read, {
        check: () => refuseGraph(db, projectId, null, unmasked(cut.graph ?? {}), path),
        beside: () => undefined,
      }),
    );
    if (problems.length > 0) return { problems, warnings: [] };
    return checkReadable({ db, renderer }, projectId, cut.graph as Graph);
  },
});

/**
 * Checks a graph that breaks no rule of graphs: its references, its size, and whether it could be
 * enabled.
 */
async function checkReadable(
  { db, renderer }: Pick<Services, 'db' | 'renderer'>,
  projectId: string,
  given: Graph,
): Promise<{ problems: FieldProblem[]; warnings: GraphWarning[] }> {
  const graph = keyedGraph(given, path);
  const { trigger } = given;
  const start = { ...newStart, project_id: projectId, trigger_event_name: null };
  const { type, eventName, schedule } = await triggerAfter(
    db,
    { ...start, trigger_where: null, trigger_schedule: null },
    { triggerType: trigger?.type, triggerConfig: trigger?.config },
  );
  const workflow = {
    ...start,
    ...changedStart(newStart, given, type),
    trigger_type: type,
    trigger_event_name: eventName,
    trigger_schedule: schedule,
  };
  const broken = await findBrokenTemplates({ db, renderer }, projectId, given.steps);
  const unknown = await findUnknown(db, projectId, given);
  const reported = new Set(unknown.map(({ step }) => step));
  const tooLarge = await problemsOf(async () => refuseTooLarge(graph));
  const unable = await problemsOf(() =>
    inPlace(path, () => refuseBroken(db, workflow, graph, broken)),
  );
  return {
    problems: [
      ...tooLarge,
      ...unknown.map(({ problem }) => problem),
      // A step with an unknown template is reported already.
      ...unable.filter(({ field }) => !reported.has(field)),
    ],
    warnings: [...(await findWarnings(db, workflow, graph)), ...branchWarnings(graph)].slice(
      0,
      warningsMax,
    ),
  };
}

/**
 * Returns the graph without masked values. Masked values stand for stored values of a workflow, and
 * here no workflow is known.
 */
function unmasked({ steps = [], ...graph }: Partial<Graph>): Partial<Graph> {
  return {
    ...graph,
    steps: steps.map((step) => ({ ...step, config: withoutMasked(step.config) })),
  };
}

const anyId = '00000000-0000-4000-8000-000000000000';

/**
 * Refuses a graph that would be too large with the ids of stored steps.
 * @throws Problem VALIDATION_ERROR
 */
function refuseTooLarge({ steps, transitions, ...graph }: StoredGraph): void {
  const stored = {
    ...graph,
    steps: steps.map((step) => ({ ...step, id: anyId })),
    transitions: transitions.map(({ branch }) => ({
      id: anyId,
      fromStepId: anyId,
      toStepId: anyId,
      branch,
    })),
  };
  requireGraphSize(stored, path.join('.'));
}

/** Finds templates and topics that the project does not have, each with the field of its step. */
async function findUnknown(
  db: Database,
  projectId: string,
  { steps }: Graph,
): Promise<{ step: string; problem: FieldProblem }[]> {
  const templateIds = steps.flatMap(({ templateId }) => templateId ?? []);
  const topicIds = steps.flatMap(({ config }) => topicOfConfig(config) ?? []);
  const templates = await listTemplateNames(db, projectId, templateIds);
  const topics = await listTopicNames(db, projectId, topicIds);
  return steps.flatMap(({ key, templateId, config }) => {
    const step = [...path, 'steps', key].join('.');
    const topicId = topicOfConfig(config);
    const unknown = (field: string, noun: string, id: string) => {
      const message = `The project has no ${noun} ${id}.`;
      return { step, problem: { field: `${step}.${field}`, code: 'not_found' as const, message } };
    };
    return [
      ...(templateId && !templates.has(templateId)
        ? [unknown('templateId', 'template', templateId)]
        : []),
      ...(topicId && !topics.has(topicId) ? [unknown('config.topicId', 'topic', topicId)] : []),
    ];
  });
}

/** Returns the errors that `check` throws. */
async function problemsOf(check: () => Promise<void>): Promise<FieldProblem[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof Problem && error.errors) return [...error.errors];
    throw error;
  }
}
