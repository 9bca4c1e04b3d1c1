import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { countRows } from '../../expressions.ts';
import type { ExecutionPage, LockedExecutionJob } from '../../jobs/execution-jobs.ts';
import { activeStatuses } from '../../workflows/executions/executions.ts';
import { type ActiveCursor, nextWaiting } from './active-pages.ts';
import {
  lockWaits,
  movedEnd,
  moveWaits,
  type WaitMove,
} from '../../workflows/executions/wait-moves.ts';
import type { Condition } from '../../../domain/filter/filter.ts';

/** Moves the ends of the waits of all executions at one step. */

/** The stored request: times in ISO 8601. */
export interface MoveWaits {
  stepId: string;
  move: Exclude<WaitMove, { until: Date }> | { until: string };
  /** Versions of the executions; null: all. */
  versions: number[] | null;
  /** Condition on the contacts of the executions; null: none. */
  filter: Condition | null;
}

type MoveJob = LockedExecutionJob<MoveWaits>;

/**
 * Number of executions read in one transaction, which locks the contacts of the moved executions.
 */
const pageSize = 200;

export const moveAllWaits = {
  nothing: { moved: 0, skipped: 0 },

  count: (tx: Database, { workflowId, asked: { stepId, versions } }: MoveJob): Promise<number> =>
    countRows(
      tx
        .selectFrom('execution')
        .where('workflow_id', '=', workflowId)
        .where('status', 'in', activeStatuses)
        .where('current_step_id', '=', stepId)
        .$if(versions !== null, (query) =>
          query.where('workflow_version', '=', sql<number>`any(${versions}::int[])`),
        ),
    ),

  async page(tx: Database, job: MoveJob): Promise<ExecutionPage<'move-waits'>> {
    const { projectId, workflowId, createdAt: startedBy, asked } = job;
    const move = 'until' in asked.move ? { until: new Date(asked.move.until) } : asked.move;
    const from = (job.cursor as ActiveCursor | null) ?? { version: 0, id: null };
    const query = { ...asked, projectId, workflowId, startedBy };
    const { checked, ids, cursor } = await nextWaiting(tx, query, from, pageSize);
    const waits = await lockWaits(tx, ids);
    const ends = waits.flatMap((wait) => {
      const until = movedEnd(wait, move);
      return until === undefined ? [] : [{ executionId: wait.executionId, until }];
    });
    await moveWaits(tx, ends);
    const moved = ends.length;
    return { checked, outcome: { moved, skipped: ids.length - moved }, cursor, pauseMs: 0 };
  },
};
