import type { Database } from '../../database.ts';
import { claimOverdue, listPending, markSent } from '../../outbox/outbox.ts';
import { listExecutionStarts, listUnbegun } from './starts.ts';
import { graphReader } from '../graphs.ts';
import type { OpenStart } from '../../../domain/runs/execution.ts';
import type { SentEntry } from '../../../domain/runs/runs.ts';

/** The dispatcher's reads and writes: the `DispatchStore` of `workflows/client/dispatcher.ts`. */
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
