import { type Answer, answer, type Visitor } from '../http/endpoint.ts';
import { FormToken } from './form-token.ts';
import { html } from '../html/html.ts';
import { pageHeaders, plainLayout } from './layout.ts';

/** Asks for address and password. `next`: the page to open after the login. */
export function logInPage(
  visitor: Pick<Visitor, 'config' | 'cookie'>,
  { status, next, fault = null }: { status: number; next: string; fault?: string | null },
): Answer<string> {
  const token = new FormToken(visitor);
  const headers = pageHeaders();
  if (token.newCookie) headers['Set-Cookie'] = token.newCookie;
  const content = html`<h1>Log in to Everpost</h1>
    ${fault && html`<section class="fault" role="alert">${fault}</section>`}
    <form method="post" action="/console/log-in">
      <input type="hidden" name="token" value="${token.text}" />
      <input type="hidden" name="next" value="${next}" />
      <p>
        <label
          >Address <input name="email" type="email" autocomplete="username" required autofocus
        /></label>
        <label
          >Password <input name="password" type="password" autocomplete="current-password" required
        /></label>
        <button class="first">Log in</button>
      </p>
    </form>`;
  return answer(plainLayout('Log in', content), { status, headers, contentType: 'text/html' });
}
