import { useSyncExternalStore } from 'react';

/** Ids of workflows whose deletion can still be undone. The list does not show them. */
let hidden: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function change(next: ReadonlySet<string>) {
  hidden = next;
  for (const listener of listeners) listener();
}

export const hide = (id: string): void => change(new Set([...hidden, id]));

export const show = (id: string): void => change(new Set([...hidden].filter((one) => one !== id)));

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

export const useHidden = (): ReadonlySet<string> => useSyncExternalStore(subscribe, () => hidden);
