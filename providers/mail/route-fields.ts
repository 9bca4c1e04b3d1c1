import { z } from 'zod';
import { fault, faultWithGiven } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { limits } from '../../domain/limits.ts';
import { normaliseDomainName } from '../../domain/sender/domain-name.ts';
import { onDownChoices } from '../../domain/routing/routing.ts';
import { withGiven } from '../../domain/text-rules.ts';

/** The schema of routes, in a request and in the installation's file. */

/**
 * Returns the schema of a text that is converted to its stored form.
 * @param read returns the stored form of a text, or null to refuse it
 */
function textRead(read: (text: string) => string | null, message: string) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', ...fault('invalid_string', withGiven(message, text)) });
    return z.NEVER;
  });
}

const DomainName = textRead(
  normaliseDomainName,
  'Must be a domain name with a dot, such as news.shop.example.',
);

/** Reads a domain name, or `*.` and a name, which may be a top-level domain. */
function readReceiver(text: string): string | null {
  if (!text.startsWith('*.')) return normaliseDomainName(text);
  const name = normaliseDomainName(`x${text.slice(1)}`);
  return name === null ? null : `*${name.slice(1)}`;
}

const Receiver = textRead(
  readReceiver,
  'Must be a domain name such as gmail.com, or *.edu for all names below edu.',
);

const TopicId = z
  .string()
  .refine(isUuid, faultWithGiven('invalid_string', 'Must be a uuid.'))
  .transform((id) => id.toLowerCase());

const Target = z.object({
  id: z
    .string()
    .transform((id) => (isUuid(id) ? id.toLowerCase() : id))
    .describe('A provider of the project or of the installation'),
  weight: z
    .int()
    .min(0)
    .max(limits.routeWeight)
    .default(1)
    .describe('Share of the mail; 0: only when the providers before it cannot take it'),
});

const list = <T extends z.ZodType>(items: T) => z.array(items).min(1).max(limits.routeItems);

const Match = z.object({
  messageClass: z
    .array(z.enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS']))
    .min(1)
    .max(3)
    .optional(),
  domains: list(DomainName).optional().describe('Domains of the sender'),
  topicIds: list(TopicId)
    .optional()
    .describe('Topics of the mail; a topic that has been deleted matches nothing'),
  receivers: list(Receiver)
    .optional()
    .describe('Domains of the recipient; *.edu: each name below edu'),
});

const noRepeats = (targets: readonly { id: string }[]) =>
  new Set(targets.map(({ id }) => id)).size === targets.length;

const Route = z.object({
  match: Match.describe('All given parts must match; {}: all mail'),
  providers: z
    .array(Target)
    .min(1)
    .max(limits.routeProviders)
    .refine(noRepeats, fault('custom', 'Must not name a provider twice.')),
  onDown: z
    .enum(onDownChoices)
    .default('hold')
    .describe('While the chosen provider is down: hold waits for it, next goes on in the list'),
});

export const RouteList = z
  .array(Route)
  .max(limits.routes)
  .describe('The first one that matches decides');
