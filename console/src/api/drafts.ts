/** Unsaved work, which is kept in the browser. */

export interface Draft<T> {
  /** The ETag of the version that was edited. */
  etag: string;
  value: T;
}

const keyOf = (name: string) => `everpost-draft:${name}`;

/** Returns the unsaved work under a name; null: no work is kept. */
export function readDraft<T>(name: string): Draft<T> | null {
  const kept = localStorage.getItem(keyOf(name));
  if (kept === null) return null;
  try {
    return JSON.parse(kept) as Draft<T>;
  } catch {
    return null;
  }
}

export function keepDraft<T>(name: string, draft: Draft<T>): void {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(draft));
  } catch {
    // The storage of the browser is full or switched off. The work is still in the page.
  }
}

export function dropDraft(name: string): void {
  localStorage.removeItem(keyOf(name));
}
