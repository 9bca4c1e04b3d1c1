import { EverpostError } from '../../error.ts';

/** The exit codes of all commands. */
export const exitCodes = {
  done: 0,
  refused: 1,
  wrongCall: 2,
  differs: 3,
  noAnswer: 4,
  notAllowed: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A mistake in one place of a request or of a file. */
export interface Fault {
  field: string;
  message: string;
  code?: string;
  line?: number | null;
  column?: number | null;
}

/** Ends a command with a message for its user. */
export class Failure extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly errors: readonly Fault[];

  constructor(
    code: string,
    exitCode: ExitCode,
    message: string,
    { errors = [], ...options }: ErrorOptions & { errors?: readonly Fault[] } = {},
  ) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCode;
    this.errors = errors;
  }
}

/** The command was called in a wrong way. */
export const wrongCall = (message: string): Failure =>
  new Failure('WRONG_CALL', exitCodes.wrongCall, message);

/** A file of the caller cannot be used. */
export const unreadable = (message: string, options?: ErrorOptions): Failure =>
  new Failure('UNREADABLE_FILE', exitCodes.wrongCall, message, options);

/** The command is refused. */
export const refused = (code: string, message: string): Failure =>
  new Failure(code, exitCodes.refused, message);

/** An error as it is shown, in text and in JSON. */
export interface ShownError {
  exitCode: ExitCode;
  code: string;
  message: string;
  status: number | null;
  requestId: string | null;
  errors: readonly Fault[];
  details: Record<string, unknown>;
  suggestion: string | null;
}

/** Returns true if the system refuses work with a file. Errors of the network are `EverpostError`. */
function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && typeof error.syscall === 'string';
}

/** @throws the error itself if it is a defect of this program */
export function shownError(error: unknown): ShownError {
  if (isFileError(error)) return shownError(unreadable(error.message, { cause: error }));
  const none = { status: null, requestId: null, details: {}, suggestion: null };
  if (error instanceof Failure) {
    const { code, exitCode, message, errors } = error;
    return { ...none, exitCode, code, message, errors };
  }
  if (!(error instanceof EverpostError)) throw error;
  const { code, status, requestId, errors, details, suggestion } = error;
  return {
    exitCode: exitCodeOf(error),
    code,
    message: errors.length > 0 ? error.message.split(` ${errors[0]!.field}: `)[0]! : error.message,
    status: status === 0 ? null : status,
    requestId,
    errors,
    details,
    suggestion,
  };
}

function exitCodeOf({ status }: EverpostError): ExitCode {
  if (status === 401 || status === 403) return exitCodes.notAllowed;
  // A success that is not one of Everpost counts as no answer.
  if (status < 300 || status >= 500) return exitCodes.noAnswer;
  return exitCodes.refused;
}
