import type { ErrorAnswer } from './api.ts';

type ErrorBody = ErrorAnswer['error'];

/** A response that is no success, or no response at all. */
export class EverpostError extends Error {
  override readonly name = 'EverpostError';
  /** For programs: a code of the API, or one of the client. */
  readonly code: ErrorBody['code'] | 'TIMEOUT' | 'CONNECTION_FAILED' | 'UNEXPECTED_ANSWER';
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** Id of the request in the server's log; null: no response had one. */
  readonly requestId: string | null;
  /** The invalid fields of a `VALIDATION_ERROR`. */
  readonly errors: NonNullable<ErrorBody['errors']>;
  /** More about the error for some codes, such as the domain that is not verified. */
  readonly details: Record<string, unknown>;
  /** The next thing to do, in a sentence. */
  readonly suggestion: string | null;
  /** Seconds after which to try again, if the server has said so. */
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

  /** Returns the error in a response, even if another program than Everpost has responded. */
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

/** Returns the message with its fields, because often a log keeps only this. */
function messageOf({ message, errors = [] }: ErrorBody): string {
  const fields = errors.map(({ field, message: fault }) => `${field}: ${fault}`);
  return [message, ...fields].join(' ');
}
