import { listTemplateNames } from '../../../db/templates/templates.ts';
import { findVersion, listVersions as listRows } from '../../../db/workflows/versions.ts';
import { findWorkflow } from '../../../db/workflows/workflows.ts';
import type { CursorForm } from '../../../domain/cursor.ts';
import { found } from '../../../domain/errors.ts';
import { templateIdsOf } from '../../../domain/workflow/graph.ts';
import { endpoint } from '../../http/endpoint.ts';
import { cursorListOf, cursorQuery, presentCursorList } from '../../http/schemas.ts';
import { WorkflowById } from '../graph/record.ts';
import { presentVersionGraph } from '../portable/record.ts';
import {
  presentVersions,
  Version,
  VersionByNumber,
  versionExample,
  WholeVersion,
  wholeVersionExample,
} from './record.ts';

/** A cursor of this list contains only the number of a version. */
const newestFirst: CursorForm = {
  order: 'versions',
  value: 'text',
  isId: (id) => /^[1-9]\d{0,8}$/.test(id),
};

export const listVersions = endpoint({
  id: 'listVersions',
  method: 'GET',
  path: '/workflows/{id}/versions',
  summary: 'List the versions of a workflow, newest first',
  description:
    'A cursor list. Each change of steps, transitions, trigger or exit rules made one, also while the ' +
    'workflow was disabled. `changes` says in words what it changed. `total` counts all on the first page ' +
    'and is 0 on later ones.',
  access: 'secret',
  params: WorkflowById,
  query: cursorQuery(newestFirst),
  response: cursorListOf(Version),
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: { data: [versionExample], hasMore: false, total: 1 } },
  async handle({ db, caller: { projectId }, params: { id }, query: { cursor, limit } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const before = cursor && Number(cursor.id);
    const { rows, total } = await listRows(db, id, { before, limit: limit + 1 });
    return presentCursorList(await presentVersions(db, workflow, rows), {
      form: newestFirst,
      limit,
      total,
      position: ({ version }) => ({ value: '', id: String(version) }),
      present: (version) => version,
    });
  },
});

export const getVersion = endpoint({
  id: 'getVersion',
  method: 'GET',
  path: '/workflows/{id}/versions/{version}',
  summary: 'Get one version of a workflow with its graph',
  description:
    '`graph` is as GET …/graph answers it, each step with its `id`. Settings that no version has ' +
    '(`name`, `description`, re-entry and key) are left out.',
  access: 'secret',
  params: VersionByNumber,
  response: WholeVersion,
  problems: ['WORKFLOW_NOT_FOUND', 'VERSION_NOT_FOUND'],
  example: { response: wholeVersionExample },
  async handle({ db, caller: { projectId }, params: { id, version } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const { row, drawn } = found('VERSION', String(version), await findVersion(db, id, version));
    const [record] = await presentVersions(db, workflow, [row]);
    const templates = await listTemplateNames(db, projectId, templateIdsOf(drawn));
    return { ...record!, graph: presentVersionGraph(drawn, templates) };
  },
});
