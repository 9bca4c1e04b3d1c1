import { useSyncExternalStore } from 'react';

/**
 * The progress on the page `Get started` that only this browser knows. The API key itself is never
 * stored.
 */
interface Memory {
  isKeyCopied?: boolean;
  /** True: the user has hidden the page from the navigation. */
  isHidden?: boolean;
  /** True: all steps were done at some time, so their state is not read again. */
  isDone?: boolean;
}

const listeners = new Set<() => void>();

const nameOf = (projectId: string) => `everpost-start:${projectId}`;

function parse(text: string | null): Memory {
  try {
    return (JSON.parse(text ?? '{}') ?? {}) as Memory;
  } catch {
    return {};
  }
}

export function remember(projectId: string, changes: Memory): void {
  const kept = parse(localStorage.getItem(nameOf(projectId)));
  localStorage.setItem(nameOf(projectId), JSON.stringify({ ...kept, ...changes }));
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useMemory(projectId: string): Memory {
  const text = useSyncExternalStore(listen, () => localStorage.getItem(nameOf(projectId)));
  return parse(text);
}
