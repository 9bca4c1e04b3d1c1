import { type Answer, answer, type Visitor } from '../http/endpoint.ts';
import type { Html } from '../html/html.ts';
import { FormToken } from './form-token.ts';
import { pageHeaders, plainLayout } from './layout.ts';

/** A page without a project. */
export interface PlainPage {
  title: string;
  /** `token`: the form token of the page. */
  content: (token: string) => Html;
  status?: number;
  /** `Set-Cookie` values of the response. */
  cookies?: readonly string[];
  hasScript?: boolean;
  layout?: (title: string, content: Html, token: string) => string;
}

/** Renders a page without a project. */
export function plainPage(
  { config, cookie }: Pick<Visitor, 'config' | 'cookie'>,
  { title, content, status = 200, cookies = [], hasScript, layout = plainLayout }: PlainPage,
): Answer<never> {
  // The forms must match the cookies that this response sets.
  const replaced = new Map(cookies.map(pairOf));
  const token = new FormToken({ config, cookie: (name) => replaced.get(name) ?? cookie(name) });
  const set = [...cookies, ...(token.newCookie ? [token.newCookie] : [])];
  return answer(layout(title, content(token.text), token.text) as never, {
    status,
    headers: { ...pageHeaders({ hasScript }), ...(set.length > 0 && { 'Set-Cookie': set }) },
    contentType: 'text/html',
  });
}

/** Returns the name and value of a `Set-Cookie` header. */
function pairOf(cookie: string): [string, string] {
  const [pair = ''] = cookie.split(';');
  const at = pair.indexOf('=');
  return [pair.slice(0, at), pair.slice(at + 1)];
}
