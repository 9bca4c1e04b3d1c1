import { useSyncExternalStore } from 'react';

/** On a narrower window, outline and form take the place of the canvas. */
const wide = matchMedia('(min-width: 1000px)');

function subscribe(changed: () => void): () => void {
  wide.addEventListener('change', changed);
  return () => wide.removeEventListener('change', changed);
}

export const useIsWide = (): boolean => useSyncExternalStore(subscribe, () => wide.matches);
