import { useSyncExternalStore } from 'react';
import { isLost } from '../api/api.ts';
import { queryClient } from '../api/queries.ts';

const cache = queryClient.getQueryCache();

/** Returns true if the last attempt of a query on this page got no response. */
function isAnyLost(): boolean {
  return cache
    .getAll()
    .some(
      (query) => query.isActive() && isLost(query.state.error ?? query.state.fetchFailureReason),
    );
}

/**
 * Shows that the server does not respond. Reads are repeated automatically, writes only by the
 * user.
 */
export function LostConnection() {
  const isShown = useSyncExternalStore((changed) => cache.subscribe(changed), isAnyLost);
  return isShown ? (
    <p className="lost" role="status">
      No connection to the server. This page goes on by itself when it answers again.
    </p>
  ) : null;
}
