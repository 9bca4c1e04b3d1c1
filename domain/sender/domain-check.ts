import { type DnsSource, lookUpRecord, type RecordState } from './compare-records.ts';
import { isReservedName } from './domain-name.ts';
import {
  type DnsRecord,
  type DomainClaim,
  type DomainKey,
  recordKey,
  type Signing,
} from './sender-records.ts';

/** The status of a domain: not proven yet, proven, or not proven for too long (`stateAfterCheck`). */
export type DomainStatus = 'pending' | 'verified' | 'failed';

/**
 * The sources of a domain's check. Their promises reject if a source cannot answer, never because a
 * record is missing.
 */
export interface DomainSources {
  dns: DnsSource;
  identities: {
    /** True if reserved domains, which DNS never has, count as verified. */
    verifiesReservedNames: boolean;
    /** True if the provider checks DNS itself, and must agree. */
    keepsDomains: boolean;
    dnsRecords(claim: DomainClaim): DnsRecord[];
    /** Returns who signs; null: only the provider can. */
    signingOf(claim: Pick<DomainClaim, 'signing'>): Signing | null;
    /** Finds the mail provider's record of a domain; null: none. */
    find(domain: string): Promise<{ dkimVerified: boolean } | null>;
  };
}

/** The states of records, by `recordKey`. */
export type RecordStates = Record<string, RecordState>;

export interface DomainFinding {
  /** null: the record could not be looked up. */
  records: Record<string, RecordState | null>;
  /**
   * True if all needed records are published. A provider that checks DNS itself must have found its
   * DKIM records, too.
   */
  isProven: boolean;
  /** True if all records are published that were needed before the signing was changed. */
  isFormerlyProven: boolean;
  /** Who signs, as of this check (`signingOf`). */
  signing: Signing | null;
}

/**
 * Looks up the records of a sender domain.
 * @throws the error of a source, if it cannot be decided whether the domain may send.
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

/** Returns true for a name that DNS never has, and that is verified nevertheless. */
export function countsAsFound(
  name: string,
  { verifiesReservedNames }: Pick<DomainSources['identities'], 'verifiesReservedNames'>,
): boolean {
  return verifiesReservedNames && isReservedName(name);
}

/** The state of a record that counts as found. */
export const allRight: RecordState = { status: 'verified', found: [] };

/** Intervals of the regular checks, in milliseconds. */
const oftenMs = 5 * 60_000;
const dailyMs = 24 * 3_600_000;
/**
 * Milliseconds after which a domain that is still unverified has failed, and after which a key that
 * DNS does not show is looked for only daily.
 */
const timeoutMs = 72 * 3_600_000;
/** Number of consecutive failed daily checks after which a verified domain has failed. */
const failedChecksMax = 3;

/**
 * Returns the milliseconds until the next regular check; null: there is none. A domain is checked
 * daily, but more often while it waits for records, or a new key does.
 * @param awaited keys, and a tracking host, whose record was never found
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
 * @param check.isProven as in `DomainFinding`, and no other project holds the name
 * @param check.isScheduled a daily check: only these count against a verified domain
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

/** The host for the tracked links of a domain's mail. */
export interface TrackingState {
  /** True if DNS has its record: mail uses it while the domain is verified. */
  isActive: boolean;
  /** Number of consecutive daily checks without its record. */
  missed: number;
}

/**
 * Returns the state of a tracking host after a check.
 * @param check.record null: it could not be looked up.
 * @param check.isScheduled a daily check: only these count against it
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
