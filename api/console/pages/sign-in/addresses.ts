import { knownUser } from '../../../accounts/factors/second-factor.ts';
import { listProofs } from '../../../accounts/sign-in.ts';
import { answer, type Answer, type Visitor } from '../../../http/endpoint.ts';
import { html } from '../../../html/html.ts';
import { openPage, visitorOf } from '../../open-page.ts';
import { seeOther } from '../../page.ts';
import { plainPage } from '../../plain-page.ts';
import { logInPage } from '../../log-in-page.ts';
import { consolePath, readNext } from '../../next-page.ts';
import { script, scriptPath } from '../../passkey-form.ts';
import { refusalText } from '../../refusals.ts';
import { secondFactorPage } from '../../second-factor-page.ts';

/** Pages below DASHBOARD_URL to which links in mail, and sign-ins through other sites, lead. */

type Reader = Pick<Visitor, 'config' | 'cookie'>;

const showLogIn = openPage({
  id: 'showLogIn',
  path: '/console/auth/login',
  summary: 'Log in, or see why a sign-in failed',
  async show(call) {
    const { query } = call;
    const visitor = visitorOf(call);
    const next = query['next'] === undefined ? readNext(visitor) : consolePath(query['next']);
    return logInPage(visitor, { status: 200, next, fault: refusalText(query['error']) });
  },
});

const showSecondFactor = openPage({
  id: 'showSecondFactor',
  path: '/console/auth/second-factor',
  summary: 'Prove a second factor',
  async show(call) {
    const visitor = visitorOf(call);
    const userId = await knownUser(call);
    const methods = userId === null ? [] : await listProofs(call.db, userId);
    if (methods.length === 0) return seeOther('/console');
    return secondFactorPage(visitor, { status: 200, next: readNext(visitor), methods });
  },
});

const showLinked = openPage({
  id: 'showLinked',
  path: '/console/auth/linked',
  summary: 'See if a provider was linked to the account',
  async show(call) {
    const { config, query } = call;
    const fault = refusalText(query['error']);
    const name = config.oidc.find(({ id }) => id === query['provider'])?.name ?? 'The provider';
    const title = fault ? 'Not linked' : 'Linked';
    return plainPage(visitorOf(call), {
      title,
      content: () =>
        html`<h1>${title}</h1>
          ${
            fault
              ? html`<section class="fault" role="alert">${fault}</section>`
              : html`<p>${name} is linked to your account. You can sign in by it.</p>`
          }
          <p><a href="/console/account">Your account</a></p>`,
    });
  },
});

const showBreakGlass = openPage({
  id: 'showBreakGlass',
  path: '/console/auth/break-glass',
  summary: 'Log in by a link of the operator',
  show: async (call) =>
    breakGlassPage(visitorOf(call), { status: 200, link: call.query['token'] ?? null }),
});

/**
 * Asks before a sign-in link is used, because programs that scan mail also open links.
 * @param link the token of the link; null: the link is no longer valid
 */
export function breakGlassPage(
  visitor: Reader,
  { status, link }: { status: number; link: string | null },
): Answer<never> {
  const title = link === null ? 'This link is no longer valid' : 'Log in by a link';
  return plainPage(visitor, {
    title,
    status,
    content: (token) =>
      html`<h1>${title}</h1>
        ${
          link === null
            ? html`<p>
                It works once, for 15 minutes. Ask the operator of the server for a new one.
              </p>`
            : html`<p>The operator of the server has made this link. It works once.</p>
                <form method="post" action="/console/break-glass">
                  <input type="hidden" name="token" value="${token}" />
                  <input type="hidden" name="link" value="${link}" />
                  <button class="first">Log in</button>
                </form>`
        }
        <p><a href="/console/auth/login">Log in in another way</a></p>`,
  });
}

const getPasskeyScript = openPage({
  id: 'getPasskeyScript',
  path: scriptPath,
  summary: 'The script of pages with passkeys',
  show: async () =>
    answer(script, {
      headers: { 'Cache-Control': 'no-cache' },
      contentType: 'text/javascript',
    }),
});

export const signInPages = [
  showLogIn,
  showSecondFactor,
  showLinked,
  showBreakGlass,
  getPasskeyScript,
];
