import type { Problem } from '../../../../domain/errors.ts';
import { endSession } from '../../../access/session.ts';
import { useBreakGlass } from '../../../accounts/factors/break-glass.ts';
import { usePasskey } from '../../../accounts/factors/passkeys.ts';
import { knownUser, proveSecondFactor } from '../../../accounts/factors/second-factor.ts';
import { logIn } from '../../../accounts/login.ts';
import { endMySession } from '../../../accounts/sessions.ts';
import { listProofs, SecondFactorPending } from '../../../accounts/sign-in.ts';
import { type Answer, type AnyEndpoint, endpoint } from '../../../http/endpoint.ts';
import { askAs } from '../../ask.ts';
import { readOwnForm } from '../../form-token.ts';
import { openForm, type SentForm, visitorOf } from '../../open-page.ts';
import { pageOptions, seeOther } from '../../page.ts';
import { logInPage } from '../../log-in-page.ts';
import { forgetNext } from '../../next-page.ts';
import { readPasskey } from '../../passkey-form.ts';
import { secondFactorPage } from '../../second-factor-page.ts';
import { breakGlassPage } from './addresses.ts';

/** The forms to log in and log out. */

/**
 * Declares a form that signs in through an endpoint, and then redirects to the page in its field
 * `next`.
 */
export function signInForm({
  refused = logInAgain,
  ...declaration
}: Omit<Parameters<typeof openForm>[0], 'done' | 'refused'> & {
  /** Shows the form again with the error; by default, the log-in page. */
  refused?: Parameters<typeof openForm>[0]['refused'];
}): AnyEndpoint {
  return openForm({
    ...declaration,
    refused,
    done({ call: { config }, next }, { options }) {
      return seeOther(next, [options.headers?.['Set-Cookie'] ?? [], forgetNext(config)].flat());
    },
  });
}

async function logInAgain({ call, next }: SentForm, problem: Problem): Promise<Answer<string>> {
  if (problem instanceof SecondFactorPending) {
    const { methods } = problem.details as { methods: string[] };
    const { cookies } = problem;
    return secondFactorPage(visitorOf(call), { status: 200, next, methods, cookies });
  }
  const { status, message: fault } = problem;
  return logInPage(visitorOf(call), { status, next, fault });
}

/**
 * Asks for the second factor again while the pending sign-in is valid. After that, the user must
 * log in again.
 */
async function proveFactorAgain(sent: SentForm, problem: Problem): Promise<Answer<string>> {
  const { call, next } = sent;
  const { code, status, message: fault } = problem;
  if (code === 'UNAUTHORIZED') {
    return logInPage(visitorOf(call), { status, next, fault: overText });
  }
  const userId = await knownUser(call);
  if (userId === null) return logInAgain(sent, problem);
  const methods = await listProofs(call.db, userId);
  return secondFactorPage(visitorOf(call), { status, next, methods, fault });
}

const overText = 'The login took too long, or had too many wrong codes. Log in again.';

const signInForms = [
  signInForm({
    id: 'logInByForm',
    path: '/console/log-in',
    summary: 'Log in on the page',
    does: logIn,
    body: (form) => ({ email: form.get('email') ?? '', password: form.get('password') ?? '' }),
  }),
  signInForm({
    id: 'proveByForm',
    path: '/console/second-factor',
    summary: 'Prove a second factor on the page',
    does: proveSecondFactor,
    body(form) {
      const code = form.get('code') ?? '';
      return /^[\d\s]*$/.test(code) ? { code } : { recoveryCode: code };
    },
    refused: proveFactorAgain,
  }),
  signInForm({
    id: 'usePasskeyByForm',
    path: '/console/passkey',
    summary: 'Log in with a passkey, or prove it as a second factor, on the page',
    does: usePasskey,
    body: (form) => ({ response: readPasskey(form) }),
    refused: proveFactorAgain,
  }),
  signInForm({
    id: 'useBreakGlassByForm',
    path: '/console/break-glass',
    summary: 'Log in by a link of the operator, on the page',
    does: useBreakGlass,
    body: (form) => ({ token: form.get('link') ?? '' }),
    async refused({ call }, { status }) {
      return breakGlassPage(visitorOf(call), { status, link: null });
    },
  }),
];

const { projectParam: _, ...options } = pageOptions;

const logOutByForm = endpoint({
  ...options,
  id: 'logOutByForm',
  method: 'POST',
  path: '/console/log-out',
  summary: 'End the session of the page',
  description: 'A form of the console, see GET /console.',
  idempotent: false,
  async handle(call) {
    readOwnForm(call);
    const { sessionId: id } = call.caller;
    if (id) await askAs(call, call.caller, endMySession, { params: { id } });
    return seeOther('/console', endSession(call.config));
  },
});

export const logInEndpoints = [...signInForms, logOutByForm];
