import type { SignInMethods } from './methods.ts';

/** Links to the other sites through which users sign in. */
export function OtherWays({
  methods: { github, google, oidc },
  onLeave,
  isFresh = false,
}: {
  methods: Pick<SignInMethods, 'github' | 'google' | 'oidc'>;
  onLeave: () => void;
  /** True: OpenID providers ask the user again. GitHub and Google cannot be asked to do so. */
  isFresh?: boolean;
}) {
  const sites = [
    ...(github ? [{ name: 'GitHub', way: 'github/outbound' }] : []),
    ...(google ? [{ name: 'Google', way: 'google/outbound' }] : []),
    ...oidc.map(({ id, name }) => ({
      name,
      way: `oidc/${id}/outbound${isFresh ? '?fresh=true' : ''}`,
    })),
  ];
  return sites.map(({ name, way }) => (
    <a key={way} className="button" href={`/oauth/${way}`} onClick={onLeave}>
      Continue with {name}
    </a>
  ));
}
