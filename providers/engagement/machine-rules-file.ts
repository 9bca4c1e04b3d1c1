import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { readSettingsFile } from '../../config-fields.ts';
import { builtInRules, type MachineRules } from '../../domain/engagement/machine-rules.ts';

/** The file with the rules that recognise machines: MACHINE_RULES_FILE. */

const Agent = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text !== '=', 'must have the name of a user agent after =');

const Cidr = z
  .string()
  .refine(
    (text) => ipaddr.isValidCIDR(text),
    'must be a network, for example 203.0.113.0/24 or 2001:db8::/32',
  );

const Proxy = z
  .strictObject({ agent: Agent.optional(), cidr: Cidr.optional(), prefetches: z.boolean() })
  .refine(({ agent, cidr }) => agent ?? cidr, 'must have agent or cidr')
  .transform(({ agent, cidr, prefetches }) => ({
    prefetches,
    ...(agent !== undefined && { agent }),
    ...(cidr !== undefined && { cidr }),
  }));

const File = z.strictObject({
  agents: z.array(Agent).max(10_000),
  networks: z
    .array(
      z.strictObject({
        cidr: Cidr,
        on: z.array(z.enum(['open', 'click'])).min(1),
      }),
    )
    .max(10_000),
  proxies: z.array(Proxy).max(1_000),
});

/**
 * Reads the rules; without a file, returns the built-in rules.
 * @throws ConfigError with one line for each fault
 */
export function readMachineRules(path: string | undefined): MachineRules {
  if (path === undefined) return builtInRules;
  return readSettingsFile({ variable: 'MACHINE_RULES_FILE', path, schema: File }, {}, () => []);
}
