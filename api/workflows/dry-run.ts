import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { findVersionGraph } from '../../db/workflows/graphs.ts';
import {
  countPositions,
  listAtPositions,
  type Position,
} from '../../db/workflows/executions/positions.ts';
import { findWorkflow, findWorkflowGraph, type WorkflowRow } from '../../db/workflows/workflows.ts';
import { found, invalidField, whenRight, Refusals, together } from '../../domain/errors.ts';
import {
  counterpartOf,
  type Difference,
  differenceFrom,
  differences,
  type Mapping,
} from '../../domain/workflow/compare.ts';
import { findStep, type Graph } from '../../domain/workflow/graph.ts';
import { keptConfig } from '../../domain/secrets/in-templates.ts';
import { selection } from '../../domain/filter/selection.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault } from '../http/schemas.ts';
import { graphOf, ProposedGraph } from './graph/proposed-graph.ts';
import { WorkflowById, workflowExample } from './graph/record.ts';
import { refuseUnknownVersions, unknownVersion, Versions } from './graph/versions.ts';

const examplesMax = 50;

const Given = selection({
  from: Versions.optional().describe('Versions; by default all with active executions'),
  to: z.int().min(1).optional(),
  graph: ProposedGraph.optional(),
  mapping: z
    .record(z.string(), z.string())
    .default({})
    .describe('Steps of the other graph by those of the old graphs, if their ids differ'),
  examples: z.int().min(0).max(examplesMax).default(10),
}).refine(({ to, graph }) => to === undefined || graph === undefined, {
  path: ['graph'],
  ...fault('not_allowed', 'Send either `to` or `graph`, not both.'),
  ...whenRight('to', 'graph'),
});

const verdicts = ['same', 'differs', 'unmappable'] as const;
const gone = ['step_gone', 'type_changed'] as const;
const whys = [...differences, ...gone] as const;

const Compared = z.object({
  to: z.int().nullable().describe('null: the graph in the request'),
  versions: z.array(
    z.object({
      version: z.int(),
      active: z.int(),
      same: z.int(),
      differs: z.int(),
      unmappable: z.int(),
    }),
  ),
  steps: z.array(
    z.object({
      stepId: z.uuid(),
      name: z.string(),
      waiting: z.int(),
      mapsTo: z.string().nullable(),
      reason: z.enum(['same_id', 'mapping', ...gone]),
    }),
  ),
  examples: z.array(
    z.object({
      executionId: z.uuid(),
      contactId: z.uuid(),
      version: z.int(),
      currentStepId: z.uuid(),
      verdict: z.enum(verdicts),
      why: z.enum(whys).nullable(),
    }),
  ),
});

/** The effect of a new graph on the executions at one position. */
interface Judged extends Position {
  name: string;
  mapsTo: string | null;
  reason: z.output<typeof Compared>['steps'][number]['reason'];
  verdict: (typeof verdicts)[number];
  why: (typeof whys)[number] | null;
}

export const dryRunEdit = endpoint({
  id: 'dryRunEdit',
  method: 'POST',
  path: '/workflows/{id}/dry-run',
  summary: 'Preview how an edit affects active executions',
  description:
    'Compares the versions of active executions with the current workflow, with the version ' +
    '`to`, or with a `graph`. `same`: everything that the execution can reach is equal, ' +
    'except names and positions; `differs`: something is different, see `why`; `unmappable`: ' +
    'the current step has no counterpart of its type. Nothing is changed.',
  access: 'secret',
  wrapped: true,
  params: WorkflowById,
  body: Given,
  response: Compared,
  problems: ['WORKFLOW_NOT_FOUND'],
  example: {
    body: { examples: 1 },
    response: {
      to: workflowExample.version,
      versions: [{ version: 1, active: 120, same: 80, differs: 36, unmappable: 4 }],
      steps: [
        {
          stepId: 'aa000000-0000-4000-8000-000000000002',
          name: 'Two days',
          waiting: 40,
          mapsTo: 'aa000000-0000-4000-8000-000000000002',
          reason: 'same_id',
        },
      ],
      examples: [
        {
          executionId: 'cc000000-0000-4000-8000-000000000001',
          contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
          version: 1,
          currentStepId: 'aa000000-0000-4000-8000-000000000002',
          verdict: 'differs',
          why: 'next_step',
        },
      ],
    },
  },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    await together(
      async () => requireSteps(await findTarget(db, workflow, body), body.mapping ?? {}),
      () => refuseUnknownVersions(workflow, body.from, 'from'),
    );
  },
  async handle({ db, caller: { projectId }, params: { id }, body }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const target = await findTarget(db, workflow, body);
    const positions = await countPositions(db, id, body.from);
    const judged = await judge(db, id, positions, target, body.mapping);
    return {
      to: body.graph ? null : (body.to ?? workflow.version),
      versions: sumOfVersions(judged),
      steps: sumOfSteps(judged),
      examples: await examplesOf(db, id, judged, body.examples),
    };
  },
});

async function findTarget(
  db: Database,
  { id, version }: WorkflowRow,
  { to, graph }: Partial<z.output<typeof Given>>,
): Promise<Graph> {
  if (graph) return unmasked(graphOf(graph, ['graph']), await findWorkflowGraph(db, id));
  if (to === undefined) return findWorkflowGraph(db, id);
  const known = to > version ? undefined : await findVersionGraph(db, id, to);
  if (!known) throw unknownVersion('to', to);
  return known;
}

/** Replaces masked header values in a given graph by those of the current graph, `drawn`. */
function unmasked(graph: Graph, drawn: Graph): Graph {
  const stored = new Map(drawn.steps.map(({ id, config }) => [id, config]));
  const steps = graph.steps.map((step) => ({
    ...step,
    config: keptConfig(step.config, stored.get(step.id) ?? {}).config,
  }));
  return { ...graph, steps };
}

/**
 * Requires that a graph has the steps in a mapping.
 * @throws Problem VALIDATION_ERROR
 */
export function requireSteps(target: Graph, mapping: Mapping): void {
  const refusals = new Refusals();
  for (const [id, to] of Object.entries(mapping)) {
    if (findStep(target, to)) continue;
    const message = `"${to}" is not the id of a step of the target graph. Keys of steps are not accepted here.`;
    refusals.add(invalidField(`mapping.${id}`, 'not_found', message));
  }
  refusals.throw();
}

async function judge(
  db: Database,
  workflowId: string,
  positions: readonly Position[],
  target: Graph,
  mapping: Mapping,
): Promise<Judged[]> {
  // Positions are sorted by version, so only one graph is in memory at a time; a workflow may have
  // many large ones.
  let known: { version: number; graph: Graph | undefined } | undefined;
  const judged: Judged[] = [];
  for (const position of positions) {
    await nextTurn();
    const { version, stepId } = position;
    if (known?.version !== version) {
      known = { version, graph: await findVersionGraph(db, workflowId, version) };
    }
    const { graph } = known;
    const step = graph && findStep(graph, stepId);
    // The workflow was deleted in the meantime.
    if (!graph || !step) continue;
    const { reason, step: counterpart } = counterpartOf(step, target, mapping);
    const shown = { ...position, name: step.name, reason };
    if (!counterpart) {
      judged.push({ ...shown, mapsTo: null, verdict: 'unmappable', why: reason });
      continue;
    }
    const why: Difference | null = differenceFrom([graph, target], [step, counterpart], mapping);
    const verdict = why === null ? 'same' : 'differs';
    judged.push({ ...shown, mapsTo: counterpart.id, verdict, why });
  }
  return judged;
}

function sumOfVersions(judged: readonly Judged[]) {
  const sums = new Map<number, z.output<typeof Compared>['versions'][number]>();
  for (const { version, active, verdict } of judged) {
    const sum = sums.get(version) ?? { version, active: 0, same: 0, differs: 0, unmappable: 0 };
    sum.active += active;
    sum[verdict] += active;
    sums.set(version, sum);
  }
  return [...sums.values()];
}

/**
 * Adds up the numbers of all versions of each step. The newest version determines the name and the
 * counterpart.
 */
function sumOfSteps(judged: readonly Judged[]) {
  const sums = new Map<string, z.output<typeof Compared>['steps'][number]>();
  for (const { stepId, name, active, mapsTo, reason } of judged) {
    const waiting = (sums.get(stepId)?.waiting ?? 0) + active;
    sums.set(stepId, { stepId, name, waiting, mapsTo, reason });
  }
  return [...sums.values()];
}

/** Samples executions position by position, the worst verdict first. */
async function examplesOf(
  db: Database,
  workflowId: string,
  judged: readonly Judged[],
  max: number,
) {
  const order = judged.toSorted(
    (one, other) => verdicts.indexOf(other.verdict) - verdicts.indexOf(one.verdict),
  );
  const chosen = order.slice(0, max);
  const found = await listAtPositions(db, workflowId, chosen, max);
  return found.flatMap(({ position, ...ids }) => {
    const at = chosen[position];
    if (!at) return [];
    const { version, stepId: currentStepId, verdict, why } = at;
    return [{ ...ids, version, currentStepId, verdict, why }];
  });
}
