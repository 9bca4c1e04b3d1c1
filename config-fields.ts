import { z } from 'zod';

/** The kinds of values that settings have: each reads the text of an environment variable. */

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
export const number = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return fallback;
      const parsed = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (parsed >= min && parsed <= max) return parsed;
      const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `from ${min} on`;
      context.addIssue({ code: 'custom', message: `must be a whole number ${range}` });
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
  .pipe(z.hostname('must be the name of a host'))
  .optional();
/** Values of the kind `part`, separated by commas. */
export const listOf = (part: z.ZodType<string, string>) =>
  z
    .string()
    .transform((value) => value.split(',').flatMap((item) => item.trim() || []))
    .pipe(z.array(part))
    .optional();
/** 1 to 20 whole numbers from 1 on, separated by commas. */
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

/** The settings are invalid. `problems` has one line per variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
