import { Problem, type ProblemCode } from '../domain/errors.ts';

/** The one shape of every error answer. */
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
      suggestion: suggestions[problem.code] ?? suggestionFor(problem.status),
      ...(problem.details ? { details: problem.details } : {}),
    },
    timestamp: new Date().toISOString(),
  };
}

const suggestions: Partial<Record<ProblemCode, string>> = {
  EMAIL_VERIFICATION_REQUIRED: 'Follow the link in the mail, or ask for a new one.',
  REAUTHENTICATION_REQUIRED:
    'Log in again with POST /auth/login, or by GitHub or Google, then repeat the request.',
  SELF_REMOVAL: 'Leave with DELETE /users/@me/projects/{id}/membership.',
  OWNER_PROTECTED: 'Only deleting the project ends the role of its owner.',
  VALIDATION_ERROR: 'Correct the fields listed in errors.',
  WORKFLOW_INVALID: 'Mend the steps listed in errors, then enable the workflow again.',
  INVALID_API_KEY: 'Use the secret key of the project; the public key only tracks events.',
  DOMAIN_NOT_REGISTERED: 'Add the domain with POST /domains and verify it.',
  DOMAIN_NOT_VERIFIED: 'Add the DNS records of the domain, then verify it.',
  CONTACT_UNSUBSCRIBED: 'Send with a TRANSACTIONAL template, or ask the contact to subscribe.',
  WORKFLOW_NOT_ENABLED: 'Enable the workflow with PATCH /workflows/{id}.',
  IDEMPOTENCY_KEY_REUSED: 'Use a new Idempotency-Key for every new request.',
  RATE_LIMIT_EXCEEDED: 'Wait for the seconds named in Retry-After.',
  UNSUPPORTED_MEDIA_TYPE: 'Set the Content-Type that the message names.',
  INVALID_REQUEST_BODY: 'Send the body that /docs describes for this endpoint.',
  EMAIL_TAKEN: 'Log in with POST /auth/login, or reset the password.',
  DOMAIN_EXISTS: 'Remove it from the other project first, or use another domain.',
  TEMPLATE_IN_USE: 'Give those steps another template first.',
  EXECUTION_NOT_FAILED: 'Only FAILED executions are tried again; start a new one instead.',
};

function suggestionFor(status: number): string {
  if (status === 401) return 'Check the credentials of the request.';
  if (status === 403) return 'Ask an owner of the project for access.';
  if (status === 404) return 'Check the path and the ids in it.';
  if (status === 409) return 'Read the current state, then decide anew.';
  if (status >= 500) return 'Try again later; name the requestId when you ask for help.';
  return 'Read the description of this endpoint in /docs.';
}

/** Any thrown value as a Problem; what is not one is our own failure. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(isUnreachable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR');
}

/**
 * What a connection to the database fails with: the system's words, PostgreSQL's for starting and
 * stopping, for too many connections and for a lost one (its classes 57P, 53 and 08), and the
 * driver's own.
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
