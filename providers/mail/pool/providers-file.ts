import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../../../config-fields.ts';
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

/** The file with the mail providers and the routes of the installation: MAIL_PROVIDERS_FILE. */

/** A mail provider of the installation, with its secrets. */
export interface InstallationProvider {
  id: string;
  name: string;
  fields: ProviderFields;
  /** Its password or secret key; null: none. */
  secret: string | null;
  feedback: string;
  /** The token in the address of its webhooks; null: it has none. */
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
      'must not be "default": this is the id of the provider that other variables name',
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

/** The path in the file, with what is wrong there. */
type Fault = readonly [path: string, text: string];

export interface ProvidersFile {
  providers: readonly InstallationProvider[];
  routes: File['routes'];
}

/**
 * Reads the file of mail providers. null: there is none.
 * @param environment has the values that the file names by `{"env": "NAME"}`
 * @throws ConfigError with one line for each fault
 */
export function readProvidersFile(
  path: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ProvidersFile {
  if (path === undefined) return { providers: [], routes: [] };
  const faults: Fault[] = [];
  const written = parseFile(path);
  const filled = fillIn(written, environment, '', faults);
  if (faults.length > 0) throw fileError(faults);
  const parsed = File.safeParse(filled);
  for (const { path: place, message } of parsed.error?.issues ?? []) {
    faults.push([place.join('.'), message]);
  }
  if (!parsed.success) throw fileError(faults);
  const { providers, routes } = parsed.data;
  faults.push(...ruleFaults(providers), ...routeFaults(parsed.data));
  if (faults.length > 0) throw fileError(faults);
  return { providers: providers.map(installationProvider), routes };
}

/** Returns the error of a file, with one line for each fault. */
function fileError(faults: readonly Fault[]): ConfigError {
  return new ConfigError(
    faults.map(
      ([path, text]) => `MAIL_PROVIDERS_FILE ${path === '' ? '' : `${path} `}${lowered(text)}`,
    ),
  );
}

const lowered = (text: string) => text.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());

function parseFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw fileError([['', `cannot be read: ${(error as Error).message}`]]);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The message of the error quotes the text, which may have a password.
    throw fileError([['', `is not JSON: ${path}`]]);
  }
}

/** Replaces each `{"env": "NAME"}` by the value of this variable. */
function fillIn(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  path: string,
  faults: Fault[],
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const below = (key: string) => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(value)) {
    return value.map((item, index) => fillIn(item, environment, below(String(index)), faults));
  }
  const entries = Object.entries(value);
  const [[key, name] = []] = entries;
  if (entries.length === 1 && key === 'env' && typeof name === 'string') {
    const found = environment[name];
    if (!found) faults.push([path, `needs the environment variable ${name}, which is not set`]);
    return found;
  }
  return Object.fromEntries(
    entries.map(([field, item]) => [field, fillIn(item, environment, below(field), faults)]),
  );
}

function ruleFaults(providers: readonly Provider[]): Fault[] {
  return providers.flatMap((provider, index) => {
    const { id, name, kind, feedback = feedbackOfKind(kind), feedbackToken } = provider;
    const before = providers.slice(0, index);
    const found: Fault[] = providerFaults(provider).map(({ field, message }: FieldProblem) => [
      field,
      message,
    ]);
    if (before.some((other) => other.id === id)) found.push(['id', `is used twice: ${id}`]);
    if (before.some((other) => other.name.toLowerCase() === name.toLowerCase())) {
      found.push(['name', `is used twice: ${name}`]);
    }
    if (hasWebhook(feedback) && feedbackToken === undefined) {
      found.push(['feedbackToken', `is required for ${feedback}`]);
    }
    return found.map(([field, text]): Fault => [`providers.${index}.${field}`, text]);
  });
}

/** Routes of the installation can only name its own providers. */
function routeFaults({ providers, routes }: File): Fault[] {
  const known = new Set([defaultProviderId, ...providers.map(({ id }) => id)]);
  return routes.flatMap((route, index) =>
    route.providers.flatMap(({ id }, place): Fault[] =>
      known.has(id)
        ? []
        : [[`routes.${index}.providers.${place}.id`, `names no provider of this file: ${id}`]],
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
