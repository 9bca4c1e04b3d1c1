import { z } from 'zod';
import { Problem } from '../../../../domain/errors.ts';
import { endSession } from '../../../access/session.ts';
import { useBreakGlass } from '../../../accounts/factors/break-glass.ts';
import { usePasskey } from '../../../accounts/factors/passkeys.ts';
import { knownUser, proveSecondFactor } from '../../../accounts/factors/second-factor.ts';
import { logIn } from '../../../accounts/login.ts';
import { endMySession } from '../../../accounts/sessions.ts';
import { listProofs, SecondFactorPending } from '../../../accounts/sign-in.ts';
import { type Answer, type AnyEndpoint, type Call, endpoint } from '../../../http/endpoint.ts';
import { askAs } from '../../ask.ts';
import { readOwnForm } from '../../form-token.ts';
import { problemPage, seeOther } from '../../page.ts';
import { logInPage } from '../../log-in-page.ts';
import { consolePath, forgetNext } from '../../next-page.ts';
import { readPasskey } from '../../passkey-form.ts';
import { secondFactorPage } from '../../second-factor-page.ts';
import { breakGlassPage } from './addresses.ts';

/** The forms that log in and out. */

const common = {
  method: 'POST',
  description: 'A form of the console, see GET /console.',
  asSent: true,
  idempotent: false,
  contentType: 'text/html',
  response: z.string(),
  problemPage,
} as const;

type OpenCall = Call<'open', unknown, unknown, unknown>;

interface Refusal {
  call: OpenCall;
  problem: Problem;
  form: URLSearchParams;
  next: string;
}

/** Declares a form that signs in by an endpoint, and then leads to the page in its field `next`. */
function signInForm(declaration: {
  id: string;
  path: `/${string}`;
  summary: string;
  does: AnyEndpoint;
  body: (form: URLSearchParams) => unknown;
  /** Shows the form again with what was wrong. By default, the log-in page. */
  refused?: (refusal: Refusal) => Promise<Answer<string>>;
}): AnyEndpoint {
  const { id, path, summary, does, body, refused = logInAgain } = declaration;
  return endpoint({
    ...common,
    id,
    path,
    summary,
    access: 'open',
    limit: 'auth',
    async handle(call) {
      const form = readOwnForm(call);
      const next = consolePath(form.get('next') ?? '');
      try {
        const { options } = await askAs(call, null, does, { body: body(form) });
        const cookies = [options.headers?.['Set-Cookie'] ?? [], forgetNext(call.config)].flat();
        return seeOther(next, cookies);
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500) throw error;
        return refused({ call, problem: error, form, next });
      }
    },
  });
}

const visitorOf = ({ config, request: { cookie } }: OpenCall) => ({ config, cookie });

async function logInAgain({ call, problem, next }: Refusal): Promise<Answer<string>> {
  if (problem instanceof SecondFactorPending) {
    const { methods } = problem.details as { methods: string[] };
    const { cookies } = problem;
    return secondFactorPage(visitorOf(call), { status: 200, next, methods, cookies });
  }
  const { status, message: fault } = problem;
  return logInPage(visitorOf(call), { status, next, fault });
}

/** Asks for the factor again while its user is known. Otherwise the log-in begins anew. */
async function proveFactorAgain(refusal: Refusal): Promise<Answer<string>> {
  const { call, problem, next } = refusal;
  const { code, status, message: fault } = problem;
  if (code === 'UNAUTHORIZED') {
    return logInPage(visitorOf(call), { status, next, fault: overText });
  }
  const userId = await knownUser(call);
  if (userId === null) return logInAgain(refusal);
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
    async refused({ call, problem: { status } }) {
      return breakGlassPage(visitorOf(call), { status, link: null });
    },
  }),
];

const logOutByForm = endpoint({
  ...common,
  id: 'logOutByForm',
  path: '/console/log-out',
  summary: 'End the session of the page',
  access: 'session',
  async handle(call) {
    readOwnForm(call);
    const { sessionId: id } = call.caller;
    if (id) await askAs(call, call.caller, endMySession, { params: { id } });
    return seeOther('/console', endSession(call.config));
  },
});

export const logInEndpoints = [...signInForms, logOutByForm];
