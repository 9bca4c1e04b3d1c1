import { Problem } from '../../../domain/errors.ts';
import type { Oidc } from '../../../providers/login/oidc.ts';
import type { OidcProvider } from '../../../providers/login/oidc-file.ts';
import type { Services } from '../../services/services.ts';
import { LoginRefused } from '../oauth.ts';

/**
 * Finds an OpenID provider by its id.
 * @throws Problem OAUTH_NOT_CONFIGURED
 */
export function findProvider(
  { config, oidc }: Pick<Services, 'config' | 'oidc'>,
  id: string,
): { provider: OidcProvider; oidc: Oidc } {
  const provider = config.oidc.find((one) => one.id === id);
  const found = oidc.get(id);
  if (!provider || !found) throw new Problem('OAUTH_NOT_CONFIGURED');
  return { provider, oidc: found };
}

/** Returns the error for a provider that does not respond. */
export function providerUnavailable(id: string): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: `The identity provider ${id} does not answer.`,
    suggestion:
      'Repeat the request in a minute. If it fails again, ask the operator of the identity provider.',
  });
}

/** Logs only the kind of an error, because its cause may quote tokens and claims. */
export function logFailure({ log }: Pick<Services, 'log'>, provider: string, error: unknown): void {
  if (error instanceof LoginRefused) return;
  const { name, message, code } = error as Error & { code?: unknown };
  log.warn(
    { provider, reason: `${name}: ${message}`, code },
    'a sign-in or logout by a provider failed',
  );
}
