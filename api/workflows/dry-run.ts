import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { findVersionGraph } from '../../db/workflows/graphs.ts';
import { findWorkflow, findWorkflowGraph, type WorkflowRow } from '../../db/workflows/workflows.ts';
import { found, invalidField, whenRight, Refusals, together } from '../../domain/errors.ts';
import type { Mapping } from '../../domain/workflow/compare.ts';
import { findStep, type Graph } from '../../domain/workflow/graph.ts';
import { keptConfig } from '../../domain/secrets/in-templates.ts';
import { selection } from '../../domain/filter/selection.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault } from '../http/schemas.ts';
import { editEffect, findEditEffect } from './edit-effect.ts';
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

const Compared = z.object({
  to: z.int().nullable().describe('null: the graph in the request'),
  ...editEffect,
});

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
    const { from, mapping, examples } = body;
    const { versions, steps, ...effect } = await findEditEffect(db, id, target, {
      from,
      mapping,
      examples,
    });
    const to = body.graph ? null : (body.to ?? workflow.version);
    return { to, versions, steps, examples: effect.examples };
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

/**
 * Replaces masked header values in a given graph by the stored values of the current graph,
 * `drawn`.
 */
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
