import { z } from 'zod';
import { type Database, transact } from '../../../db/database.ts';
import { findVersionGraph } from '../../../db/workflows/graphs.ts';
import {
  insertExitEvents,
  findWorkflowGraph,
  lockWorkflows,
  type WorkflowRow,
} from '../../../db/workflows/workflows.ts';
import { found, invalidField, type Problem, Refusals } from '../../../domain/errors.ts';
import type { Graph } from '../../../domain/workflow/graph.ts';
import { fault } from '../../http/schemas.ts';
import { refuseBroken } from './enabling.ts';

export const Versions = z.array(z.int().min(1)).min(1).max(1000);

/** A version in a query. */
export const Version = z
  .string()
  .regex(/^-?\d{1,15}$/, fault('invalid_string', 'Must be the number of a version, such as 3.'))
  .transform(Number)
  .optional()
  .meta({ type: 'integer', description: 'By default the current workflow' });

/**
 * Returns the graph of a version.
 * @param version undefined: the current graph
 * @throws Problem VALIDATION_ERROR for a version that never existed.
 */
export async function findGraph(
  db: Database,
  { id }: Pick<WorkflowRow, 'id'>,
  version: number | undefined,
): Promise<Graph> {
  if (version === undefined) return findWorkflowGraph(db, id);
  const known = await findVersionGraph(db, id, version);
  if (!known) throw unknownVersion('version', version);
  return known;
}

export function unknownVersion(field: string, version: number): Problem {
  return invalidField(
    field,
    'not_found',
    `The workflow never had version ${version}. GET /workflows/{id}/versions lists its versions.`,
  );
}

/**
 * Refuses versions that never existed.
 * @throws Problem VALIDATION_ERROR `not_found`
 */
export function refuseUnknownVersions(
  { version: newest }: Pick<WorkflowRow, 'version'>,
  versions: readonly number[] | undefined,
  field: string,
): void {
  const refusals = new Refusals();
  for (const [place, version] of (versions ?? []).entries()) {
    if (version > newest) refusals.add(unknownVersion(`${field}.${place}`, version));
  }
  refusals.throw();
}

/**
 * Returns the graph of a version as `prepareVersion`.
 * @throws Problem as `prepareVersion`; WORKFLOW_NOT_FOUND when the workflow was deleted in the
 * meantime
 */
export async function requireVersion(
  db: Database,
  { id, project_id }: Pick<WorkflowRow, 'id' | 'project_id'>,
  version: number,
  field: string,
): Promise<Graph> {
  return transact(db, async (tx) => {
    const [row] = await lockWorkflows(tx, project_id, [id], { for: 'edit' });
    return prepareVersion(tx, found('WORKFLOW', id, row), version, field);
  });
}

/**
 * Returns the graph of a version of a locked workflow, and registers the events of its exit rules.
 * Checks first that the version can run, because it may never have been enabled.
 * @param field the field of the request with the version, for the error
 * @throws Problem VALIDATION_ERROR `not_found` for a version that never existed; WORKFLOW_INVALID
 * with all reasons why the version cannot run
 */
export async function prepareVersion(
  tx: Database,
  locked: WorkflowRow,
  version: number,
  field: string,
): Promise<Graph> {
  const graph = await findVersionGraph(tx, locked.id, version);
  if (!graph) throw unknownVersion(field, version);
  await refuseBroken(tx, locked, graph);
  await insertExitEvents(tx, locked.id, graph.exitRules ?? []);
  return graph;
}
