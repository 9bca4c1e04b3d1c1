import type { ErrorAnswer } from './api.ts';

type Told = ErrorAnswer['error'];

/** A response that is no success, or no response at all. */
export class EverpostError extends Error {
  override readonly name = 'EverpostError';
  /** For programs: a code of the API, or one of the client. */
  readonly code: Told['code'] | 'TIMEOUT' | 'CONNECTION_FAILED' | 'UNEXPECTED_ANSWER';
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** Id of the request in the server's log; null: no response had one. */
  readonly requestId: string | null;
  /** The invalid fields of a `VALIDATION_ERROR`. */
  readonly errors: NonNullable<Told['errors']>;
  /** More about the error for some codes, such as the domain that is not verified. */
  readonly details: Record<string, unknown>;
  /** The next thing to do, in a sentence. */
  readonly suggestion: string | null;
  /** Seconds after which to try again, if the server has said so. */
  readonly retryAfter: number | null;

  constructor(
    message: string,
    told: Partial<Omit<Told, 'code' | 'requestId'>> & {
      code: EverpostError['code'];
      requestId?: string | null;
      status?: number;
      retryAfter?: number | null;
    },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = told.code;
    this.status = told.status ?? 0;
    this.requestId = told.requestId ?? null;
    this.errors = told.errors ?? [];
    this.details = told.details ?? {};
    this.suggestion = told.suggestion ?? null;
    this.retryAfter = told.retryAfter ?? null;
  }

  /** Returns the error in a response, even if another program than Everpost has responded. */
  static of(
    { status, headers }: Response,
    body: Partial<ErrorAnswer> | string | undefined,
  ): EverpostError {
    const seconds = headers.get('retry-after');
    const retryAfter = seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
    const told = typeof body === 'object' ? body?.error : undefined;
    return told
      ? new EverpostError(messageOf(told), { ...told, status, retryAfter })
      : new EverpostError(notOurs(status), {
          code: 'UNEXPECTED_ANSWER',
          status,
          retryAfter,
          requestId: headers.get('x-request-id'),
        });
  }
}

function notOurs(status: number): string {
  return `The response (${status}) is not from Everpost. Check baseUrl, and proxies before the server.`;
}

/** Returns the message with its fields, because often a log keeps only this. */
function messageOf({ message, errors = [] }: Told): string {
  const fields = errors.map((error) => `${error.field}: ${error.message}`);
  return [message, ...fields].join(' ');
}
