import type { Session } from '../../api/api.ts';

const methods: Record<Session['method'], string> = {
  password: 'Password',
  github: 'GitHub',
  google: 'Google',
  oidc: 'Identity provider',
  passkey: 'Passkey',
  break_glass: 'Link of the operator',
};

const factors: Record<NonNullable<Session['secondFactor']>, string> = {
  totp: 'authenticator app',
  passkey: 'passkey',
  recovery: 'recovery code',
  provider: 'second factor of the provider',
};

/** Returns the method of a session's sign-in: `Password, authenticator app`. */
export function textOfMethod({ method, provider, secondFactor }: Session): string {
  const first = method === 'oidc' && provider !== null ? provider : methods[method];
  const isAlone = secondFactor === null || method === 'passkey' || method === 'break_glass';
  return isAlone ? first : `${first}, ${factors[secondFactor]}`;
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/**
 * Returns a browser and its system: `Firefox on Linux`. An unknown user agent is returned
 * unchanged.
 */
export function textOfBrowser(userAgent: string | null): string {
  if (userAgent === null) return 'Unknown';
  const nameIn = (list: readonly (readonly [string, string])[]) =>
    list.find(([sign]) => userAgent.includes(sign))?.[1];
  const browser = nameIn(browsers);
  const system = nameIn(systems);
  return browser && system ? `${browser} on ${system}` : userAgent;
}
