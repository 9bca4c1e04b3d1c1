import { z } from 'zod';
import { Problem } from '../../domain/errors.ts';
import { type AnyEndpoint, answer, type Answer, endpoint, type Visitor } from '../http/endpoint.ts';
import { readUpload, type UploadLimits } from '../http/bodies/upload.ts';
import { suggestionFor } from '../http/suggestions.ts';
import { listMyProjects } from '../projects/projects.ts';
import { ask, askAs, type MemberCall } from './ask.ts';
import { FormToken, readForm } from './form-token.ts';
import { type Html, html } from '../html/html.ts';
import { pageHeaders, pathIn, plainLayout, projectLayout } from './layout.ts';
import { logInPage, proveAgainPage } from './log-in-page.ts';
import { factorNeededPage } from './second-factor-page.ts';

/** Notices that a page shows after an action, by the name in its query. */
const doneTexts = {
  verificationSent: 'If your address is not verified yet, a mail is on its way.',
  policySaved: 'Saved. It applies at once.',
  passwordChanged: 'The password was changed. All other sessions have ended.',
  factorAdded: 'The second factor was added.',
  factorRemoved: 'The second factor was removed.',
  renamed: 'Renamed.',
  sessionEnded: 'The session has ended.',
  sessionsEnded: 'All other sessions have ended.',
  unlinked: 'The provider was unlinked.',
  retried: 'The execution is being retried.',
  disabled: 'Disabled. It gets no new mail.',
  enabled: 'Enabled.',
  followedUp: 'This draft is for the recipients who did not open. Change it, then send it.',
  mailRetried: 'The failed mails are being sent again.',
  noneRetried: 'No mail can be tried again. Each is tried again at most once.',
  deliveryRetried: 'The delivery is being attempted again.',
  retriedAll: 'The executions are being retried, at most 100 a second.',
  skipped: 'The step was skipped.',
  paused: 'Paused.',
  resumed: 'Resumed.',
  cancelled: 'Cancelled.',
  decided: 'Decided. The rest is being sent.',
  replaying: 'Events of the last 24 hours that were not delivered are being sent again.',
  erasing: 'The contact is deleted. Its remaining data are being removed.',
  migrating: 'The executions are being moved to the newest version.',
  routed: 'The routes were replaced. They apply within 5 seconds.',
  uploaded: 'The image was uploaded.',
  deleted: 'Deleted.',
  changed: 'Changed.',
  revoked: 'Revoked, with all keys that it made.',
  restored: 'The version was restored. Open executions stay on their versions.',
} as const;

export interface PageContext {
  call: MemberCall;
  project: { id: string; name: string };
  /** The form token of the page. */
  token: string;
  /** Returns the URL path of a page of the project. */
  path: (path: string) => string;
}

/** A page as its `show` function returns it. */
export interface ShownPage {
  title: string;
  content: Html;
  /** See `pageHeaders`. */
  styles?: string;
  status?: number;
}

/** Options of all pages: only for members, forms as sent, and errors as pages. */
export const pageOptions = {
  access: 'session',
  projectParam: 'projectId',
  asSent: true,
  contentType: 'text/html',
  response: z.string(),
  problemPage,
} as const;

/** Declares a page at `path` of a project, in a section of the navigation. */
export function projectPage(declaration: {
  id: string;
  path: string;
  at: string;
  summary: string;
  show: (context: PageContext) => Promise<ShownPage>;
}): AnyEndpoint {
  const { id, path, at, summary, show } = declaration;
  return endpoint({
    ...pageOptions,
    id,
    method: 'GET',
    path: `/console/{projectId}${path}`,
    summary,
    description: 'A page for people, see GET /console.',
    handle: async (call) => showProjectPage(call as unknown as MemberCall, at, show),
  });
}

/**
 * Shows a page of the project in the call. If a record does not exist, the page says so, with the
 * same navigation.
 */
export async function showProjectPage(
  call: MemberCall,
  at: string,
  show: (context: PageContext) => Promise<ShownPage>,
): Promise<Answer<never>> {
  refuseRepeated(call.query);
  const token = new FormToken({ config: call.config, cookie: call.request.cookie });
  const projects = await ask(call, listMyProjects);
  const known = projects.find(({ id }) => id === call.member.project.publicId);
  const project = { id: known?.id ?? call.member.project.publicId, name: known?.name ?? '' };
  const path = (within: string) => pathIn(project.id, within);
  const shown = await show({ call, project, token: token.text, path }).catch((error: unknown) => {
    if (error instanceof Problem && error.status === 404) return absentPage(error);
    throw error;
  });
  const { title, content, styles, status = 200 } = shown;
  const whole = html`${doneMessage(call.query['done'])}${content}`;
  const headers = pageHeaders({ styles });
  if (token.newCookie) headers['Set-Cookie'] = token.newCookie;
  return answer(
    projectLayout({ project, projects, at, title, token: token.text, content: whole }) as never,
    { status, headers, contentType: 'text/html' },
  );
}

function absentPage(problem: Problem): ShownPage & { status: number } {
  return { title: problem.message, content: problemContent(problem), status: problem.status };
}

/** @throws Problem INVALID_REQUEST_BODY if a query parameter occurs more than once */
export function refuseRepeated(query: Readonly<Record<string, unknown>>): void {
  const [name] = Object.entries(query).find(([, value]) => typeof value !== 'string') ?? [];
  if (name === undefined) return;
  throw new Problem('INVALID_REQUEST_BODY', {
    message: `The URL of this page has the parameter ${name} more than once.`,
    suggestion: 'Keep this parameter once in the URL, and remove the others.',
  });
}

/** Declares an image for a page, drawn by the API endpoint `drawn`. */
export function pictureOf(
  path: string,
  id: string,
  drawn: AnyEndpoint & { response: z.ZodString },
  query: Record<string, string>,
): AnyEndpoint {
  return endpoint({
    ...pageOptions,
    id,
    method: 'GET',
    path: `/console/{projectId}${path}`,
    summary: 'A picture on a page',
    description: 'A part of a page for people, see GET /console.',
    contentType: 'image/svg+xml',
    async handle(given) {
      const call = given as unknown as MemberCall;
      refuseRepeated(call.query);
      const { projectId: _, ...params } = call.params;
      return askAs(call, call.member, drawn, { params, query });
    },
  });
}

export type DoneName = keyof typeof doneTexts;

function isDone(name: string | undefined): name is DoneName {
  return name !== undefined && Object.hasOwn(doneTexts, name);
}

/** Shows the message after an action. @param name a query parameter of the page */
export function doneMessage(name: string | undefined): Html | null {
  if (!isDone(name)) return null;
  return html`<section class="said" role="status">${doneTexts[name]}</section>`;
}

/** After an action, the browser goes to the page `to`, which shows the message `done`. */
interface Redirection {
  to: string;
  done: DoneName;
}

/**
 * A page with the result of an action, in a section of the navigation. Only this response shows the
 * result.
 */
interface ShownResult {
  at: string;
  show: (context: PageContext) => Promise<ShownPage>;
}

/** Declares a button with its action. */
export function projectAct(declaration: {
  path: string;
  /** The API endpoint that performs the action. */
  does: AnyEndpoint;
  /** The form has files, within these limits. */
  upload?: UploadLimits;
  act: (
    call: MemberCall,
    form: URLSearchParams,
    files: Readonly<Record<string, unknown>>,
  ) => Promise<Redirection | ShownResult>;
}): AnyEndpoint {
  const { path, does, upload, act } = declaration;
  return endpoint({
    ...pageOptions,
    // Several pages may have a button for the same action.
    id: `${does.id} by ${path}`,
    method: 'POST',
    path: `/console/{projectId}${path}`,
    summary: does.summary,
    description: 'A form of the console, see GET /console.',
    ...(upload && { upload }),
    idempotent: false,
    async handle(given) {
      const call = given as unknown as MemberCall;
      const { form, files } = upload
        ? await readFileForm(call, upload)
        : { form: readForm(call), files: {} };
      new FormToken({ config: call.config, cookie: call.request.cookie }).check(form);
      const result = await act(call, form, files);
      if ('show' in result) return showProjectPage(call, result.at, result.show);
      const { to, done } = result;
      const join = to.includes('?') ? '&' : '?';
      return seeOther(`${pathIn(call.member.project.publicId, to)}${join}done=${done}`);
    },
  });
}

/** Reads a form with files: all its fields; files as `UploadedFile`. */
async function readFileForm({ request }: Pick<MemberCall, 'request'>, limits: UploadLimits) {
  const files = await readUpload(request.bytes, request.header('content-type'), limits);
  const texts = Object.entries(files).filter(
    (field): field is [string, string] => typeof field[1] === 'string',
  );
  return { form: new URLSearchParams(texts), files };
}

/**
 * Redirects the browser to a GET request, so that reloading the page does not send the form again.
 */
export function seeOther(location: string, cookies?: string | string[]): Answer<string> {
  const headers = { Location: location, ...(cookies && { 'Set-Cookie': cookies }) };
  return answer('', { status: 303, headers });
}

/**
 * Returns the page that a browser gets instead of a JSON error; without a session, the login page.
 */
export function problemPage(problem: Problem, visitor: Visitor): Answer<string> {
  const { url: next } = visitor;
  if (problem.code === 'UNAUTHORIZED') return logInPage(visitor, { status: 401, next });
  if (problem.code === 'REAUTHENTICATION_REQUIRED') {
    const { methods } = problem.details as { methods: string[] };
    return proveAgainPage(visitor, { next, proofs: methods });
  }
  if (problem.code === 'SECOND_FACTOR_REQUIRED') {
    const { enrolled } = problem.details as { enrolled: boolean };
    return factorNeededPage(visitor, { next, isEnrolled: enrolled });
  }
  const content = html`${problemContent(problem)}
    <p><a href="/console">Back to the overview</a></p>`;
  const { status } = problem;
  return answer(plainLayout(problem.message, content), {
    status,
    headers: pageHeaders(),
    contentType: 'text/html',
  });
}

/** Shows the error of a form. */
export function faultMessage(problem: Problem): Html {
  return html`<section class="fault" role="alert">
    ${problem.message} ${errorList(problem)}
  </section>`;
}

function errorList({ errors }: Problem): Html | null {
  if (!errors) return null;
  return html`<ul>
    ${errors.map(({ field, message }) => html`<li><code>${field}</code> ${message}</li>`)}
  </ul>`;
}

function problemContent(problem: Problem): Html {
  return html`<h1>${problem.message}</h1>
    ${problem.code !== 'ROUTE_NOT_FOUND' && html`<p>${problem.suggestion ?? suggestionFor(problem.code)}</p>`}
    ${errorList(problem)}
    <p class="note"><code>${problem.code}</code></p>`;
}
