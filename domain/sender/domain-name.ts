/** Longest host name in characters (RFC 1035, section 2.3.4, without the trailing dot). */
const nameCharsMax = 253;
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the stored form of a host name: lower case, in ASCII (punycode), without the trailing
 * dot. null for anything else: a URL, an email address, an IP address, a name without a dot.
 */
export function normaliseDomainName(text: string): string | null {
  const name = text.trim();
  // Characters that the parser below would not treat as part of a host.
  if (/[\s/\\:@?#%[\]]/.test(name)) return null;
  const url = URL.parse(`http://${name}`);
  const host = url?.hostname.replace(/\.$/, '') ?? '';
  const labels = host.split('.');
  const isName =
    host.length <= nameCharsMax && labels.length > 1 && labels.every((part) => label.test(part));
  // The parser turns every notation of an IPv4 address into four numbers, and no host name ends in
  // a number.
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? host : null;
}

/** Top-level names reserved for tests and documentation, which never exist (RFC 2606). */
const reserved = new Set(['test', 'example', 'localhost', 'invalid']);

export function isReservedName(name: string): boolean {
  return reserved.has(name.slice(name.lastIndexOf('.') + 1));
}

export interface DnsRecord {
  type: 'CNAME' | 'MX' | 'TXT';
  name: string;
  value: string;
  priority?: number;
  purpose: 'dkim' | 'ownership' | 'mail_from' | 'spf' | 'dmarc';
}

export interface DnsSettings {
  /** Target of the DKIM records, such as `dkim.amazonses.com`. */
  dkimTargetHost: string;
  /** Prefix of the MAIL FROM domain, such as `mail`. */
  mailFromSubdomain: string;
  /** AWS region that receives bounces. */
  region: string;
  /**
   * True if a TXT record must also prove a claim. SES gives the same DKIM records to every claim of
   * a name, so an earlier claim of another project may have put them into DNS.
   */
  ownershipRecord: boolean;
}

/** A project's claim of a name. */
export interface DomainClaim {
  name: string;
  dkimTokens: readonly string[];
  /** Unique to this claim. */
  ownershipToken: string;
}

/** Prefix of an ownership record; the token of the claim follows. */
export const ownershipPrefix = 'everpost-verification=';

/**
 * Returns the DNS records of a sender domain. Those for DKIM and, if required, the ownership record
 * decide whether the domain may send. The others are for the return path (MX and SPF) and DMARC.
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

export function recordKey(record: Pick<DnsRecord, 'type' | 'name'>): string {
  return `${record.type} ${record.name}`;
}
