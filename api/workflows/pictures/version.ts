import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { findVersionGraph } from '../../../db/workflows/graphs.ts';
import { findWorkflowGraph, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import { invalidField } from '../../../domain/errors.ts';
import type { Graph } from '../../../domain/workflow/graph.ts';
import { fault } from '../../http/schemas.ts';

/** A version in a query. */
export const Version = z
  .string()
  .regex(/^-?\d{1,15}$/, fault('invalid_string', 'Must be a whole number.'))
  .transform(Number)
  .optional()
  .meta({ type: 'integer', description: 'By default the workflow as it is drawn now' });

/**
 * The graph of a version; undefined: as it is drawn now.
 * @throws Problem VALIDATION_ERROR for a version that the workflow never had.
 */
export async function findGraph(
  db: Database,
  workflow: WorkflowRow,
  version: number | undefined,
): Promise<Graph> {
  const { id, version: newest } = workflow;
  if (version === undefined) return findWorkflowGraph(db, id);
  const isPossible = version >= 1 && version <= newest;
  const known = isPossible ? await findVersionGraph(db, id, version) : undefined;
  if (known) return known;
  // The newest is kept as a version only when an execution can start on it.
  if (version === newest) return findWorkflowGraph(db, id);
  throw invalidField('version', 'not_found', 'The workflow never had this version.');
}
