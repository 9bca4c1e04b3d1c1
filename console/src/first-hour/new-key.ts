/**
 * The secret key of a project that was just created. The key is in memory only, and is shown once.
 */
let kept: { projectId: string; key: string } | null = null;

export function keepNewKey(projectId: string, key: string): void {
  kept = { projectId, key };
}

/** Returns the secret key of a project that was just created; null: it is not known. */
export function newKeyOf(projectId: string): string | null {
  return kept?.projectId === projectId ? kept.key : null;
}

export function forgetNewKey(): void {
  kept = null;
}
