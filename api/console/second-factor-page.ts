import { type Answer, answer, type Visitor } from '../http/endpoint.ts';
import { html } from '../html/html.ts';
import { FormToken } from './form-token.ts';
import { pageHeaders, plainLayout } from './layout.ts';

/** Asks for the code of a second factor. `next`: the page to open after the login. */
export function secondFactorPage(
  visitor: Pick<Visitor, 'config' | 'cookie'>,
  given: { status: number; next: string; fault?: string | null; cookies?: readonly string[] },
): Answer<string> {
  const { status, next, fault = null, cookies = [] } = given;
  const token = new FormToken(visitor);
  const set = [...cookies, ...(token.newCookie ? [token.newCookie] : [])];
  const headers = { ...pageHeaders(), ...(set.length > 0 && { 'Set-Cookie': set }) };
  const content = html`<h1>Second factor</h1>
    ${fault && html`<section class="fault" role="alert">${fault}</section>`}
    <form method="post" action="/console/second-factor">
      <input type="hidden" name="token" value="${token.text}" />
      <input type="hidden" name="next" value="${next}" />
      <p>
        <label
          >Code of your app, or a recovery code
          <input name="code" autocomplete="one-time-code" required autofocus />
        </label>
        <button class="first">Continue</button>
      </p>
    </form>
    <p><a href="/console">Log in again from the beginning</a></p>`;
  return answer(plainLayout('Second factor', content), {
    status,
    headers,
    contentType: 'text/html',
  });
}
