import { z } from 'zod';
import { findExecutionState } from '../../../db/workflows/executions/execution-state.ts';
import { findStats, type WorkflowStats } from '../../../db/workflows/stats.ts';
import { findWorkflow } from '../../../db/workflows/workflows.ts';
import { found } from '../../../domain/errors.ts';
import { pictureOfExecution, pictureOfGraph } from '../../../domain/picture/graph-picture.ts';
import { pictureStepsMax } from '../../../domain/picture/picture.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { Uuid } from '../../http/schemas.ts';
import { WorkflowById } from '../graph/record.ts';
import { findGraph, Version } from '../graph/versions.ts';

/** When a browser opens a picture as a page, it may load and run nothing. */
const headers = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" };
const contentType = 'image/svg+xml';

const limited =
  `It fits light and dark pages, and its texts can be selected. PICTURE_TOO_LARGE: more than ` +
  `${pictureStepsMax.toLocaleString('en-US')} steps, or drawing took longer than 15 seconds.`;

const exampleSvg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 476 252" …>…</svg>';

export const getWorkflowPicture = endpoint({
  id: 'getWorkflowPicture',
  method: 'GET',
  path: '/workflows/{id}/graph.svg',
  summary: 'Draw the graph of a workflow as SVG',
  description:
    'Each step with its type and name, and the branches on the arrows; with `stats=true` how many ' +
    `executions have entered it, wait there and failed there. ${limited}`,
  access: 'secret',
  params: WorkflowById,
  query: z.object({
    version: Version,
    stats: z.enum(['true', 'false']).default('false'),
  }),
  contentType,
  response: z.string(),
  problems: ['WORKFLOW_NOT_FOUND', 'PICTURE_TOO_LARGE', 'STATS_TOO_HEAVY'],
  example: { response: exampleSvg },
  async handle({ db, drawer, caller: { projectId }, params: { id }, query }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const graph = await findGraph(db, workflow, query.version);
    const { version } = query;
    const stats = query.stats === 'true' ? await findStats(db, workflow, graph, { version }) : null;
    const subtitle = `Version ${version ?? workflow.version}${startedText(stats, version)}`;
    const picture = pictureOfGraph(graph, { name: workflow.name, subtitle }, stats?.steps ?? null);
    return answer(await drawer.draw(picture, projectId), { headers });
  },
});

export const getExecutionPicture = endpoint({
  id: 'getExecutionPicture',
  method: 'GET',
  path: '/workflows/{id}/executions/{executionId}/graph.svg',
  summary: 'Draw the path of an execution as SVG',
  description:
    'The graph it runs on, with the state of each step: done, current, skipped, failed or untouched, ' +
    `its times (UTC) and the error of a failed one. ${limited}`,
  access: 'secret',
  params: WorkflowById.extend({ executionId: Uuid }),
  contentType,
  response: z.string(),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND', 'PICTURE_TOO_LARGE'],
  example: { response: exampleSvg },
  async handle({ db, drawer, caller: { projectId }, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const known = found('EXECUTION', executionId, await findExecutionState(db, executionId, id));
    const { graph, state } = known;
    return answer(await drawer.draw(pictureOfExecution(graph, state), projectId), { headers });
  },
});

/**
 * Returns the text with the number of executions that have started.
 * @param version the version whose executions are counted; undefined: all versions
 */
function startedText(stats: WorkflowStats | null, version: number | undefined): string {
  if (!stats) return '';
  const { started } = stats.executions;
  const count = `${started.toLocaleString('en-US')} ${started === 1 ? 'execution' : 'executions'}`;
  return ` · ${count}${version === undefined ? ' in all versions' : ''}`;
}
