import { randomInt } from 'node:crypto';
import {
  type DnsRecord,
  type DnsSettings,
  type DomainClaim,
  senderRecords,
  type Signing,
  signingOf,
} from '../../domain/sender/sender-records.ts';

/** A sender domain as the mail provider knows it. */
export interface Identity {
  /** Names of the DKIM records; empty if the provider signs with the customer's own keys. */
  dkimTokens: string[];
  /** True if the provider has found the DKIM records. */
  dkimVerified: boolean;
}

/** Manages the sender domains at the mail provider. Each call may be repeated. */
export interface Identities {
  /** True if reserved names such as `example.test`, which DNS never has, count as verified. */
  verifiesReservedNames: boolean;
  /** True if the provider stores domains and checks their DNS records itself. */
  keepsDomains: boolean;
  dnsRecords(claim: DomainClaim): DnsRecord[];
  /** Returns who signs the mail of a domain; null: only the provider can sign. */
  signingOf(claim: Pick<DomainClaim, 'signing'>): Signing | null;
  /**
   * The signer of new domains' mail, unless a request chooses one; null: only the provider can
   * sign.
   */
  signingOfNew: Signing | null;
  /** Returns the provider's own record of a domain; null: the provider does not have the domain. */
  find(domain: string): Promise<Identity | null>;
  /**
   * Registers a domain with its MAIL FROM domain. If the domain is registered already, its MAIL
   * FROM domain is overwritten, so call `find` first and check who created it.
   */
  create(domain: string): Promise<{ dkimTokens: string[] }>;
  /** Removes a domain. An unknown domain is no error. */
  remove(domain: string): Promise<void>;
}

/** Settings for the DNS records of all providers. */
export type RecordSettings = Pick<
  DnsSettings,
  'mailFromSubdomain' | 'dkimTargetHost' | 'returnPath' | 'trackingTarget'
> & {
  /** DKIM_SIGNING; null: not set. */
  dkimSigning: Signing | null;
};

/** Thrown when the provider cannot be reached or fails. A later attempt may succeed. */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError';
}

const tokenAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Number of characters of SES's DKIM tokens. Tokens that Everpost makes have the same length. */
const tokenChars = 32;

/** Returns the parts of identities that depend on settings alone. */
export function recordsBy(
  settings: DnsSettings & Pick<RecordSettings, 'dkimSigning'>,
): Pick<Identities, 'dnsRecords' | 'signingOf' | 'signingOfNew'> {
  const { transport, dkimSigning } = settings;
  const isSmtp = transport === 'smtp';
  return {
    dnsRecords: (claim) => senderRecords(claim, settings),
    signingOf: (claim) => signingOf(claim, settings),
    signingOfNew: dkimSigning === 'own' ? 'own' : isSmtp ? (dkimSigning ?? 'own') : null,
  };
}

/**
 * Creates identities for a provider that does not manage sender domains, so that only DNS records
 * count.
 */
export function localIdentities(
  settings: RecordSettings,
  { transport, verifiesReservedNames = true }: LocalTransport,
): Identities {
  return {
    verifiesReservedNames,
    keepsDomains: false,
    // The local mailbox shows the DNS records of SES, although it needs no records. These records
    // contain a region, and any region will do.
    ...recordsBy({ ...settings, transport, region: 'us-east-1' }),
    async create() {
      return { dkimTokens: [randomToken(), randomToken(), randomToken()] };
    },
    async find() {
      return null;
    },
    async remove() {},
  };
}

export interface LocalTransport {
  transport: 'smtp' | 'mailbox';
  /** Default: true. */
  verifiesReservedNames?: boolean;
}

function randomToken(): string {
  return Array.from({ length: tokenChars }, () =>
    tokenAlphabet.charAt(randomInt(tokenAlphabet.length)),
  ).join('');
}
