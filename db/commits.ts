import type { Kysely } from 'kysely';
import type { RunNotice } from '../domain/runs/runs.ts';
import type { DB } from './tables.ts';

type Handle = Kysely<DB>;
type Receiver = (runs: readonly RunNotice[]) => void;

const receivers = new WeakMap<Handle, Receiver>();
const owners = new WeakMap<Handle, Handle>();
const notedIn = new WeakMap<Handle, RunNotice[]>();

/**
 * Sets the receiver of run notices for transactions on `db`. After each commit, the receiver gets
 * the notices of the transaction. A handle has one receiver, the dispatcher of this process.
 */
export function onCommitted(db: Handle, receiver: Receiver): void {
  receivers.set(db, receiver);
}

/**
 * Makes `owner` the owner of `handle` (for example of a tenant's share of the pool). Notices of
 * commits on `handle` are then passed to the receiver of `owner`.
 */
export function commitLike(handle: Handle, owner: Handle): void {
  owners.set(handle, owner);
}

/** Returns the handle that a share or a transaction belongs to. */
export function ownerOf(handle: Handle): Handle {
  const owner = owners.get(handle);
  return owner ? ownerOf(owner) : handle;
}

/**
 * Notes that runs must be signalled after the commit of `tx`. A rollback drops the notices. A
 * notice may be lost, so the same transaction must write the row from which a run learns its work.
 */
export function notifyAfterCommit(tx: Handle, runs: readonly RunNotice[]): void {
  notedIn.get(tx)?.push(...runs);
}

/**
 * Runs `work` and collects the notices of `tx`. Returns the result, and a function that passes the
 * notices to the receiver.
 */
export async function withNotes<T>(
  db: Handle,
  tx: Handle,
  work: (tx: Handle) => Promise<T>,
): Promise<{ result: T; dispatch: () => void }> {
  const noted: RunNotice[] = [];
  notedIn.set(tx, noted);
  owners.set(tx, db);
  const result = await work(tx);
  return {
    result,
    dispatch: () => {
      if (noted.length > 0) receivers.get(ownerOf(db))?.(noted);
    },
  };
}
