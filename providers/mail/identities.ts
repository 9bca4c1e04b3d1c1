import { randomInt } from 'node:crypto';
import {
  type DnsRecord,
  type DomainClaim,
  senderRecords,
} from '../../domain/sender/domain-name.ts';

/** A sender domain at the mail provider. */
export interface Identity {
  /** Names of its DKIM records; empty if the provider signs with the customer's own keys. */
  dkimTokens: string[];
  /** True if the provider has found the DKIM records. */
  dkimVerified: boolean;
}

/** Manages the sender domains at the mail provider. Each call may be repeated. */
export interface Identities {
  /** True if reserved domains (such as `.test`), which DNS never has, count as verified. */
  verifiesReservedNames: boolean;
  /** True if the provider stores domains in an account, and checks their DNS records itself. */
  keepsDomains: boolean;
  dnsRecords(claim: DomainClaim): DnsRecord[];
  /** Returns the provider's state of a domain; null: the provider does not have the domain. */
  find(domain: string): Promise<Identity | null>;
  /**
   * Registers a domain with its MAIL FROM domain. For a domain that is registered already, this
   * sets the MAIL FROM domain again, so call `find` first and check who created it.
   */
  create(domain: string): Promise<{ dkimTokens: string[] }>;
  /** Removes a domain; an unknown one is no error. */
  remove(domain: string): Promise<void>;
}

/** Settings for the DNS records of all providers. */
export interface RecordSettings {
  /** Prefix of the MAIL FROM domain, such as `mail`. */
  mailFromSubdomain: string;
  /** Target of the DKIM records, such as `dkim.amazonses.com`. */
  dkimTargetHost: string;
}

/** The provider could not be reached or failed; a later try may succeed. */
export class IdentityProviderError extends Error {
  override readonly name = 'IdentityProviderError';
}

const tokenAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** The length of SES's tokens; ours look the same. */
const tokenChars = 32;

/**
 * Creates identities for a provider that does not manage sender domains: the DNS records alone
 * decide.
 */
export function localIdentities(settings: RecordSettings): Identities {
  return {
    verifiesReservedNames: true,
    keepsDomains: false,
    // The records of the return path are those of SES, although this provider does not need them.
    // They need a region, and any will do.
    dnsRecords: (claim) =>
      senderRecords(claim, { ...settings, region: 'us-east-1', ownershipRecord: false }),
    async create() {
      return { dkimTokens: [randomToken(), randomToken(), randomToken()] };
    },
    async find() {
      return null;
    },
    async remove() {},
  };
}

function randomToken(): string {
  return Array.from({ length: tokenChars }, () =>
    tokenAlphabet.charAt(randomInt(tokenAlphabet.length)),
  ).join('');
}
