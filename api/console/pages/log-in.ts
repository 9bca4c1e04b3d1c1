import { z } from 'zod';
import { Problem } from '../../../domain/errors.ts';
import { endSession } from '../../access/session.ts';
import { logIn } from '../../accounts/login.ts';
import { proveSecondFactor } from '../../accounts/factors/second-factor.ts';
import { SecondFactorPending } from '../../accounts/sign-in.ts';
import { endMySession } from '../../accounts/sessions.ts';
import { endpoint } from '../../http/endpoint.ts';
import { askAs } from '../ask.ts';
import { FormToken } from '../form-token.ts';
import { logInPage } from '../log-in-page.ts';
import { secondFactorPage } from '../second-factor-page.ts';
import { problemPage, readForm, seeOther } from '../page.ts';

const common = {
  method: 'POST',
  description: 'A form of the console, see GET /console.',
  asSent: true,
  idempotent: false,
  contentType: 'text/html',
  response: z.string(),
  problemPage,
} as const;

const logInByForm = endpoint({
  ...common,
  id: 'logInByForm',
  path: '/console/log-in',
  summary: 'Log in on the page',
  access: 'open',
  limit: 'auth',
  async handle(call) {
    const visitor = { config: call.config, cookie: call.request.cookie };
    const form = readForm(call);
    new FormToken(visitor).check(form);
    const next = consolePath(form.get('next') ?? '');
    const body = { email: form.get('email') ?? '', password: form.get('password') ?? '' };
    try {
      const { options } = await askAs(call, null, logIn, { body });
      return seeOther(next, options.headers?.['Set-Cookie']);
    } catch (error) {
      if (error instanceof SecondFactorPending) {
        return secondFactorPage(visitor, { status: 200, next, cookies: error.cookies });
      }
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      return logInPage(visitor, { status: error.status, next, fault: error.message });
    }
  },
});

const proveByForm = endpoint({
  ...common,
  id: 'proveByForm',
  path: '/console/second-factor',
  summary: 'Prove a second factor on the page',
  access: 'open',
  limit: 'auth',
  async handle(call) {
    const visitor = { config: call.config, cookie: call.request.cookie };
    const form = readForm(call);
    new FormToken(visitor).check(form);
    const next = consolePath(form.get('next') ?? '');
    const code = form.get('code') ?? '';
    const isNumber = /^[\d\s]*$/.test(code);
    try {
      const body = isNumber ? { code } : { recoveryCode: code };
      const { options } = await askAs(call, null, proveSecondFactor, { body });
      return seeOther(next, options.headers?.['Set-Cookie']);
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      const { code: reason, status, message: fault } = error;
      if (reason === 'UNAUTHORIZED') return logInPage(visitor, { status, next, fault: overText });
      return secondFactorPage(visitor, { status, next, fault });
    }
  },
});

const overText = 'The login took too long, or had too many wrong codes. Log in again.';

/** Returns the page to continue with. A page of another site is ignored. */
function consolePath(asked: string): string {
  return /^\/console(?:\/[\w-]+)*(?:\?[\w=&%.+-]*)?$/.test(asked) ? asked : '/console';
}

const logOutByForm = endpoint({
  ...common,
  id: 'logOutByForm',
  path: '/console/log-out',
  summary: 'End the session of the page',
  access: 'session',
  async handle(call) {
    new FormToken({ config: call.config, cookie: call.request.cookie }).check(readForm(call));
    const { sessionId: id } = call.caller;
    if (id) await askAs(call, call.caller, endMySession, { params: { id } });
    return seeOther('/console', endSession(call.config));
  },
});

export const logInEndpoints = [logInByForm, proveByForm, logOutByForm];
