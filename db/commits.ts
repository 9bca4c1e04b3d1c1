import type { Kysely } from 'kysely';
import type { RunNotice } from '../domain/runs/runs.ts';
import type { DB } from './tables.ts';

type Handle = Kysely<DB>;
type Receiver = (runs: readonly RunNotice[]) => void;

const receivers = new WeakMap<Handle, Receiver>();
const owners = new WeakMap<Handle, Handle>();
const notedIn = new WeakMap<Handle, RunNotice[]>();

/**
 * Sets who is told, after each commit of a transaction on `db`, of the workflows that the
 * transaction has noted: the dispatcher of this process. There is one receiver per handle.
 */
export function onCommitted(db: Handle, receiver: Receiver): void {
  receivers.set(db, receiver);
}

/** Lets the receiver of `owner` be told of the commits on `handle`, too: a share of its connections. */
export function commitLike(handle: Handle, owner: Handle): void {
  owners.set(handle, owner);
}

/** The handle behind a share of its connections, or behind a transaction on either. */
export function ownerOf(handle: Handle): Handle {
  const owner = owners.get(handle);
  return owner ? ownerOf(owner) : handle;
}

/**
 * Notes that Temporal must be told of what `tx` changes. Forgotten with a transaction that is rolled
 * back; the row that says what is due must be written in the same transaction.
 */
export function notifyAfterCommit(tx: Handle, runs: readonly RunNotice[]): void {
  notedIn.get(tx)?.push(...runs);
}

/** Runs `work` with the notes of `tx`. Returns its result and the function that hands them on. */
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
