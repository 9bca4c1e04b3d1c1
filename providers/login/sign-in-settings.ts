import { ConfigError } from '../../config-fields.ts';
import { readOidcFile } from './oidc-file.ts';

/** The variables that determine how users can sign in. */
interface Variables {
  PASSWORD_SIGN_IN: boolean;
  OIDC_PROVIDERS_FILE?: string | undefined;
  GITHUB_OAUTH_CLIENT?: string | undefined;
  GITHUB_OAUTH_SECRET?: string | undefined;
  GOOGLE_OAUTH_CLIENT?: string | undefined;
  GOOGLE_OAUTH_SECRET?: string | undefined;
}

/**
 * Returns the ways in which users can sign in.
 * @param environment has the values to which the file of OpenID providers refers
 * @throws ConfigError if users could not sign in in any way, or the file has faults
 */
export function signInSettings(
  env: Variables,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const oauth = {
    github: clientOf(env.GITHUB_OAUTH_CLIENT, env.GITHUB_OAUTH_SECRET),
    google: clientOf(env.GOOGLE_OAUTH_CLIENT, env.GOOGLE_OAUTH_SECRET),
  };
  const oidc = readOidcFile(env.OIDC_PROVIDERS_FILE, environment);
  if (!env.PASSWORD_SIGN_IN && !oauth.github && !oauth.google && oidc.length === 0) {
    throw new ConfigError([
      'PASSWORD_SIGN_IN can only be false with another way to sign in: set OIDC_PROVIDERS_FILE, or the client of GitHub or Google',
    ]);
  }
  return {
    oauth,
    /** OpenID providers with which users can sign in. */
    oidc,
    /** True if passwords can be used and set. */
    passwordSignIn: env.PASSWORD_SIGN_IN,
  };
}

/**
 * Returns Everpost's registration as an application at a login provider; null: the id or the secret
 * is missing.
 */
function clientOf(id: string | undefined, secret: string | undefined) {
  return id && secret ? { id, secret } : null;
}
