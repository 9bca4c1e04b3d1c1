import { z } from 'zod';
import { type FileFault, readSettingsFile } from '../../../config-fields.ts';
import type { FieldProblem } from '../../../domain/errors.ts';
import {
  defaultProviderId,
  hasWebhook,
  installationId,
  type ProviderFields,
  providerKinds,
} from '../../../domain/provider/provider.ts';
import { feedbackOfKind, mergedFields, providerFaults } from '../../../domain/provider/rules.ts';
import { providerFields } from './provider-fields.ts';
import { RouteList } from '../route-fields.ts';

/** Reads MAIL_PROVIDERS_FILE, the file with the mail providers and routes of the installation. */

/** A mail provider of the installation, with its secrets. */
export interface InstallationProvider {
  id: string;
  name: string;
  fields: ProviderFields;
  /** The password or secret key; null: the provider needs none. */
  secret: string | null;
  feedback: string;
  /** The token in the URL of the provider's webhooks; null: the provider has no webhooks. */
  feedbackToken: string | null;
  feedbackSecret: string | null;
  enabled: boolean;
  domains: readonly string[] | null;
  ratePerSecond: number | null;
  maxMessageMb: number | null;
  ownSigning: boolean;
}

const Provider = z.strictObject({
  id: z
    .string()
    .regex(installationId, 'must have 1 to 40 characters a-z, 0-9 and -, and begin with a letter')
    .refine(
      (id) => id !== defaultProviderId,
      'must not be "default": this is the id of the provider that environment variables set up',
    ),
  name: z.string().trim().min(1).max(100),
  kind: z.enum(providerKinds),
  ...providerFields,
  feedbackToken: z
    .string()
    .regex(/^[\w-]{32,200}$/, 'must have at least 32 characters A-Z, a-z, 0-9, _ and -')
    .optional(),
});
type Provider = z.output<typeof Provider>;

const File = z.strictObject({
  providers: z.array(Provider),
  routes: RouteList.default([]),
});
type File = z.output<typeof File>;

export interface ProvidersFile {
  providers: readonly InstallationProvider[];
  routes: File['routes'];
}

/**
 * Reads and checks the file. Without a file, returns no providers and no routes.
 * @param environment has the values to which the file refers by `{"env": "NAME"}`
 * @throws ConfigError with one line for each fault
 */
export function readProvidersFile(
  path: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ProvidersFile {
  if (path === undefined) return { providers: [], routes: [] };
  const file = { variable: 'MAIL_PROVIDERS_FILE', path, schema: File };
  const { providers, routes } = readSettingsFile(file, environment, (content) => [
    ...ruleFaults(content.providers),
    ...routeFaults(content),
  ]);
  return { providers: providers.map(installationProvider), routes };
}

function ruleFaults(providers: readonly Provider[]): FileFault[] {
  return providers.flatMap((provider, index) => {
    const { id, name, kind, feedback = feedbackOfKind(kind), feedbackToken } = provider;
    const before = providers.slice(0, index);
    const found: FileFault[] = providerFaults(provider).map(({ field, message }: FieldProblem) => [
      field,
      message,
    ]);
    if (before.some((other) => other.id === id)) found.push(['id', `is used twice: ${id}`]);
    if (before.some((other) => other.name.toLowerCase() === name.toLowerCase())) {
      found.push(['name', `is used twice: ${name}`]);
    }
    if (hasWebhook(feedback) && feedbackToken === undefined) {
      found.push(['feedbackToken', `is required when feedback is ${feedback}`]);
    }
    return found.map(([field, text]): FileFault => [`providers.${index}.${field}`, text]);
  });
}

/**
 * Returns the faults of routes. A route of the installation can only name the installation's
 * providers.
 */
function routeFaults({ providers, routes }: File): FileFault[] {
  const known = new Set([defaultProviderId, ...providers.map(({ id }) => id)]);
  return routes.flatMap((route, index) =>
    route.providers.flatMap(({ id }, place): FileFault[] =>
      known.has(id)
        ? []
        : [
            [
              `routes.${index}.providers.${place}.id`,
              `has the provider ${id}, which this file does not define`,
            ],
          ],
    ),
  );
}

function installationProvider(given: Provider): InstallationProvider {
  const { id, name, kind } = given;
  const secret = kind === 'ses' ? given.secretAccessKey : given.password;
  return {
    id,
    name,
    fields: mergedFields(given),
    secret: secret ?? null,
    feedback: given.feedback ?? feedbackOfKind(kind),
    feedbackToken: given.feedbackToken ?? null,
    feedbackSecret: given.feedbackSecret ?? null,
    enabled: given.enabled ?? true,
    domains: given.domains ?? null,
    ratePerSecond: given.ratePerSecond ?? null,
    maxMessageMb: given.maxMessageMb ?? null,
    ownSigning: given.ownSigning ?? true,
  };
}
