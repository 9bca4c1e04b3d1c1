import type { ErrorAnswer } from './api.ts';

type Told = ErrorAnswer['error'];

/** An answer that is none of success, or no answer at all. */
export class EverpostError extends Error {
  override readonly name = 'EverpostError';
  /** For programs: a code of the API, or one of the client's own. */
  readonly code: Told['code'] | 'TIMEOUT' | 'CONNECTION_FAILED' | 'UNEXPECTED_ANSWER';
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** Finds the request in the server's log; null without an answer of the API. */
  readonly requestId: string | null;
  /** The fields that a `VALIDATION_ERROR` is about. */
  readonly errors: NonNullable<Told['errors']>;
  /** More about the error, for some codes, such as the domain that is not verified. */
  readonly details: Record<string, unknown>;
  /** The next thing to do, in a sentence. */
  readonly suggestion: string | null;
  /** Seconds after which to try again, where the server has said so. */
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

  /** The error that a response tells of, also where something else than Everpost has answered. */
  static of(
    { status, headers }: Response,
    body: Partial<ErrorAnswer> | string | undefined,
  ): EverpostError {
    const seconds = headers.get('retry-after');
    const retryAfter = seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
    const told = typeof body === 'object' ? body?.error : undefined;
    return told
      ? new EverpostError(messageOf(told), { ...told, status, retryAfter })
      : new EverpostError(`Answered ${status}, in no form of the API`, {
          code: 'UNEXPECTED_ANSWER',
          status,
          retryAfter,
          requestId: headers.get('x-request-id'),
        });
  }
}

/** The message, with the fields that it is about: often it is all that a log keeps. */
function messageOf({ message, errors = [] }: Told): string {
  const fields = errors.map((error) => `${error.field}: ${error.message}`);
  return [message, ...fields].join(' ');
}
