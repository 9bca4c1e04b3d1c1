import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { findVersionGraph } from '../../../db/workflows/graphs.ts';
import { findWorkflowGraph, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import type { Graph } from '../../../domain/workflow/graph.ts';
import { fault } from '../../http/schemas.ts';
import { unknownVersion } from '../versions.ts';

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
  { id }: Pick<WorkflowRow, 'id'>,
  version: number | undefined,
): Promise<Graph> {
  if (version === undefined) return findWorkflowGraph(db, id);
  const known = await findVersionGraph(db, id, version);
  if (!known) throw unknownVersion('version');
  return known;
}
