import type { z } from 'zod';
import { Problem } from '../../domain/errors.ts';
import { requireFresh } from '../access/auth.ts';
import { type Answer, type AnyEndpoint, type Call, endpoint } from '../http/endpoint.ts';
import { type Html, html } from '../html/html.ts';
import { type Asked, askAs, type Request } from './ask.ts';
import { readOwnForm } from './form-token.ts';
import { accountLayout } from './layout.ts';
import { doneMessage, type DoneName, pageOptions, refuseRepeated, seeOther } from './page.ts';
import { plainPage } from './plain-page.ts';

/** The pages of a user's own account. */

export type UserCall = Call<'session', Record<string, string>, Record<string, string>, unknown>;

export interface AccountPage {
  title: string;
  /** `token`: the form token of the page. */
  content: (token: string) => Html;
  status?: number;
  cookies?: readonly string[];
  hasScript?: boolean;
}

const { projectParam: _, ...options } = pageOptions;

/** Calls an endpoint for the user who is signed in. @throws Problem as the endpoint */
export function askMine<R extends z.ZodType>(
  call: UserCall,
  asked: Asked<R>,
  request: Request = {},
) {
  if (asked.fresh) requireFresh(call.caller);
  return askAs(call, call.caller, asked, request);
}

/** Declares a page of the account. */
export function accountPage(declaration: {
  id: string;
  /** The path below that of the account. */
  path: string;
  summary: string;
  show: (call: UserCall) => Promise<AccountPage>;
}): AnyEndpoint {
  const { id, path, summary, show } = declaration;
  return endpoint({
    ...options,
    id,
    method: 'GET',
    path: `/console/account${path}`,
    summary,
    description: 'A page for people, see GET /console.',
    async handle(given) {
      const call = given as unknown as UserCall;
      refuseRepeated(call.query);
      return render(call, await show(call));
    },
  });
}

/** Shows the account page again, with a message. */
interface Done {
  done: DoneName;
  cookies?: readonly string[];
}

/** A button of the account, with its action. */
export interface AccountAct {
  /** The path below that of the account. */
  path: string;
  /** The API endpoint that performs the action. */
  does: AnyEndpoint;
  act: (call: UserCall, form: URLSearchParams) => Promise<Done | AccountPage>;
  /** Shows the page again with the error; by default, the account page. */
  refused?: (call: UserCall, problem: Problem) => Promise<AccountPage>;
}

/** Declares a button of the account. */
export function accountAct({ path, does, act, refused }: Required<AccountAct>): AnyEndpoint {
  return endpoint({
    ...options,
    id: `${does.id} by ${path}`,
    method: 'POST',
    path: `/console/account${path}`,
    summary: does.summary,
    description: 'A form of the console, see GET /console.',
    idempotent: false,
    async handle(given) {
      const call = given as unknown as UserCall;
      const form = readOwnForm(call);
      try {
        const result = await act(call, form);
        if ('content' in result) return render(call, result);
        const { done, cookies } = result;
        return seeOther(`/console/account?done=${done}`, cookies && [...cookies]);
      } catch (error) {
        if (!(error instanceof Problem) || hasPageOfItsOwn(error)) throw error;
        return render(call, { ...(await refused(call, error)), status: error.status });
      }
    },
  });
}

function hasPageOfItsOwn({ code, status }: Problem): boolean {
  const codes = ['UNAUTHORIZED', 'REAUTHENTICATION_REQUIRED', 'SECOND_FACTOR_REQUIRED'];
  return status >= 500 || codes.includes(code);
}

function render(call: UserCall, page: AccountPage): Answer<never> {
  const { config, request, query } = call;
  const content = (token: string) => html`${doneMessage(query['done'])}${page.content(token)}`;
  const visitor = { config, cookie: request.cookie };
  return plainPage(visitor, { ...page, content, layout: accountLayout });
}

/** Returns the `Set-Cookie` values of a response. */
export function cookiesOf({ options: { headers } }: Answer<unknown>): string[] {
  return [headers?.['Set-Cookie'] ?? []].flat();
}
