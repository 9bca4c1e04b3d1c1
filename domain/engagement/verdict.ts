/** Distinguishes opens and clicks by machines from those by people. */

/**
 * `head`: a HEAD request to the pixel or to a link. It counts as no open or click, but proves that
 * the client is a machine.
 */
export type EngagementKind = 'open' | 'click' | 'head';

export const verdicts = ['human', 'machine', 'unknown'] as const;
export type Verdict = (typeof verdicts)[number];

export const verdictRules = [
  'head_request',
  'known_agent',
  'known_network',
  'prefetch_proxy',
  'too_fast',
  'all_links',
  'image_proxy',
  'no_agent',
] as const;
export type VerdictRule = (typeof verdictRules)[number];

/**
 * A fact about the client of a request, stored instead of its address and user agent. `prefetcher`:
 * a proxy that loads images before the mail is read. `proxy`: another proxy of a mailbox provider.
 */
export type ClientSign = 'known_agent' | 'known_network' | 'prefetcher' | 'proxy' | 'no_agent';

/** A request to the pixel or a link of one message. */
export interface Engagement {
  kind: EngagementKind;
  at: Date;
  /** Keyed hash of the address and user agent; null: they are unknown, or the hash was removed. */
  client: string | null;
  signs: readonly ClientSign[];
  linkId: string | null;
  /** Number of different tracked links in the message; 0: unknown. */
  linkCount: number;
}

/**
 * The verdict on an open or click. `rule` is null if no rule applied, so the client is a person.
 */
export interface Judgement {
  verdict: Verdict;
  rule: VerdictRule | null;
}

/**
 * A HEAD request makes its client count as a machine for this number of seconds before and after.
 */
export const headSeconds = 60;
/** A client that requests all links of a message within this number of seconds is a machine. */
export const allLinksSeconds = 5;
/** A click within this number of seconds after the delivery is a machine's. */
const fastSeconds = 2;
/**
 * If a mailbox provider's proxy loads images within this number of seconds after the delivery, no
 * person has opened the mail.
 */
const prefetchSeconds = 10;

/** The rules in order: the first one that applies gives the verdict. */
const rules: readonly [VerdictRule, Verdict, (one: Engagement, facts: MailFacts) => boolean][] = [
  ['head_request', 'machine', isAlsoHead],
  ['known_agent', 'machine', ({ signs }) => signs.includes('known_agent')],
  ['known_network', 'machine', ({ signs }) => signs.includes('known_network')],
  ['prefetch_proxy', 'machine', isPrefetch],
  [
    'too_fast',
    'machine',
    (one, facts) => one.kind === 'click' && isWithin(fastSeconds, one, facts),
  ],
  ['all_links', 'machine', (one, { inBursts }) => one.kind === 'click' && inBursts.has(one)],
  ['image_proxy', 'unknown', (one) => one.kind === 'open' && one.signs.includes('proxy')],
  ['no_agent', 'unknown', ({ signs }) => signs.includes('no_agent')],
];

interface MailFacts {
  /**
   * The time of the delivery. Before a delivery is reported, the time at which the provider
   * accepted the message.
   */
  deliveredAt: Date | null;
  /** The times of HEAD requests, by client. */
  heads: ReadonlyMap<string, readonly number[]>;
  /** The requests of bursts: within a few seconds, all links of the message were requested. */
  inBursts: ReadonlySet<Engagement>;
}

/**
 * Judges all opens and clicks of one message together.
 * @param all the requests of the message, in any order
 * @param deliveredAt the time of the delivery, or of the acceptance while no delivery is reported
 * @returns a judgement for each request, in order; null for HEAD
 */
export function judgeMail(
  all: readonly Engagement[],
  deliveredAt: Date | null,
): (Judgement | null)[] {
  const facts = { deliveredAt, heads: headsOf(all), inBursts: burstsOf(all) };
  return all.map((one) => (one.kind === 'head' ? null : judge(one, facts)));
}

function judge(one: Engagement, facts: MailFacts): Judgement {
  const found = rules.find(([, , applies]) => applies(one, facts));
  return found ? { verdict: found[1], rule: found[0] } : { verdict: 'human', rule: null };
}

function headsOf(all: readonly Engagement[]): Map<string, number[]> {
  const heads = new Map<string, number[]>();
  for (const { kind, client, at } of all) {
    if (kind !== 'head' || client === null) continue;
    heads.set(client, [...(heads.get(client) ?? []), at.getTime()]);
  }
  return heads;
}

function isAlsoHead({ client, at }: Engagement, { heads }: MailFacts): boolean {
  const times = heads.get(client ?? '') ?? [];
  return times.some((time) => Math.abs(time - at.getTime()) <= headSeconds * 1000);
}

function isPrefetch(one: Engagement, facts: MailFacts): boolean {
  if (one.kind !== 'open') return false;
  if (one.signs.includes('prefetcher')) return true;
  return one.signs.includes('proxy') && isWithin(prefetchSeconds, one, facts);
}

/** Returns true for a request before the delivery, or less than `seconds` after it. */
function isWithin(seconds: number, { at }: Engagement, { deliveredAt }: MailFacts): boolean {
  return deliveredAt !== null && at.getTime() - deliveredAt.getTime() < seconds * 1000;
}

/**
 * Returns the requests of all bursts. A burst is a span of `allLinksSeconds` in which all links of
 * the message, at least two, were requested.
 */
function burstsOf(all: readonly Engagement[]): Set<Engagement> {
  const linkCount = Math.max(0, ...all.map((one) => one.linkCount));
  const found = new Set<Engagement>();
  if (linkCount < 2) return found;
  const asked = all
    .filter(({ linkId }) => linkId !== null)
    .toSorted((a, b) => a.at.getTime() - b.at.getTime());
  // The window slides over the requests. It holds the requests from `first` on, counted by link.
  const counts = new Map<string, number>();
  let first = 0;
  let marked = 0;
  for (const [index, last] of asked.entries()) {
    counts.set(last.linkId!, (counts.get(last.linkId!) ?? 0) + 1);
    const since = last.at.getTime() - allLinksSeconds * 1000;
    for (; asked[first]!.at.getTime() < since; first += 1) {
      const { linkId } = asked[first]!;
      const left = counts.get(linkId!)! - 1;
      if (left === 0) counts.delete(linkId!);
      else counts.set(linkId!, left);
    }
    if (counts.size < linkCount) continue;
    for (const one of asked.slice(Math.max(first, marked), index + 1)) found.add(one);
    marked = index + 1;
  }
  return found;
}
