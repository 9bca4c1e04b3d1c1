import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The types of settings, each of which parses the text of an environment variable. */

export const text = z.string().optional();
export const url = z.url({
  protocol: /^https?$/,
  error: 'must be a URL that begins with http:// or https://',
});
export const flag = (fallback: boolean) => optionalFlag.transform((given) => given ?? fallback);
export const optionalFlag = z
  .string()
  .optional()
  .transform((value, context) => {
    if (value === undefined) return undefined;
    const word = value.toLowerCase();
    if (word === 'true' || word === '1') return true;
    if (word === 'false' || word === '0') return false;
    context.addIssue({ code: 'custom', message: 'must be true or false' });
    return z.NEVER;
  });
export const number = <Fallback extends number | undefined>(
  fallback: Fallback,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
) =>
  z
    .string()
    .optional()
    .transform((value, context): number | Fallback => {
      if (value === undefined) return fallback;
      const parsed = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (parsed >= min && parsed <= max) return parsed;
      const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `from ${min} on`;
      context.addIssue({ code: 'custom', message: `must be a whole number ${range}` });
      return z.NEVER;
    });
/** A number above 0, with or without a fraction. */
export const positiveNumber = (fallback: number) =>
  z
    .string()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return fallback;
      const parsed = /^\d+(\.\d+)?$/.test(value) ? Number(value) : 0;
      if (parsed > 0) return parsed;
      context.addIssue({ code: 'custom', message: 'must be a number above 0' });
      return z.NEVER;
    });
export const optionalNumber = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)
  .optional();

/** The name of a host, in lower case. */
export const hostName = z
  .string()
  .transform((value) => value.toLowerCase())
  .pipe(z.hostname('must be a host name, such as mail.example.com'))
  .optional();
/** A list of values with the schema `part`, separated by commas. */
export const listOf = (part: z.ZodType<string, string>) =>
  z
    .string()
    .transform((value) => value.split(',').flatMap((item) => item.trim() || []))
    .pipe(z.array(part))
    .optional();
/** 1 to 20 positive whole numbers, separated by commas. */
export const seconds = (fallback: number[]) =>
  z
    .string()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return fallback;
      const parts = value.split(',').map((part) => part.trim());
      const numbers = parts.map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : 0));
      if (numbers.length <= 20 && numbers.every((one) => one > 0)) return numbers;
      context.addIssue({
        code: 'custom',
        message: 'must be 1 to 20 whole numbers from 1 on, separated by commas',
      });
      return z.NEVER;
    });
export const secret = z
  .string('is required: at least 32 characters')
  .min(32, 'must have at least 32 characters');
export const encryptionKey = z
  .string()
  .refine((value) => Buffer.from(value, 'base64').length === 32, 'must be 32 bytes as base64');

/** `ip[:port]`. An IPv6 address with a port needs brackets: `[::1]:53`. */
const nameServer = z.union([
  z.ipv4(),
  z.ipv6(),
  z.string().regex(/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]):\d{1,5}$/i),
]);
export const nameServers = z
  .string()
  .transform((value) => value.split(',').map((part) => part.trim()))
  .refine(
    (servers) => servers.every((server) => nameServer.safeParse(server).success),
    'must be IP addresses separated by commas, for example 10.0.0.2 or [::1]:53',
  );

/** Returns one line for each invalid variable. */
export function problemsOf({ issues }: Pick<z.ZodError, 'issues'>): string[] {
  return issues.map(({ path, message }) => `${path.join('.')} ${message.replace(/^M/, 'm')}`);
}

/** Thrown when the settings are invalid. `problems` has one line for each variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Settings files, in JSON: a variable contains the path. */

/** The path inside the file, and what is wrong there. */
export type FileFault = readonly [path: string, text: string];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads a settings file and checks its content.
 * @param variable the environment variable with the path of the file
 * @param environment contains the values that the file refers to by `{"env": "NAME"}`
 * @param faultsOf returns errors that the schema cannot find
 * @throws ConfigError with one line for each error
 */
export function readSettingsFile<Schema extends z.ZodType>(
  { variable, path, schema }: { variable: string; path: string; schema: Schema },
  environment: Environment,
  faultsOf: (content: z.output<Schema>) => readonly FileFault[],
): z.output<Schema> {
  const faults: FileFault[] = [];
  const filled = fillIn(parseFile(variable, path), environment, '', faults);
  if (faults.length > 0) throw fileError(variable, faults);
  const parsed = schema.safeParse(filled);
  for (const { path: place, message } of parsed.error?.issues ?? []) {
    faults.push([place.join('.'), message]);
  }
  if (!parsed.success) throw fileError(variable, faults);
  faults.push(...faultsOf(parsed.data));
  if (faults.length > 0) throw fileError(variable, faults);
  return parsed.data;
}

/** Returns the error for a file, with one line for each fault. */
function fileError(variable: string, faults: readonly FileFault[]): ConfigError {
  return new ConfigError(
    faults.map(([path, text]) => `${variable} ${path === '' ? '' : `${path} `}${lowered(text)}`),
  );
}

const lowered = (text: string) => text.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());

function parseFile(variable: string, path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw fileError(variable, [
      ['', `names a file that cannot be read: ${(error as Error).message}`],
    ]);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The original message is dropped, because it quotes the text, which may contain a password.
    throw fileError(variable, [['', `names a file that is not valid JSON: ${path}`]]);
  }
}

/** Replaces each `{"env": "NAME"}` by the value of this variable. */
function fillIn(
  value: unknown,
  environment: Environment,
  path: string,
  faults: FileFault[],
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
