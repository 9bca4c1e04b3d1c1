/** PostgreSQL errors, by SQLSTATE. */

/**
 * Whether PostgreSQL aborted a statement that may succeed when repeated: a serialization failure or
 * a deadlock (SQLSTATE 40001 and 40P01, see
 * https://www.postgresql.org/docs/18/mvcc-serialization-failure-handling.html), or an outdated
 * plan.
 */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '') || isOutdatedPlan(error);
}

/**
 * Whether a statement was prepared before a migration changed its result type: "cached plan must
 * not change result type", SQLSTATE 0A000. Its connection must drop its prepared statements.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return codeOf(error) === '0A000' && (error as Error).message.includes('cached plan');
}

/** Whether a lock was not free within `lock_timeout`: SQLSTATE 55P03. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/**
 * Whether PostgreSQL rejected a value, so that repeating the statement cannot help: SQLSTATE
 * classes 22 (data exception) and 23 (integrity constraint violation).
 */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
