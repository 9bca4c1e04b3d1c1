import { type DnsSource, lookUpRecord, type RecordState } from './compare-records.ts';
import { isReservedName } from './domain-name.ts';
import {
  type DnsRecord,
  type DomainClaim,
  type DomainKey,
  recordKey,
  type Signing,
} from './sender-records.ts';

/**
 * `pending`: not proven yet; `verified`: proven; `failed`: not proven for too long (see
 * `stateAfterCheck`).
 */
export type DomainStatus = 'pending' | 'verified' | 'failed';

/**
 * The sources for the check of a domain. A promise rejects if its source cannot answer, but never
 * because a record is missing.
 */
export interface DomainSources {
  dns: DnsSource;
  identities: {
    /** True if reserved names such as `example.test`, which DNS never has, count as verified. */
    verifiesReservedNames: boolean;
    /**
     * True if the mail provider also checks DNS, so a domain is verified only if the provider
     * agrees.
     */
    keepsDomains: boolean;
    dnsRecords(claim: DomainClaim): DnsRecord[];
    /** Returns who signs the mail of a domain; null: only the provider can sign. */
    signingOf(claim: Pick<DomainClaim, 'signing'>): Signing | null;
    /** Finds the mail provider's own record of a domain; null: the provider has none. */
    find(domain: string): Promise<{ dkimVerified: boolean } | null>;
  };
}

/** The state of each record, by `recordKey`. */
export type RecordStates = Record<string, RecordState>;

export interface DomainFinding {
  /** The state of each record; null: the record could not be looked up. */
  records: Record<string, RecordState | null>;
  /**
   * True if all needed records are published. A provider that checks DNS itself must also have
   * found its DKIM records.
   */
  isProven: boolean;
  /** True if the records that were needed before the change of the signing are all published. */
  isFormerlyProven: boolean;
  /** Who signs the mail, at the time of this check (`signingOf`). */
  signing: Signing | null;
}

/**
 * Looks up the records of a sender domain.
 * @throws the error of a source, if the result depends on it
 */
export async function inspectDomain(
  claim: DomainClaim,
  { dns, identities }: DomainSources,
): Promise<DomainFinding> {
  const records = identities.dnsRecords(claim);
  const signing = identities.signingOf(claim);
  const isReserved = countsAsFound(claim.name, identities);
  const looked = await Promise.all(
    records.map(async (record): Promise<[string, RecordState | null]> => {
      if (isReserved && record.purpose !== 'tracking') return [recordKey(record), allRight];
      try {
        return [recordKey(record), await lookUpRecord(record, dns)];
      } catch (error) {
        if (record.isNeeded || record.wasNeeded) throw error;
        return [recordKey(record), null];
      }
    }),
  );
  const found = Object.fromEntries(looked);
  if (isReserved) return { records: found, isProven: true, isFormerlyProven: false, signing };
  const arePublished = (needed: readonly DnsRecord[]) =>
    needed.length > 0 && needed.every((record) => found[recordKey(record)]?.status === 'verified');
  const isPublished = arePublished(records.filter(({ isNeeded }) => isNeeded));
  const wasPublished = arePublished(records.filter(({ wasNeeded }) => wasNeeded));
  const agrees =
    !(isPublished || wasPublished) ||
    !identities.keepsDomains ||
    (await identities.find(claim.name))?.dkimVerified === true;
  return {
    records: found,
    isProven: isPublished && agrees,
    isFormerlyProven: wasPublished && agrees,
    signing,
  };
}

/** Returns true for a reserved name that counts as verified although DNS never has it. */
export function countsAsFound(
  name: string,
  { verifiesReservedNames }: Pick<DomainSources['identities'], 'verifiesReservedNames'>,
): boolean {
  return verifiesReservedNames && isReservedName(name);
}

/** The state of a record that needs no lookup. */
export const allRight: RecordState = { status: 'verified', found: [] };

/** Milliseconds between regular checks. */
const oftenMs = 5 * 60_000;
const dailyMs = 24 * 3_600_000;
/**
 * Milliseconds after which an unverified domain has failed, and after which a new key or tracking
 * host without its record is checked only daily.
 */
const timeoutMs = 72 * 3_600_000;
/** Number of consecutive failed daily checks after which a verified domain has failed. */
const failedChecksMax = 3;

/**
 * Returns the milliseconds until the next regular check; null: no check is planned. A verified
 * domain is checked daily. A domain that waits for its records, or for the record of a new key, is
 * checked more often.
 * @param awaited keys and a tracking host whose record was never found
 */
export function nextCheckMs(
  status: DomainStatus,
  awaited: readonly Pick<DomainKey, 'createdAt'>[],
  now: Date,
): number | null {
  if (status === 'failed') return null;
  const isNew = awaited.some(({ createdAt }) => now.getTime() - createdAt.getTime() < timeoutMs);
  return status === 'pending' || isNew ? oftenMs : dailyMs;
}

/**
 * Returns the state of a domain after a check.
 * @param check.isProven true if the records prove the domain (see `DomainFinding`), and no other
 * project holds its name
 * @param check.isScheduled true for a daily check: only daily checks count against a verified
 * domain
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

/** The state of the host for the tracked links in a domain's mail. */
export interface TrackingState {
  /**
   * True if DNS has the record of the host. Mail uses the host only while its domain is verified.
   */
  isActive: boolean;
  /** Number of consecutive daily checks that did not find the record of the host. */
  missed: number;
}

/**
 * Returns the state of a tracking host after a check.
 * @param check.record null: the record could not be looked up
 * @param check.isScheduled true for a daily check: only daily checks count against the host
 */
export function trackingAfterCheck(
  { isActive, missed }: TrackingState,
  { record, isScheduled }: { record: RecordState | null; isScheduled: boolean },
): TrackingState {
  if (!record) return { isActive, missed };
  if (record.status === 'verified') return { isActive: true, missed: 0 };
  const count = missed + (isScheduled ? 1 : 0);
  return count < failedChecksMax ? { isActive, missed: count } : { isActive: false, missed: 0 };
}
