import type { Answer, Visitor } from '../http/endpoint.ts';
import { type Html, html } from '../html/html.ts';
import { signInMethods } from '../accounts/oidc/endpoints.ts';
import { plainPage } from './plain-page.ts';
import { keepNext } from './next-page.ts';
import { passkeyForm } from './passkey-form.ts';

type Reader = Pick<Visitor, 'config' | 'cookie'>;

/** Shows all ways to log in. `next`: the page to open after the login. */
export function logInPage(
  visitor: Reader,
  given: { status: number; next: string; fault?: string | null },
): Answer<never> {
  const { password, signUp } = signInMethods(visitor.config);
  const links = html`<p class="acts">
    ${signUp && html`<a href="/console/auth/signup">Sign up</a>`}
    ${password && html`<a href="/console/auth/forgot-password">Forgot password?</a>`}
  </p>`;
  const ways = waysOf(visitor.config);
  return waysPage(visitor, { ...given, title: 'Log in', ways, links });
}

/**
 * Asks the user to sign in again, because the last sign-in is too old.
 * @param proofs the factors that the user can prove; empty: not known
 */
export function proveAgainPage(
  visitor: Reader,
  { next, proofs }: { next: string; proofs: readonly string[] },
): Answer<never> {
  const ways = waysOf(visitor.config);
  const isKnown = (proof: string) => proofs.length === 0 || proofs.includes(proof);
  return waysPage(visitor, {
    title: 'Confirm that it is you',
    text: 'This change needs a recent login. Log in again, then repeat the change.',
    status: 403,
    next,
    links: html`<p>
      <a href="/console/auth/login?${new URLSearchParams({ next }).toString()}"
        >Log in in another way</a
      >
    </p>`,
    ways: {
      password: ways.password && isKnown('password'),
      code: proofs.includes('totp'),
      passkey: isKnown('passkey'),
      sites: ways.sites.filter(({ proof }) => isKnown(proof)).map(askingAgain),
    },
  });
}

interface Ways {
  password: boolean;
  /** True if the user can prove a code of an authenticator app. */
  code: boolean;
  passkey: boolean;
  sites: Site[];
}

/** Another site through which users sign in. */
interface Site {
  /** Its name in `details.methods` of REAUTHENTICATION_REQUIRED. */
  proof: string;
  name: string;
  url: string;
}

/**
 * Makes an OpenID provider ask for the password again. GitHub and Google cannot be asked to do so.
 */
function askingAgain(site: Site): Site {
  return site.proof.startsWith('oidc:') ? { ...site, url: `${site.url}?fresh=true` } : site;
}

function waysOf(config: Visitor['config']): Ways {
  const { password, passkey, github, google, oidc } = signInMethods(config);
  const url = (path: string) => `${config.apiUrl}/oauth/${path}/outbound`;
  return {
    password,
    code: false,
    passkey,
    sites: [
      ...(github ? [{ proof: 'github', name: 'GitHub', url: url('github') }] : []),
      ...(google ? [{ proof: 'google', name: 'Google', url: url('google') }] : []),
      ...oidc.map(({ id, name }) => ({
        proof: `oidc:${id}`,
        name,
        url: url(`oidc/${id}`),
      })),
    ],
  };
}

function waysPage(
  visitor: Reader,
  given: {
    title: string;
    status: number;
    next: string;
    ways: Ways;
    text?: string;
    fault?: string | null;
    links?: Html;
  },
): Answer<never> {
  const { title, status, next, ways, text, fault, links } = given;
  return plainPage(visitor, {
    title,
    status,
    hasScript: ways.passkey,
    cookies: ways.sites.length > 0 ? keepNext(visitor, next) : [],
    content: (token) =>
      html`<h1>${title}</h1>
        ${text && html`<p>${text}</p>`}
        ${fault && html`<section class="fault" role="alert">${fault}</section>`}
        ${ways.password && passwordForm(token, next)} ${ways.code && codeForm(token, next)}
        ${
          ways.passkey &&
          passkeyForm(token, {
            use: 'get',
            action: '/console/passkey',
            label: 'Sign in with a passkey',
            fields: { next },
          })
        }
        ${ways.sites.map(
          ({ name, url }) => html`<p><a class="button" href="${url}">Continue with ${name}</a></p>`,
        )}
        ${links}`,
  });
}

function passwordForm(token: string, next: string): Html {
  return html`<form method="post" action="/console/log-in">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="next" value="${next}" />
    <p>
      <label
        >Email <input name="email" type="email" autocomplete="username" required autofocus
      /></label>
      <label
        >Password <input name="password" type="password" autocomplete="current-password" required
      /></label>
      <button class="first">Log in</button>
    </p>
  </form>`;
}

/** Renders the form for the code of a second factor. */
export function codeForm(token: string, next: string): Html {
  return html`<form method="post" action="/console/second-factor">
    <input type="hidden" name="token" value="${token}" />
    <input type="hidden" name="next" value="${next}" />
    <p>
      <label
        >Code of your app, or a recovery code
        <input name="code" autocomplete="one-time-code" required autofocus />
      </label>
      <button class="first">Continue</button>
    </p>
  </form>`;
}
