import { Problem, type ProblemCode } from '../../domain/errors.ts';
import { isUnavailable } from '../../db/sql-state.ts';
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
      suggestion: problem.suggestion ?? suggestionFor(problem.code),
      ...(problem.details ? { details: problem.details } : {}),
    },
    timestamp: new Date().toISOString(),
  };
}

/**
 * Returns a Problem unchanged. Any other error becomes SERVICE_UNAVAILABLE if the database was
 * unavailable, otherwise INTERNAL_SERVER_ERROR.
 */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(isUnavailable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR');
}
