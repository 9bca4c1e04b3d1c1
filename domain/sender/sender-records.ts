import { type DkimPublicKey, dkimLabel, dkimText } from './dkim-record.ts';

/** The DNS records of a sender domain. */

export const recordPurposes = [
  'dkim',
  'dkim_ed25519',
  'dkim_next',
  'dkim_old',
  'ownership',
  'mail_from',
  'return_path',
  'spf',
  'dmarc',
  'inbound',
  'tracking',
] as const;

export interface DnsRecord {
  type: 'CNAME' | 'MX' | 'TXT';
  name: string;
  value: string;
  priority?: number;
  purpose: (typeof recordPurposes)[number];
  /** True if the record is needed for the verification of the domain. */
  isNeeded?: boolean;
  /** True if the record was needed before the signing of a verified domain was changed. */
  wasNeeded?: boolean;
  /** From this time on, the owner can remove the record. */
  removeAfter?: Date;
}

/** Who signs the mail of a domain: Everpost, or the mail provider. */
export type Signing = 'own' | 'provider';

/**
 * A DKIM key of a domain. `current` signs, `next` waits until its record is found, `previous` no
 * longer signs.
 */
export interface DomainKey extends DkimPublicKey {
  state: 'current' | 'next' | 'previous';
  createdAt: Date;
  /** When a check first found the record of the key; null: never, so the key does not sign. */
  seenAt: Date | null;
  /**
   * Time until which the record of a previous key must stay, so that mail on its way can be
   * verified; null for other keys.
   */
  removeAfter: Date | null;
}

/** The claim of a project to a domain name. */
export interface DomainClaim {
  name: string;
  isVerified: boolean;
  /** Labels of the DKIM records of SES, or of the local mailbox. */
  dkimTokens: readonly string[];
  /** A token that no other claim has. */
  ownershipToken: string;
  /** null: the project has never chosen who signs. */
  signing: Signing | null;
  /** True if ordinary mail to the domain is received, not only reports. */
  inbound: boolean;
  /** Host for the tracked links in the domain's mail; null: the domain has no host of its own. */
  trackingHost: string | null;
  keys: readonly DomainKey[];
  /** The records that were needed before the signing of a verified domain was changed. */
  formerRecords: readonly DnsRecord[];
}

export interface DnsSettings {
  transport: 'ses' | 'smtp' | 'mailbox';
  /** Target of the DKIM records of SES, such as `dkim.amazonses.com`. */
  dkimTargetHost: string;
  /** Prefix of the MAIL FROM domain of SES, such as `mail`. */
  mailFromSubdomain: string;
  /** AWS region that receives bounces. */
  region: string;
  returnPath: ReturnPathSettings;
  /** Target of the records of tracking hosts. */
  trackingTarget: string;
}

/** How bounces of mail over SMTP come back to us. */
export interface ReturnPathSettings {
  /** Host that receives mail for `<subdomain>.<sender domain>`; null: no host does. */
  host: string | null;
  subdomain: string;
  /**
   * Mechanisms of an SPF record for the same name, such as `a:mail.example.com`; null: no record.
   */
  spf: string | null;
}

/** Prefix of an ownership record. The token of the claim follows. */
export const ownershipPrefix = 'everpost-verification=';

/**
 * Returns who signs the mail of a domain; null: only the provider can sign (Amazon SES, the local
 * mailbox).
 */
export function signingOf(
  { signing }: Pick<DomainClaim, 'signing'>,
  { transport }: Pick<DnsSettings, 'transport'>,
): Signing | null {
  return signing ?? (transport === 'smtp' ? 'provider' : null);
}

/**
 * Returns the DNS records of a sender domain, each name and type once. The needed records prove the
 * claim. SES gives every claim of a name the same DKIM records, so an ownership record is needed,
 * too. A DKIM key of Everpost belongs to a single claim, so its record is proof enough.
 */
export function senderRecords(claim: DomainClaim, settings: DnsSettings): DnsRecord[] {
  const { name, keys } = claim;
  const isSes = settings.transport === 'ses';
  const signing = signingOf(claim, settings);
  const hasTokens = isSes || signing === null;
  const records: DnsRecord[] = [
    ...(hasTokens ? tokenRecords(claim, settings) : []),
    ...(isSes || signing === 'provider' ? [ownershipRecord(claim)] : []),
    ...(signing === 'own' ? keys.map((key) => keyRecord(name, key)) : []),
    ...formerRecords(claim, settings),
    ...(hasTokens ? mailFromRecords(name, settings) : []),
    ...(isSes || signing === null ? [] : returnPathRecords(name, settings.returnPath)),
    { type: 'TXT', name: `_dmarc.${name}`, value: 'v=DMARC1; p=none', purpose: 'dmarc' },
    ...(claim.inbound ? inboundRecords(name, settings.returnPath) : []),
    ...trackingRecords(claim, settings),
  ];
  const byKey = new Map<string, DnsRecord>();
  for (const record of records) {
    const known = byKey.get(recordKey(record));
    if (!known) byKey.set(recordKey(record), record);
    else if (record.wasNeeded) known.wasNeeded = true;
  }
  return [...byKey.values()];
}

function tokenRecords(
  { name, dkimTokens }: DomainClaim,
  { dkimTargetHost }: DnsSettings,
): DnsRecord[] {
  return dkimTokens.map((token) => ({
    type: 'CNAME',
    name: `${token}._domainkey.${name}`,
    value: `${token}.${dkimTargetHost}`,
    purpose: 'dkim',
    isNeeded: true,
  }));
}

function ownershipRecord({ name, ownershipToken }: DomainClaim): DnsRecord {
  return {
    type: 'TXT',
    name: `_everpost.${name}`,
    value: `${ownershipPrefix}${ownershipToken}`,
    purpose: 'ownership',
    isNeeded: true,
  };
}

function keyRecord(domain: string, key: DomainKey): DnsRecord {
  const record = {
    type: 'TXT' as const,
    name: `${dkimLabel(key)}._domainkey.${domain}`,
    value: dkimText(key),
  };
  if (key.state === 'next') return { ...record, purpose: 'dkim_next' };
  if (key.state === 'previous') {
    return {
      ...record,
      purpose: 'dkim_old',
      ...(key.removeAfter && { removeAfter: key.removeAfter }),
    };
  }
  if (key.algorithm === 'ed25519') return { ...record, purpose: 'dkim_ed25519' };
  return { ...record, purpose: 'dkim', isNeeded: true };
}

/**
 * Returns the records that keep a domain verified until the newly needed records have been found
 * once. If the domain was verified with the local mailbox, these are its token records.
 */
function formerRecords(claim: DomainClaim, settings: DnsSettings): DnsRecord[] {
  if (!claim.isVerified) return [];
  const isFromMailbox = claim.signing === null && settings.transport === 'smtp';
  const former =
    isFromMailbox && claim.formerRecords.length === 0
      ? tokenRecords(claim, settings)
      : claim.formerRecords;
  return former.map(({ type, name, value, purpose }) => ({
    type,
    name,
    value,
    purpose,
    wasNeeded: true,
  }));
}

/** Returns the records of the MAIL FROM domain at SES. */
function mailFromRecords(domain: string, { mailFromSubdomain, region }: DnsSettings): DnsRecord[] {
  const name = `${mailFromSubdomain}.${domain}`;
  const value = `feedback-smtp.${region}.amazonses.com`;
  return [
    { type: 'MX', name, value, priority: 10, purpose: 'mail_from' },
    { type: 'TXT', name, value: 'v=spf1 include:amazonses.com ~all', purpose: 'spf' },
  ];
}

function returnPathRecords(
  domain: string,
  { host, subdomain, spf }: ReturnPathSettings,
): DnsRecord[] {
  if (host === null) return [];
  const name = `${subdomain}.${domain}`;
  return [
    { type: 'MX', name, value: host, priority: 10, purpose: 'return_path' },
    ...(spf === null
      ? []
      : [{ type: 'TXT' as const, name, value: `v=spf1 ${spf} ~all`, purpose: 'spf' as const }]),
  ];
}

function inboundRecords(name: string, { host }: ReturnPathSettings): DnsRecord[] {
  if (host === null) return [];
  return [{ type: 'MX', name, value: host, priority: 10, purpose: 'inbound' }];
}

function trackingRecords(
  { trackingHost: name }: DomainClaim,
  { trackingTarget: value }: DnsSettings,
): DnsRecord[] {
  return name === null ? [] : [{ type: 'CNAME', name, value, purpose: 'tracking' }];
}

export function recordKey(record: Pick<DnsRecord, 'type' | 'name'>): string {
  return `${record.type} ${record.name}`;
}

/**
 * Maximum number of bytes of one string in a TXT record (RFC 1035, 3.3.14). Our texts are ASCII.
 */
const stringBytesMax = 255;

/** Returns the strings into which the value of a TXT record is split. */
export function stringsOf(value: string): string[] {
  const count = Math.max(1, Math.ceil(value.length / stringBytesMax));
  return Array.from({ length: count }, (_, at) =>
    value.slice(at * stringBytesMax, (at + 1) * stringBytesMax),
  );
}

/** Seconds for which resolvers may cache a record from a zone file. */
const ttlSeconds = 3600;

/** Returns a record as a line of a zone file (RFC 1035, 5.1). */
export function zoneLine({ type, name, value, priority }: DnsRecord): string {
  const data =
    type === 'TXT'
      ? stringsOf(value)
          .map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
          .join(' ')
      : `${type === 'MX' ? `${priority} ` : ''}${value}.`;
  return `${name}. ${ttlSeconds} IN ${type} ${data}`;
}
