import type { ErrorAnswer } from './api.ts';

type ErrorBody = ErrorAnswer['error'];

/** An error response, or a missing response. */
export class EverpostError extends Error {
  override readonly name = 'EverpostError';
  /** An error code of the API or of this client. Programs can rely on the code. */
  readonly code: ErrorBody['code'] | 'TIMEOUT' | 'CONNECTION_FAILED' | 'UNEXPECTED_ANSWER';
  /** The HTTP status of the response; 0: there is no response. */
  readonly status: number;
  /**
   * Id of the request in the server's log; null: there is no response, or the response has no id.
   */
  readonly requestId: string | null;
  /** The invalid fields of a `VALIDATION_ERROR`. */
  readonly errors: NonNullable<ErrorBody['errors']>;
  /** Details of the error for some codes, such as the domain that is not verified. */
  readonly details: Record<string, unknown>;
  /** A sentence that says what to do next; null: the response has no suggestion. */
  readonly suggestion: string | null;
  /** Seconds to wait before the next attempt, if the server has sent them. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    error: Partial<Omit<ErrorBody, 'code' | 'requestId'>> & {
      code: EverpostError['code'];
      requestId?: string | null;
      status?: number;
      retryAfter?: number | null;
    },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = error.code;
    this.status = error.status ?? 0;
    this.requestId = error.requestId ?? null;
    this.errors = error.errors ?? [];
    this.details = error.details ?? {};
    this.suggestion = error.suggestion ?? null;
    this.retryAfter = error.retryAfter ?? null;
  }

  /**
   * Returns the error in a response. A response that does not come from Everpost, but for example
   * from a proxy, has the code `UNEXPECTED_ANSWER`.
   */
  static of(
    { status, headers }: Response,
    body: Partial<ErrorAnswer> | string | undefined,
  ): EverpostError {
    const seconds = headers.get('retry-after');
    const retryAfter = seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
    const error = typeof body === 'object' ? body?.error : undefined;
    return error
      ? new EverpostError(messageOf(error), { ...error, status, retryAfter })
      : new EverpostError(notOurs(status), {
          code: 'UNEXPECTED_ANSWER',
          status,
          retryAfter,
          requestId: headers.get('x-request-id'),
        });
  }
}

function notOurs(status: number): string {
  return `The response (${status}) is not one of Everpost. Check baseUrl, and proxies before the server.`;
}

/**
 * Returns the message, followed by the invalid fields, because a log often keeps only the message.
 */
function messageOf({ message, errors = [] }: ErrorBody): string {
  const fields = errors.map(({ field, message: fault }) => `${field}: ${fault}`);
  return [message, ...fields].join(' ');
}
