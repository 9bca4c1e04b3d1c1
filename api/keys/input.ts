import { z } from 'zod';
import { isItem } from '../../domain/subscription/settings.ts';
import { scopes } from '../../domain/access/scopes.ts';
import { limits } from '../../domain/limits.ts';
import { normaliseDomainName } from '../../domain/sender/domain-name.ts';
import { normaliseNetwork } from '../access/keys.ts';
import { addFault, fault, Moment, Name, textRead } from '../http/schemas.ts';

/** The fields of a named key in requests. */

function listOf<Item extends z.ZodType<string>>(item: Item) {
  return z
    .array(item)
    .min(1)
    .max(limits.apiKeyItems)
    .transform((items) => [...new Set(items)]);
}

const Network = textRead(
  normaliseNetwork,
  'invalid_string',
  'Must be an IPv4 or IPv6 network or address, such as 203.0.113.0/24.',
);

const EventItem = z
  .string()
  .max(limits.eventNameChars)
  .refine(
    isItem,
    fault('invalid_string', 'Must be the name of an event, or a prefix such as `order.*`.'),
  );

const SenderDomain = textRead(
  normaliseDomainName,
  'invalid_string',
  'Must be a domain name, such as shop.example.com.',
);

const yearMs = 365.25 * 86_400_000;

export const KeyEnd = Moment.transform((at, context) => {
  const left = at.getTime() - Date.now();
  if (left <= 0) return addFault(context, 'too_small', 'Must be in the future.');
  if (left <= limits.keyLifeYears * yearMs) return at;
  return addFault(
    context,
    'too_big',
    `Must be at most ${limits.keyLifeYears} years in the future.`,
  );
}).nullable();

export const KeyScopes = listOf(z.enum(['*', '*:read', ...scopes]));

export const keyFields = {
  name: Name,
  domains: listOf(SenderDomain)
    .nullable()
    .describe('The only sender domains it may send from; null: any'),
  cidrs: listOf(Network).nullable().describe('The only networks it works from; null: any'),
  events: listOf(EventItem)
    .nullable()
    .describe('The only events that a public key may track; null: any'),
  expiresAt: KeyEnd.describe('From then on it is refused; null: never'),
};
