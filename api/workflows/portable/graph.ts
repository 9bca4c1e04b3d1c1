import { findDrawing } from '../../../db/workflows/drawing.ts';
import { listTemplateNames } from '../../../db/templates/templates.ts';
import { findWorkflow, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import { found } from '../../../domain/errors.ts';
import { templateIdsOf } from '../../../domain/workflow/graph.ts';
import { endpoint } from '../../http/endpoint.ts';
import { etagOf, requireMatch, tagged } from '../../http/etag.ts';
import { recordEdit } from '../graph/graph.ts';
import { WorkflowById, workflowGraphExample } from '../graph/record.ts';
import { readWorkflow, WholeWorkflow } from '../graph/whole.ts';
import { PortableGraph, portableExample, presentPortable } from './record.ts';
import { refuseGraph, replaceGraph } from './storing.ts';
import { GivenGraph } from './input.ts';

const getWorkflowGraph = endpoint({
  id: 'getWorkflowGraph',
  method: 'GET',
  path: '/workflows/{id}/graph',
  summary: 'Get a workflow in a form for version control',
  description:
    'Each step has a `key`, which stays when its name changes. Ids, times and the version ' +
    'are left out, so that it can be stored in another workflow or project.',
  access: 'secret',
  params: WorkflowById,
  hasEtag: true,
  response: PortableGraph,
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: portableExample },
  async handle({ db, caller: { projectId }, params: { id } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const drawn = await findDrawing(db, workflow);
    const templates = await listTemplateNames(db, projectId, templateIdsOf(drawn));
    return tagged(presentPortable(workflow, drawn, templates), graphTag(workflow));
  },
});

const setWorkflowGraph = endpoint({
  id: 'setWorkflowGraph',
  method: 'PUT',
  path: '/workflows/{id}/graph',
  summary: 'Replace the graph of a workflow in one edit',
  description:
    'The body is as returned by GET; a step may have `templateId` instead of `template`. Steps with ' +
    'a known key keep their id, which waits, statistics and migrations use; steps that are left ' +
    'out are removed. A step without a key gets one from its name. Settings (`name`, ' +
    '`description`, `allowReentry`, `executionKey`, `reentry`, `trigger`, `exitRules`) that are ' +
    'left out keep their value. An equal graph makes no new version. Errors name a step by its key. ' +
    'WORKFLOW_INVALID: the workflow is enabled, and the schedule has no times.',
  access: 'secret',
  params: WorkflowById,
  hasEtag: true,
  body: GivenGraph,
  response: WholeWorkflow,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'TEMPLATE_NOT_FOUND',
    'TOPIC_NOT_FOUND',
    'SEGMENT_NOT_FOUND',
    'WORKFLOW_INVALID',
  ],
  example: { body: portableExample, response: workflowGraphExample },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    await refuseGraph(db, projectId, workflow, body, []);
  },
  async handle(call) {
    const { db, caller, params, body, request } = call;
    const { workflow: after } = await recordEdit(call, async ({ tx, workflow }) => {
      requireMatch(request, graphTag(workflow));
      return { ...(await replaceGraph(tx, workflow, body)), answer: undefined };
    });
    return tagged(await readWorkflow(db, caller.project, params.id), graphTag(after));
  },
});

/**
 * Returns the entity tag of a graph, which contains the version. Every edit of the graph changes
 * the version.
 */
function graphTag(workflow: WorkflowRow): string {
  const { version, name, description, execution_key, reentry_mode, reentry_min_interval } =
    workflow;
  return etagOf({
    version,
    name,
    description,
    execution_key,
    reentry_mode,
    reentry_min_interval,
  });
}

export const graphEndpoints = [getWorkflowGraph, setWorkflowGraph];
