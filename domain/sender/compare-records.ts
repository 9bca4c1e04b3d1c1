import { isDkimKey, isSameDkimKey } from './dkim-record.ts';
import { type DnsRecord, ownershipPrefix } from './sender-records.ts';

/** Looks up a record of a sender domain in DNS and compares it with the required record. */

/**
 * Published DNS records, by type. Names have no trailing dot, and may be in upper or lower case.
 */
export interface DnsAnswers {
  CNAME: string[];
  MX: { exchange: string; priority: number }[];
  /** Each text as one string, joined from its parts. */
  TXT: string[];
}

export interface DnsSource {
  /**
   * Returns the published records of a type; empty: there are none. Rejects if DNS does not answer.
   */
  findRecords<T extends keyof DnsAnswers>(type: T, name: string): Promise<DnsAnswers[T]>;
}

/** The result of a check of one record: missing, correct or wrong. */
export interface RecordState {
  status: 'pending' | 'verified' | 'failed';
  /**
   * The published records of this kind, if the status is `failed`. An MX record is written as `10
   * mx.example.com`.
   */
  found: string[];
}

/** Maximum number of records in `RecordState.found`, and of characters of each. */
const foundMax = 10;
const foundCharsMax = 500;

/** Looks up a record and judges it. Rejects if DNS does not answer. */
export async function lookUpRecord(record: DnsRecord, dns: DnsSource): Promise<RecordState> {
  const published = await findPublished(record, dns);
  if (published.length === 0) return { status: 'pending', found: [] };
  if (isRight(record, published)) return { status: 'verified', found: [] };
  const found = published.slice(0, foundMax).map((text) => text.slice(0, foundCharsMax));
  return { status: 'failed', found };
}

/** Returns the published records of the same kind and name as the given record. */
async function findPublished(record: DnsRecord, dns: DnsSource): Promise<string[]> {
  switch (record.type) {
    case 'CNAME':
      return followAliases(record.name, host(record.value), dns);
    case 'MX':
      return (await dns.findRecords('MX', record.name)).map(
        ({ exchange, priority }) => `${priority} ${host(exchange)}`,
      );
    case 'TXT':
      return (await dns.findRecords('TXT', record.name)).filter((text) => isOfKind(record, text));
  }
}

/**
 * Returns true if a published TXT record is of the same kind. A name may have TXT records of
 * several kinds.
 */
function isOfKind({ purpose }: DnsRecord, text: string): boolean {
  if (purpose === 'ownership') return words(text).startsWith(ownershipPrefix);
  if (purpose === 'spf') return /^v=spf1( |$)/.test(words(text));
  if (purpose === 'dmarc') return /^v ?= ?dmarc1 ?(;|$)/.test(words(text));
  return isDkimKey(text);
}

/** Longest chain of CNAME records that is followed; resolvers stop at about the same length. */
const chainMax = 8;

/**
 * Follows the CNAME records of a name until `target` or the end of the chain. Returns the targets
 * of the last records.
 */
async function followAliases(name: string, target: string, dns: DnsSource): Promise<string[]> {
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

function isRight({ type, purpose, value, priority }: DnsRecord, found: readonly string[]): boolean {
  switch (purpose) {
    case 'ownership':
      // Other projects may have published their records, too.
      return found.some((text) => words(text) === words(value));
    case 'spf':
      // Two SPF records make both invalid (RFC 7208, 4.5).
      return (
        found.length === 1 &&
        mechanismsOf(value).every((wanted) => mechanismsOf(found[0]!).includes(wanted))
      );
    case 'dmarc':
      // Any policy is accepted, because the owner decides on it. But if two DMARC records are
      // published, neither applies (RFC 7489, 6.6.3).
      return found.length === 1;
    case 'return_path':
    case 'inbound':
      return found.some((text) => text.endsWith(` ${host(value)}`));
    case 'mail_from':
      // SES accepts exactly one MX record; a second one makes the return path fail.
      return found.every((text) => text === `${priority} ${host(value)}`);
    default:
      if (type === 'CNAME') return found.every((text) => text === host(value));
      // With two keys at one name, the result of a signature check is undefined (RFC 6376,
      // 3.6.2.2).
      return found.length === 1 && isSameDkimKey(value, found[0]!);
  }
}

/**
 * Returns the mechanisms of an SPF record that let mail pass. Mechanisms after `all` have no
 * effect.
 */
function mechanismsOf(spf: string): string[] {
  const terms = words(spf).split(' ').slice(1);
  const end = terms.findIndex((term) => /^[+?~-]?all$/.test(term));
  return terms.slice(0, end < 0 ? terms.length : end).map((term) => host(term.replace(/^\+/, '')));
}

const host = (name: string): string => name.toLowerCase().replace(/\.$/, '');
const words = (text: string): string => text.toLowerCase().trim().replace(/\s+/g, ' ');
