import { z } from 'zod';
import { useChallenge } from '../../../db/accounts/used-challenges.ts';
import type { SignIn } from '../../../db/accounts/sessions.ts';
import { type OidcClaims, ProviderUnavailable } from '../../../providers/login/oidc.ts';
import type { OidcProvider } from '../../../providers/login/oidc-file.ts';
import { endpoint } from '../../http/endpoint.ts';
import { queryBoolean } from '../../http/schemas.ts';
import type { Services } from '../../services/services.ts';
import { goTo, LoginRefused, type LoginRefusal } from '../oauth.ts';
import { finishSignIn } from '../sign-in.ts';
import { findAccount, linkAccount } from './account.ts';
import { receiveLogout } from './logout.ts';
import { findProvider, logFailure } from './providers.ts';
import { applyRules } from './rules.ts';
import { attemptSeconds, beginAttempt, forgetAttempt, hashState, readAttempt } from './attempt.ts';

/**
 * Sign-in through an OpenID provider: `outbound` redirects to the provider, which redirects to
 * `callback`.
 */

const params = z.object({ provider: z.string().max(40).describe('The id of the provider') });

const getMethods = endpoint({
  id: 'getSignInMethods',
  method: 'GET',
  path: '/auth/methods',
  summary: 'List the ways to sign in',
  description:
    'For a log-in page. `oidc` has the identity providers: sign in at ' +
    '/oauth/oidc/{provider}/outbound with the `id`.',
  access: 'open',
  wrapped: true,
  response: z.object({
    password: z.boolean(),
    signUp: z.boolean().describe('True if POST /auth/signup makes accounts'),
    passkey: z.boolean(),
    github: z.boolean(),
    google: z.boolean(),
    oidc: z.array(z.object({ id: z.string(), name: z.string() })),
  }),
  example: {
    response: {
      password: true,
      signUp: true,
      passkey: true,
      github: true,
      google: false,
      oidc: [{ id: 'corp', name: 'Corp' }],
    },
  },
  handle: async ({ config }) => signInMethods(config),
});

/** Returns the sign-in methods that the settings allow. */
function signInMethods({ passwordSignIn, signupsEnabled, oauth, oidc }: Services['config']) {
  return {
    password: passwordSignIn,
    signUp: passwordSignIn && signupsEnabled,
    passkey: true,
    github: oauth.github !== null,
    google: oauth.google !== null,
    oidc: oidc.map(({ id, name }) => ({ id, name })),
  };
}

const outbound = endpoint({
  id: 'startOidcLogin',
  method: 'GET',
  path: '/oauth/oidc/{provider}/outbound',
  summary: 'Go to an identity provider to sign in',
  description:
    'For browsers. Sets a cookie for 10 minutes and redirects to the provider. `fresh=true`: ' +
    'the provider asks the user again. If the provider does not answer, redirects to the ' +
    'login page of the dashboard with `error=provider_unavailable`.',
  access: 'open',
  status: 302,
  params,
  query: z.object({
    fresh: queryBoolean.default(false).describe('True: the provider asks the user again'),
  }),
  response: z.unknown(),
  problems: ['OAUTH_NOT_CONFIGURED'],
  async handle(call) {
    const {
      config,
      params: { provider: id },
      query,
    } = call;
    const { oidc } = findProvider(call, id);
    const { attempt, cookie } = await beginAttempt(config, { provider: id, fresh: query.fresh });
    try {
      return goTo(await oidc.authorizeUrl(attempt), cookie);
    } catch (error) {
      logFailure(call, id, error);
      return goTo(`${config.dashboardUrl}/auth/login?error=${refusalOf(error)}`);
    }
  },
});

const callback = endpoint({
  id: 'finishOidcLogin',
  method: 'GET',
  path: '/oauth/oidc/{provider}/callback',
  summary: 'Callback of an identity provider after the sign-in',
  description:
    'For browsers. Redirects to the dashboard with the session cookie set; to its page ' +
    '/auth/second-factor if the account has a second factor; or to its login ' +
    'page with `error`: oauth_failed, email_not_verified, domain_not_allowed, wrong_method ' +
    '(the account of the address signs in another way), not_invited or ' +
    'provider_unavailable. A browser that POST /users/@me/identities has sent is redirected to ' +
    'the page /auth/linked, with `provider`, or with `error`; identity_taken: the user of the ' +
    'provider belongs to another account.',
  access: 'open',
  status: 302,
  params,
  query: z.object({
    code: z.unknown().optional(),
    state: z.unknown().optional(),
    iss: z.unknown().optional().describe('The issuer that answers'),
    error: z.unknown().optional(),
  }),
  response: z.unknown(),
  problems: ['OAUTH_NOT_CONFIGURED'],
  async handle(call) {
    const { db, config, request, query } = call;
    const { id } = findProvider(call, call.params.provider).provider;
    const forgotten = forgetAttempt(config);
    let failurePage = '/auth/login';
    try {
      const { provider, oidc } = findProvider(call, id);
      const attempt = await readAttempt(config, id, request.cookie, query.state);
      const { link } = attempt;
      if (link) failurePage = linkedPage;
      // Runs before the authorization code is used, so that only one of two parallel requests
      // continues.
      const isFirst = await useChallenge(db, hashState(attempt.state), attemptSeconds);
      if (!isFirst) throw new LoginRefused('oauth_failed');
      const claims = await oidc.readReturn(returnAddress(attempt.redirectUri, query), attempt);
      if (link) {
        await linkAccount(call, provider, claims, link);
        return goTo(`${config.dashboardUrl}${linkedPage}?provider=${id}`, forgotten);
      }
      const user = await findAccount(call, provider, claims);
      await applyRules(call, provider, claims, user.id);
      const { kind, cookies } = await finishSignIn(call, user, signInOf(provider, claims));
      const page = kind === 'pending' ? '/auth/second-factor' : '';
      return goTo(`${config.dashboardUrl}${page}`, ...cookies, forgotten);
    } catch (error) {
      const reason = refusalOf(error);
      logFailure(call, id, error);
      call.noteRefusal({ event: 'login.refused', details: { by: 'OIDC', provider: id, reason } });
      return goTo(`${config.dashboardUrl}${failurePage}?error=${reason}`, forgotten);
    }
  },
});

/** The page of the dashboard that shows the result of linking an account. */
const linkedPage = '/auth/linked';

export const oidcEndpoints = [getMethods, outbound, callback, receiveLogout];

/**
 * Returns the sign-in of a user. It has a second factor if the claims show that the provider has
 * checked one.
 */
function signInOf(
  { id, issuer, acrValues, sessionHours }: OidcProvider,
  { sub, sid, acr, amr }: OidcClaims,
): SignIn {
  const hasFactor =
    (typeof acr === 'string' && acrValues.includes(acr)) ||
    (Array.isArray(amr) && amr.includes('mfa'));
  return {
    method: 'oidc',
    provider: id,
    issuer,
    subject: sub,
    providerSid: sid,
    seconds: sessionHours * 3600,
    ...(hasFactor && { secondFactor: 'provider' }),
  };
}

/**
 * Returns the address to which the provider has redirected, with its query. Repeated parameters are
 * left out.
 */
function returnAddress(redirectUri: string, query: Readonly<Record<string, unknown>>): URL {
  const address = new URL(redirectUri);
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string') address.searchParams.set(name, value);
  }
  return address;
}

function refusalOf(error: unknown): LoginRefusal {
  if (error instanceof LoginRefused) return error.code;
  return error instanceof ProviderUnavailable ? 'provider_unavailable' : 'oauth_failed';
}
