import {
  type DnsRecord,
  type DomainClaim,
  isReservedName,
  ownershipPrefix,
  recordKey,
} from './domain-name.ts';

/**
 * The status of a DNS record: not found, correct, or wrong. The status of a domain: not proven yet,
 * proven, or not proven for too long (see `stateAfterCheck`).
 */
export type DomainStatus = 'pending' | 'verified' | 'failed';

/** Published DNS records, by type. Names have no trailing dot, and may be in any case. */
export interface DnsAnswers {
  CNAME: string[];
  MX: { exchange: string; priority: number }[];
  /** Each text, joined from its parts. */
  TXT: string[];
}

/**
 * The sources of a domain's check. Their promises reject if a source cannot answer, never because a
 * record is missing.
 */
export interface DomainSources {
  dns: {
    /** Returns the records that are published now; an empty list: there are none. */
    findRecords<T extends keyof DnsAnswers>(type: T, name: string): Promise<DnsAnswers[T]>;
  };
  identities: {
    /** True if reserved domains, which DNS never has, count as verified. */
    verifiesReservedNames: boolean;
    /** True if the provider checks DNS itself, and must agree. */
    keepsDomains: boolean;
    dnsRecords(claim: DomainClaim): DnsRecord[];
    /** Finds the mail provider's record of a domain; null: none. */
    find(domain: string): Promise<{ dkimVerified: boolean } | null>;
  };
}

export interface DomainFinding {
  /** By `recordKey`. A record that could not be looked up is left out. */
  recordStatuses: Record<string, DomainStatus>;
  /**
   * True if the DKIM records and, if there is one, the ownership record are published. A provider that
   * checks DNS itself must have found the DKIM records, too.
   */
  isProven: boolean;
}

/**
 * Looks up the records of a sender domain.
 * @throws the error of a source, if it cannot be decided whether the domain may send.
 */
export async function inspectDomain(
  claim: DomainClaim,
  { dns, identities }: DomainSources,
): Promise<DomainFinding> {
  if (identities.verifiesReservedNames && isReservedName(claim.name)) {
    return { recordStatuses: {}, isProven: true };
  }
  const isNeeded = ({ purpose }: DnsRecord) => purpose === 'dkim' || purpose === 'ownership';
  const records = identities.dnsRecords(claim);
  const looked = await Promise.all(
    records.map(async (record) => {
      try {
        return [recordKey(record), await statusOf(record, dns)] as const;
      } catch (error) {
        if (isNeeded(record)) throw error;
        return undefined;
      }
    }),
  );
  const recordStatuses = Object.fromEntries(looked.filter((entry) => entry !== undefined));
  const isPublished = records
    .filter(isNeeded)
    .every((record) => recordStatuses[recordKey(record)] === 'verified');
  const agrees = async () =>
    !identities.keepsDomains || (await identities.find(claim.name))?.dkimVerified === true;
  return { recordStatuses, isProven: isPublished && (await agrees()) };
}

async function statusOf(record: DnsRecord, dns: DomainSources['dns']): Promise<DomainStatus> {
  const found = await findPublished(record, dns);
  if (found.length === 0) return 'pending';
  return isRight(record, found) ? 'verified' : 'failed';
}

/**
 * Returns the records of the same kind that are published at a record's name, in the form of
 * `written`.
 */
async function findPublished(record: DnsRecord, dns: DomainSources['dns']): Promise<string[]> {
  switch (record.type) {
    case 'CNAME':
      return followAliases(record.name, written(record), dns);
    case 'MX':
      return (await dns.findRecords('MX', record.name)).map(
        ({ exchange, priority }) => `${priority} ${host(exchange)}`,
      );
    case 'TXT': {
      const texts = (await dns.findRecords('TXT', record.name)).map(words);
      return texts.filter((text) => isOfKind(record, text));
    }
  }
}

/** TXT records of other kinds may exist beside the required one. */
function isOfKind({ purpose }: DnsRecord, text: string): boolean {
  if (purpose === 'ownership') return text.startsWith(ownershipPrefix);
  return purpose === 'spf' ? /^v=spf1( |$)/.test(text) : /^v ?= ?dmarc1 ?(;|$)/.test(text);
}

/** Longest chain of CNAME records that is followed, about as far as resolvers do. */
const chainMax = 8;

/** Follows the CNAME records of a name to `target`, or to the end of the chain. */
async function followAliases(
  name: string,
  target: string,
  dns: DomainSources['dns'],
): Promise<string[]> {
  let reached: string[] = [];
  let next = [name];
  for (let hops = 0; hops < chainMax && next.length > 0; hops += 1) {
    const [from = ''] = next;
    next = (await dns.findRecords('CNAME', from)).map(host);
    if (next.length > 0) reached = next;
    if (next.includes(target) || next.length > 1) break;
  }
  return reached;
}

function isRight(record: DnsRecord, found: readonly string[]): boolean {
  switch (record.purpose) {
    case 'ownership':
      // Other projects may have published their records, too.
      return found.includes(written(record));
    case 'spf':
      // Two SPF records make both invalid (RFC 7208, 4.5).
      return (
        found.length === 1 &&
        includesOf(record.value).every((term) => includesOf(found[0]!).includes(term))
      );
    case 'dmarc':
      // The owner decides on the policy. With two policies, none applies (RFC 7489, 6.6.3).
      return found.length === 1;
    default:
      // SES accepts exactly one MX record: a second one makes the return path fail.
      return found.every((text) => text === written(record));
  }
}

/** Returns the domains that an SPF record includes. Terms after `all` are never evaluated. */
function includesOf(spf: string): string[] {
  const terms = words(spf).split(' ');
  const end = terms.findIndex((term) => /^[+?~-]?all$/.test(term));
  return terms
    .slice(0, end < 0 ? terms.length : end)
    .flatMap((term) => /^\+?include:(.+)$/.exec(term)?.[1] ?? [])
    .map(host);
}

function written({ type, value, priority }: DnsRecord): string {
  if (type === 'TXT') return words(value);
  return type === 'MX' ? `${priority} ${host(value)}` : host(value);
}

const host = (name: string): string => name.toLowerCase().replace(/\.$/, '');
const words = (text: string): string => text.toLowerCase().trim().replace(/\s+/g, ' ');

/** Interval of the regular checks, in milliseconds. */
export const checkEveryMs = { pending: 5 * 60_000, verified: 24 * 3_600_000 } as const;
/** Milliseconds after which a domain that is still unverified has failed. */
const timeoutMs = 72 * 3_600_000;
/** Number of consecutive failed daily checks after which a verified domain has failed. */
const failedChecksMax = 3;

/**
 * Returns the state of a domain after a check.
 * @param check.isProven as in `DomainFinding`, and no other project holds the name
 * @param check.isScheduled a regular check: only these count against a verified domain
 */
export function stateAfterCheck(
  domain: { status: DomainStatus; failedChecks: number; createdAt: Date },
  check: { isProven: boolean; isScheduled: boolean; now: Date },
): { status: DomainStatus; failedChecks: number } {
  if (check.isProven) return { status: 'verified', failedChecks: 0 };
  if (domain.status === 'verified') {
    const failedChecks = domain.failedChecks + (check.isScheduled ? 1 : 0);
    return failedChecks < failedChecksMax
      ? { status: 'verified', failedChecks }
      : { status: 'failed', failedChecks: 0 };
  }
  const isOver = check.now.getTime() - domain.createdAt.getTime() > timeoutMs;
  return { status: isOver ? 'failed' : domain.status, failedChecks: 0 };
}
