import {
  type RecordedTracked,
  recordTracked,
  recordTrackedTogether,
  type TrackedEvent,
} from '../../db/transactions/contacts/record-tracked.ts';
import type { Shares } from '../../db/shares.ts';
import { GroupCommit } from './group-commit.ts';

/**
 * Records events that need no other change than a new row (`isPlain`), for many requests together.
 */
export type TrackQueue = GroupCommit<TrackedEvent, RecordedTracked>;

/**
 * Creates the queue. A transaction of several events waits at most `lockMs` for a lock, so that no
 * event delays the others for long.
 */
export function createTrackQueue(shares: Shares): TrackQueue {
  return new GroupCommit(shares, {
    writeTogether: recordTrackedTogether,
    writeAlone: recordTracked,
    keyOf: ({ email }) => email,
    lockMs: 200,
    limit: {
      // Equal to `waitingMax` in db/shares.ts, the limit of waiting statements of one project.
      waitingMax: 1_000,
      message: 'Too many events of this project are waiting to be recorded.',
      suggestion: 'Send fewer requests at once, and repeat this one later.',
    },
  });
}
