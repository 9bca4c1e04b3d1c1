import type { Selectable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { firingsKept } from './schedules.ts';
import type { Firing } from '../tables.ts';

export type FiringRow = Selectable<Firing>;

/** Lists the last firings of a workflow, newest first. */
export async function listFirings(db: Database, workflowId: string): Promise<FiringRow[]> {
  return db
    .selectFrom('firing')
    .select(columnsOf('firing'))
    .where('workflow_id', '=', workflowId)
    .orderBy('at', 'desc')
    .limit(firingsKept)
    .execute();
}
