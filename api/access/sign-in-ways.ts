import type { Config } from '../../config.ts';
import { domainOf, normaliseEmail } from '../../domain/email-address.ts';
import { Problem } from '../../domain/errors.ts';
import type { OidcProvider } from '../../providers/login/oidc-file.ts';

/**
 * Sign-in methods that the settings have turned off, for all users or for addresses of a domain.
 */

type Settings = Pick<Config, 'oidc' | 'passwordSignIn'>;

/**
 * Returns the OpenID provider through which the users of an address must sign in; undefined: they
 * may use other methods.
 */
export function providerKeeping(
  { oidc }: Pick<Settings, 'oidc'>,
  email: string,
): OidcProvider | undefined {
  return oidc.find(({ required, domains }) => required && domains.includes(domainOf(email)));
}

/** Returns the OpenID provider that requires an invitation for a new account with this address. */
export function providerInviting(
  { oidc }: Pick<Settings, 'oidc'>,
  email: string,
): OidcProvider | undefined {
  const keeper = providerKeeping({ oidc }, email);
  const providers = keeper ? [keeper] : oidc;
  return providers.find(
    ({ accounts, domains }) => accounts === 'invited' && domains.includes(domainOf(email)),
  );
}

/**
 * Refuses a sign-in method that is turned off.
 * @param email in its stored form; null: not known yet
 * @throws Problem PASSWORD_SIGN_IN_DISABLED, SSO_REQUIRED
 */
export function refuseSignInWay(
  config: Settings,
  email: string | null,
  way: 'password' | 'passkey',
): void {
  if (way === 'password' && !config.passwordSignIn) throw new Problem('PASSWORD_SIGN_IN_DISABLED');
  const keeper = email === null ? undefined : providerKeeping(config, email);
  if (keeper) throw new Problem('SSO_REQUIRED', { details: { provider: keeper.id } });
}

/**
 * Returns true if an account still has a sign-in method: the method by which the account was
 * created, if it is still turned on, or a linked OpenID provider.
 * @param issuers the OpenID providers with users linked to the account
 */
export function canSignIn(
  config: Settings & Pick<Config, 'oauth'>,
  { email, type }: { email: string; type: string },
  issuers: readonly string[],
): boolean {
  const keeper = providerKeeping(config, email);
  const usable = keeper ? [keeper] : config.oidc;
  if (usable.some(({ issuer }) => issuers.includes(issuer))) return true;
  const isOn = {
    PASSWORD: config.passwordSignIn,
    GITHUB_OAUTH: config.oauth.github !== null,
    GOOGLE_OAUTH: config.oauth.google !== null,
  }[type];
  return keeper === undefined && isOn === true;
}

/** Returns why endpoints that take passwords are unavailable; null: they are available. */
export function passwordsOff({ passwordSignIn }: Settings) {
  return passwordSignIn ? null : ('PASSWORD_SIGN_IN_DISABLED' as const);
}

/**
 * Refuses a password login that the settings have turned off for the address. Endpoints that take
 * an address and a password use it as their `refuseFirst`.
 */
export function refusePasswordOf({
  config,
  body: { email },
}: {
  config: Settings;
  body: Readonly<Record<string, unknown>>;
}): void {
  refuseSignInWay(config, typeof email === 'string' ? normaliseEmail(email) : null, 'password');
}

/** The errors of endpoints that take passwords. */
export const passwordProblems = ['PASSWORD_SIGN_IN_DISABLED', 'SSO_REQUIRED'] as const;
