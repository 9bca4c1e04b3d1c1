/**
 * Returns true if PostgreSQL aborted a statement that may succeed when repeated. The reason is a
 * serialization failure or a deadlock (SQLSTATE 40001 and 40P01, see
 * https://www.postgresql.org/docs/18/mvcc-serialization-failure-handling.html), or an outdated
 * plan.
 */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '') || isOutdatedPlan(error);
}

/**
 * Returns true if a migration has changed the result type of a statement after it was prepared:
 * "cached plan must not change result type", SQLSTATE 0A000. The connection must then drop its
 * prepared statements.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return codeOf(error) === '0A000' && (error as Error).message.includes('cached plan');
}

/** Returns true if a lock or a result took longer than its timeout: SQLSTATE 55P03, 57014. */
export function isTimeLimit(error: unknown): boolean {
  return ['55P03', '57014'].includes(codeOf(error) ?? '');
}

/** Returns true if a lock was not available within `lock_timeout`: SQLSTATE 55P03. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/**
 * Returns true if PostgreSQL rejected a value, so that repeating the statement cannot help:
 * SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation).
 */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '');
}

/**
 * Error codes of a connection that is lost or cannot be made: codes of the operating system, and
 * PostgreSQL's codes for starting and stopping (class 57P), insufficient resources (53), a lost
 * connection (08), and a transaction that was ended because it was idle (25P03).
 */
const unreachableCode = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|57P|53|08|25P03)/;
/** First words of the driver's own error messages about connections. */
const unreachableTexts = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
];

/**
 * Returns true if a statement failed for a temporary reason: no connection, a timeout (55P03,
 * 57014), or a conflict with other transactions. Its transaction was rolled back, and may succeed
 * later. If the connection broke during the commit, the transaction may be committed: see
 * `isAnswerLost`.
 */
export function isUnavailable(error: unknown): boolean {
  return isUnreachable(error) || isTimeLimit(error) || isTransient(error);
}

/**
 * Returns true if PostgreSQL cannot be reached, or refuses the user (class 28) or the database
 * (3D000).
 */
export function isConnectionRefused(error: unknown): boolean {
  return isUnreachable(error) || /^(28|3D000)/.test(codeOf(error) ?? '');
}

function isUnreachable(error: unknown): boolean {
  if (unreachableCode.test(codeOf(error) ?? '')) return true;
  return error instanceof Error && unreachableTexts.some((text) => error.message.startsWith(text));
}

/**
 * Returns true if the connection broke during a statement, so that the statement may have been
 * committed.
 */
export function isAnswerLost(error: unknown): boolean {
  if (/^(ECONNRESET|EPIPE|ETIMEDOUT|08)/.test(codeOf(error) ?? '') || isSilence(error)) return true;
  return error instanceof Error && error.message.startsWith('Connection terminated');
}

/** Returns true if the driver stopped waiting for the response to a statement. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
