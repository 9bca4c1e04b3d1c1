/** What PostgreSQL says of a statement that it did not carry out, by SQLSTATE. */

/**
 * Whether PostgreSQL gave up a statement that may succeed when it is given again: a serialization
 * failure or a deadlock (SQLSTATE 40001 and 40P01, see
 * https://www.postgresql.org/docs/18/mvcc-serialization-failure-handling.html), or an outdated plan.
 */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '') || isOutdatedPlan(error);
}

/**
 * Whether a statement was prepared before a migration changed the types of what it answers: "cached
 * plan must not change result type", SQLSTATE 0A000. Its connection has to forget what it prepared.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return codeOf(error) === '0A000' && (error as Error).message.includes('cached plan');
}

/**
 * Whether PostgreSQL refused a value, so that giving the statement again cannot help: SQLSTATE classes
 * 22 (data exception) and 23 (integrity constraint violation).
 */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
