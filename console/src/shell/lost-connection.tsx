import { useSyncExternalStore } from 'react';
import { isLost } from '../api/api.ts';
import { queryClient } from '../api/queries.ts';

const cache = queryClient.getQueryCache();

/** True while the last try of a query on this page had no answer. */
function isAnyLost(): boolean {
  return cache
    .getAll()
    .some(
      (query) => query.isActive() && isLost(query.state.error ?? query.state.fetchFailureReason),
    );
}

/** Says that the server does not answer. Reading goes on by itself; writing is left to the user. */
export function LostConnection() {
  const isShown = useSyncExternalStore((changed) => cache.subscribe(changed), isAnyLost);
  return isShown ? (
    <p className="lost" role="status">
      No connection to the server. This page goes on by itself when it answers again.
    </p>
  ) : null;
}
