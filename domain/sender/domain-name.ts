/** Longest host name in characters (RFC 1035, section 2.3.4, without the dot at the end). */
const nameCharsMax = 253;
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A host name as it is stored: lower case, in ASCII (punycode), without the dot at the end.
 * null for anything else: a URL, an email address, an IP address, a name without a dot.
 */
export function normaliseDomainName(text: string): string | null {
  const name = text.trim();
  // What would make the parser below read more than a host.
  if (/[\s/\\:@?#%[\]]/.test(name)) return null;
  const url = URL.parse(`http://${name}`);
  const host = url?.hostname.replace(/\.$/, '') ?? '';
  const labels = host.split('.');
  const isName =
    host.length <= nameCharsMax && labels.length > 1 && labels.every((part) => label.test(part));
  // The parser turns every notation of an IPv4 address into four numbers; no name ends in one.
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? host : null;
}

/** Top-level names that exist nowhere, kept free for tests and documentation (RFC 2606). */
const reserved = new Set(['test', 'example', 'localhost', 'invalid']);

/** True for a name that no DNS server will ever know. */
export function isReservedName(name: string): boolean {
  return reserved.has(name.slice(name.lastIndexOf('.') + 1));
}

export interface DnsRecord {
  type: 'CNAME' | 'MX' | 'TXT';
  name: string;
  value: string;
  /** Of an MX record. */
  priority?: number;
  purpose: 'dkim' | 'ownership' | 'mail_from' | 'spf' | 'dmarc';
}

export interface DnsSettings {
  /** Where the DKIM names point, such as `dkim.amazonses.com`. */
  dkimTargetHost: string;
  /** Prefix of the MAIL FROM domain, such as `mail`. */
  mailFromSubdomain: string;
  /** AWS region that receives bounces. */
  region: string;
  /**
   * Whether a claim is proven by a TXT record, too. With SES: it gives every claim of a name the
   * same DKIM records, and those of a name it knows are in DNS already.
   */
  ownershipRecord: boolean;
}

/** What a project has of a name it claims. */
export interface DomainClaim {
  name: string;
  dkimTokens: readonly string[];
  /** Of this claim alone. */
  ownershipToken: string;
}

/** What the text of an ownership record begins with; the token of the claim follows. */
export const ownershipPrefix = 'everpost-verification=';

/**
 * The DNS records of a sender domain: three for DKIM and, where it is asked for, the one that proves
 * whose the name is, which alone decide whether it may send; then the return path, SPF for it, and
 * DMARC.
 */
export function senderRecords(
  { name: domain, dkimTokens, ownershipToken }: DomainClaim,
  { dkimTargetHost, mailFromSubdomain, region, ownershipRecord }: DnsSettings,
): DnsRecord[] {
  const mailFrom = `${mailFromSubdomain}.${domain}`;
  const ownership: DnsRecord = {
    type: 'TXT',
    name: `_everpost.${domain}`,
    value: `${ownershipPrefix}${ownershipToken}`,
    purpose: 'ownership',
  };
  return [
    ...dkimTokens.map((token) => ({
      type: 'CNAME' as const,
      name: `${token}._domainkey.${domain}`,
      value: `${token}.${dkimTargetHost}`,
      purpose: 'dkim' as const,
    })),
    ...(ownershipRecord ? [ownership] : []),
    {
      type: 'MX',
      name: mailFrom,
      value: `feedback-smtp.${region}.amazonses.com`,
      priority: 10,
      purpose: 'mail_from',
    },
    { type: 'TXT', name: mailFrom, value: 'v=spf1 include:amazonses.com ~all', purpose: 'spf' },
    { type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none', purpose: 'dmarc' },
  ];
}

/** What tells a record from the others of its domain. */
export function recordKey(record: Pick<DnsRecord, 'type' | 'name'>): string {
  return `${record.type} ${record.name}`;
}
