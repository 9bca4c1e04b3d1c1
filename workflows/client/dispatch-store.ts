import type { Database } from '../../db/database.ts';
import { claimOverdue, listPending, markSent } from '../../db/outbox/outbox.ts';
import { listExecutionStarts, listUnbegun } from '../../db/workflows/executions/starts.ts';
import { graphReader } from '../../db/workflows/graphs.ts';
import type { OpenStart } from '../../domain/runs/execution.ts';
import type { SentEntry } from '../../domain/runs/runs.ts';

export type DispatchStore = ReturnType<typeof dispatchStore>;

export function dispatchStore(db: Database) {
  const findGraph = graphReader(db);
  return {
    listPending: (runIds: readonly string[]) => listPending(db, runIds),
    listStarts: (ids: readonly string[]) => listExecutionStarts(db, ids, findGraph),
    markSent: (sent: readonly SentEntry[]) => markSent(db, sent),
    claimOverdue: () => claimOverdue(db),
    listUnbegun: (starts: readonly OpenStart[]) => listUnbegun(db, starts),
  };
}
