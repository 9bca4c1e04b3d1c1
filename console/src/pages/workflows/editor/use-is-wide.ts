import { useSyncExternalStore } from 'react';

/**
 * Matches windows that are wide enough for the canvas. Narrower windows show the outline and the
 * form instead.
 */
const wide = matchMedia('(min-width: 1000px)');

function subscribe(changed: () => void): () => void {
  wide.addEventListener('change', changed);
  return () => wide.removeEventListener('change', changed);
}

export const useIsWide = (): boolean => useSyncExternalStore(subscribe, () => wide.matches);
