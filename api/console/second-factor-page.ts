import type { Answer, Visitor } from '../http/endpoint.ts';
import { html } from '../html/html.ts';
import { plainPage } from './plain-page.ts';
import { codeForm } from './log-in-page.ts';
import { keepNext } from './next-page.ts';
import { passkeyForm } from './passkey-form.ts';

/**
 * Asks for a second factor. `next`: the page to open afterwards.
 * @param methods the factors that the user can prove: `totp`, `passkey`, `recovery`
 */
export function secondFactorPage(
  visitor: Pick<Visitor, 'config' | 'cookie'>,
  given: {
    status: number;
    next: string;
    methods: readonly string[];
    text?: string;
    fault?: string | null;
    cookies?: readonly string[];
  },
): Answer<never> {
  const { status, next, methods, text, fault, cookies = [] } = given;
  const takesCode = methods.includes('totp') || methods.includes('recovery');
  const takesPasskey = methods.includes('passkey');
  return plainPage(visitor, {
    title: 'Second factor',
    status,
    cookies,
    hasScript: takesPasskey,
    content: (token) =>
      html`<h1>Second factor</h1>
        ${text && html`<p>${text}</p>`}
        ${fault && html`<section class="fault" role="alert">${fault}</section>`}
        ${takesCode && codeForm(token, next)}
        ${
          takesPasskey &&
          passkeyForm(token, {
            use: 'get',
            action: '/console/passkey',
            label: 'Use a passkey',
            fields: { next },
          })
        }
        <p>
          <a href="/console/auth/login?${new URLSearchParams({ next }).toString()}"
            >Log in again from the beginning</a
          >
        </p>`,
  });
}

/**
 * Explains that the session needs a second factor, with a link to add or prove one.
 * @param isEnrolled true: the user has a second factor
 */
export function factorNeededPage(
  visitor: Pick<Visitor, 'config' | 'cookie'>,
  { next, isEnrolled }: { next: string; isEnrolled: boolean },
): Answer<never> {
  return plainPage(visitor, {
    title: 'A second factor is needed',
    status: 403,
    cookies: keepNext(visitor, next),
    content: () =>
      html`<h1>A second factor is needed</h1>
        ${
          isEnrolled
            ? html`<p>You have logged in without your second factor.</p>
                <p><a class="button" href="/console/auth/second-factor">Use it now</a></p>`
            : html`<p>Add an authenticator app or a passkey to your account first.</p>
                <p><a class="button" href="/console/account">Your account</a></p>`
        }`,
  });
}
