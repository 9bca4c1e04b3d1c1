import { z } from 'zod';
import { type FileFault, readSettingsFile } from '../../config-fields.ts';

/** Reads OIDC_PROVIDERS_FILE, the file with the OpenID providers of the installation. */

const Domain = z
  .string()
  .transform((value) => value.toLowerCase())
  .pipe(z.hostname('must be a domain name, such as example.com'));

const Provider = z.strictObject({
  id: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,39}$/,
      'must have 1 to 40 characters a-z, 0-9 and -, and begin with a letter',
    ),
  name: z.string().trim().min(1).max(100),
  issuer: z.string().refine(isIssuer, 'must be a URL with https; http only on loopback'),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1).optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
    .default(['openid', 'email', 'profile']),
  domains: z.array(Domain).max(100).default([]),
  required: z.boolean().default(false),
  accounts: z.enum(['auto', 'invited', 'existing']).default('auto'),
  adopt: z.boolean().default(false),
  trustEmail: z.boolean().default(false),
  projects: z.union([z.literal('*'), z.array(z.uuid())]).default([]),
  acrValues: z.array(z.string().min(1)).max(20).default([]),
  sessionHours: z.int().min(1).max(168).default(168),
});

/** An OpenID provider with which users can sign in. */
export type OidcProvider = z.output<typeof Provider>;

/** Returns true if the owner of this project may let users of the provider join. */
export function admitsTo({ projects }: Pick<OidcProvider, 'projects'>, publicId: string): boolean {
  return projects === '*' || projects.includes(publicId);
}

const File = z.strictObject({ providers: z.array(Provider).max(20) });

/**
 * Reads and checks the file. No provider is contacted.
 * @throws ConfigError with one line for each fault
 */
export function readOidcFile(
  path: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): OidcProvider[] {
  if (path === undefined) return [];
  const file = { variable: 'OIDC_PROVIDERS_FILE', path, schema: File };
  const { providers } = readSettingsFile(file, environment, ruleFaults);
  return providers.map((given) => ({
    ...given,
    scopes: [...new Set(['openid', ...given.scopes])],
  }));
}

function ruleFaults({ providers }: z.output<typeof File>): FileFault[] {
  return providers.flatMap((provider, index) => {
    const before = providers.slice(0, index);
    const found: FileFault[] = [];
    for (const field of ['id', 'issuer'] as const) {
      const value = provider[field];
      if (before.some((other) => other[field] === value)) {
        found.push([field, `is used twice: ${value}`]);
      }
    }
    for (const field of ['required', 'adopt', 'trustEmail'] as const) {
      if (provider[field] && provider.domains.length === 0)
        found.push([field, 'needs at least one domain in domains']);
    }
    for (const domain of provider.required ? provider.domains : []) {
      const other = before.find(({ required, domains }) => required && domains.includes(domain));
      if (other)
        found.push([
          'domains',
          `has ${domain}, but the provider ${other.id} also has it with required: true`,
        ]);
    }
    return found.map(([field, text]): FileFault => [`providers.${index}.${field}`, text]);
  });
}

function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, search, hash } = new URL(value);
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  return (
    (protocol === 'https:' || (protocol === 'http:' && isLoopback)) && search === '' && hash === ''
  );
}
