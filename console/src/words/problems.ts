import { EverpostError } from '../api/api.ts';
import { PasskeyRefused } from '../api/passkeys.ts';

export interface ProblemText {
  /** The failure, as a sentence. */
  message: string;
  /** The next step for the user, as a sentence. */
  suggestion: string | null;
  code: string | null;
  requestId: string | null;
}

/** Suggestions for users, by error code, in place of API texts that name endpoints. */
const suggestions: Partial<Record<EverpostError['code'], string>> = {
  REAUTHENTICATION_REQUIRED: 'Do it once more, and confirm that it is you.',
  SUBSCRIPTION_REQUIRED: 'Subscribe with Checkout first.',
  CUSTOMER_REQUIRED: 'Subscribe with Checkout first.',
  SUBSCRIPTION_EXISTS: 'Change it in the billing portal.',
  MEMBER_EXISTS: 'Change the role in the list of members.',
};

/** Returns the text of an error. The text comes from the API if the API has responded. */
export function textOfProblem(error: unknown): ProblemText {
  if (error instanceof PasskeyRefused) {
    return { message: error.message, suggestion: null, code: null, requestId: null };
  }
  if (!(error instanceof EverpostError)) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      message: `The page has failed: ${message}`,
      suggestion: 'Reload it.',
      code: null,
      requestId: null,
    };
  }
  const { code, requestId, errors } = error;
  if (error.status === 0) {
    return {
      message: 'The server does not answer.',
      suggestion: 'Nothing is lost on this page. Check the connection, then try again.',
      code: null,
      requestId,
    };
  }
  if (code === 'UNEXPECTED_ANSWER') {
    return {
      message: `Another program than Everpost has answered (${error.status}).`,
      suggestion: 'Check the proxy before the server.',
      code,
      requestId,
    };
  }
  const [own] = error.message.split(errors[0] ? ` ${errors[0].field}: ` : '\n');
  const suggestion = suggestions[code] ?? error.suggestion;
  return { message: own ?? error.message, suggestion, code, requestId };
}
