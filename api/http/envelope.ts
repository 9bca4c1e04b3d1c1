import { Problem, type ProblemCode } from '../../domain/errors.ts';
import { suggestionFor } from './suggestions.ts';

/** The shape of every error response. */
export interface ErrorBody {
  success: false;
  error: {
    code: ProblemCode;
    message: string;
    statusCode: number;
    requestId: string;
    errors?: Problem['errors'];
    suggestion: string;
    details?: Record<string, unknown>;
  };
  timestamp: string;
}

export function errorBody(problem: Problem, requestId: string): ErrorBody {
  return {
    success: false,
    error: {
      code: problem.code,
      message: problem.message,
      statusCode: problem.status,
      requestId,
      ...(problem.errors ? { errors: problem.errors } : {}),
      suggestion: suggestionFor(problem.code),
      ...(problem.details ? { details: problem.details } : {}),
    },
    timestamp: new Date().toISOString(),
  };
}

/** Any thrown value as a Problem; anything else is an internal error. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(isUnreachable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR');
}

/**
 * Errors of a database connection: the system's; PostgreSQL's for starting and stopping, too many
 * connections and a lost one (classes 57P, 53 and 08); and the driver's own.
 */
const unreachableCode = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|57P|53300|08)/;
const unreachableText = /^(Connection terminated|timeout exceeded when trying to connect)/;

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (
    (typeof code === 'string' && unreachableCode.test(code)) || unreachableText.test(error.message)
  );
}
