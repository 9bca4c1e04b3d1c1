import { Problem } from '../../domain/errors.ts';
import {
  type Answer,
  type AnyEndpoint,
  type Call,
  endpoint,
  type Visitor,
} from '../http/endpoint.ts';
import { askAs } from './ask.ts';
import { readOwnForm } from './form-token.ts';
import { consolePath } from './next-page.ts';
import { pageOptions, refuseRepeated } from './page.ts';

/** Pages that are also shown without a session. */

type OpenCall = Call<'open', Record<string, string>, Record<string, string>, unknown>;

const { projectParam: _, ...options } = pageOptions;

export const visitorOf = ({
  config,
  request: { cookie },
}: Pick<OpenCall, 'config' | 'request'>): Pick<Visitor, 'config' | 'cookie'> => ({
  config,
  cookie,
});

/** Declares a page without a project, which is also shown without a session. */
export function openPage(declaration: {
  id: string;
  path: `/${string}`;
  summary: string;
  show: (call: OpenCall) => Promise<Answer<string>>;
}): AnyEndpoint {
  const { id, path, summary, show } = declaration;
  return endpoint({
    ...options,
    access: 'open',
    id,
    method: 'GET',
    path,
    summary,
    description: 'A page for people, see GET /console.',
    async handle(given) {
      const call = given as unknown as OpenCall;
      refuseRepeated(call.query);
      return show(call);
    },
  });
}

/** A form that was sent without a session. */
export interface SentForm {
  call: OpenCall;
  form: URLSearchParams;
  /** The page to open after success. */
  next: string;
}

/** Declares a form that is sent without a session. */
export function openForm(declaration: {
  id: string;
  path: `/${string}`;
  summary: string;
  /** The API endpoint that performs the action. */
  does: AnyEndpoint;
  body: (form: URLSearchParams) => unknown;
  done: (sent: SentForm, answered: Answer<unknown>) => Answer<string>;
  /** Shows the form again with the error. */
  refused: (sent: SentForm, problem: Problem) => Promise<Answer<string>>;
}): AnyEndpoint {
  const { id, path, summary, does, body, done, refused } = declaration;
  return endpoint({
    ...options,
    access: 'open',
    limit: 'auth',
    idempotent: false,
    id,
    method: 'POST',
    path,
    summary,
    description: 'A form of the console, see GET /console.',
    async handle(given) {
      const call = given as unknown as OpenCall;
      const form = readOwnForm(call);
      const sent = { call, form, next: consolePath(form.get('next') ?? '') };
      try {
        return done(sent, await askAs(call, null, does, { body: body(form) }));
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500) throw error;
        return refused(sent, error);
      }
    },
  });
}
