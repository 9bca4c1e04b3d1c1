import type { FileKind } from '../../domain/files/kinds.ts';
import type { Problem } from '../../domain/errors.ts';
import type { Database } from '../../db/database.ts';
import type { Services } from '../services/services.ts';
import type { FileIds, ReadObject, StoredObject } from './reading/objects.ts';

/**
 * The changes of a plan. POST /plan makes them in a transaction that it rolls back, and POST /apply
 * in one that it commits, so both refuse the same: `writing/write.ts`.
 */

export const changeActions = ['create', 'update', 'delete'] as const;

/** A change of one object, as the row of a plan has it. */
export interface FileChange {
  action: (typeof changeActions)[number];
  kind: FileKind;
  key: string;
  /** Null: the object is new, or a policy. */
  id: string | null;
  name: string;
  /** Null: the object is deleted. */
  path: string | null;
}

/** A change with what is needed to make it. */
export interface PlannedChange {
  change: FileChange;
  /** The id that a new object gets, or that of the stored one; null: a policy. */
  id: string | null;
  /** Null: the object is deleted. */
  object: ReadObject | null;
  /** The stored object, without the body of a template; null: the object is new, or deleted. */
  stored: StoredObject | null;
}

/** The outcome of one change in the transaction. */
export type ChangeOutcome =
  | { refused: null; version: number | null }
  /** The problem that the object's own endpoint would answer. */
  | { refused: Problem; version: null };

/**
 * Makes changes in the transaction of the caller, in an order in which each finds what it names:
 * renamed keys; then topics, templates, segments, workflows, event subscriptions and policies; then
 * what is deleted, in the opposite order. New objects get their `id` and their key.
 *
 * POST /plan sets `collects`: each change runs in a savepoint, and a Problem is its outcome.
 * Otherwise the first Problem is thrown. `beforeDeleting` may read for long: deleted objects are not
 * locked yet.
 */
export type WriteChanges = (
  writing: GivenWriting,
  changes: readonly PlannedChange[],
  ids: FileIds,
  options: { collects: boolean; beforeDeleting?: (outcomes: Outcomes) => Promise<void> },
) => Promise<Outcomes>;

export interface GivenWriting extends Pick<Services, 'cipher' | 'webhooks'> {
  tx: Database;
  projectId: string;
  /** The result of `actorOf`. */
  causedBy: string;
  /** The result of `findBrokenOf`. */
  broken: ReadonlyMap<string, string>;
  /** Throws a Problem if the transaction takes too long: see `limitDuration`. */
  checkTime: () => void;
}

type Outcomes = ReadonlyMap<PlannedChange, ChangeOutcome>;
