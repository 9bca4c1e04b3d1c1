import { listForgottenDeliveries } from '../../../db/emails/emails.ts';
import {
  type Circuit,
  claimProbe,
  closeCircuit,
  probeSoon,
  readCircuit,
  readCircuits,
  recordProviderFailures,
} from '../../../db/delivery/provider-circuit.ts';
import { listAwaitedProviders, releaseProviderWaits } from '../../../db/delivery/provider-waits.ts';
import { signalSendingCampaigns } from '../../../db/campaigns/campaigns.ts';
import { circuitName, defaultProviderId } from '../../../domain/provider/provider.ts';
import { probeLeaseMs } from '../../../domain/runs/retry.ts';
import { notifyAfterCommit } from '../../../db/commits.ts';
import { type Database, transact } from '../../../db/database.ts';
import type { SendOutcome } from '../../../providers/mail/mailer.ts';
import { deliveryRunId } from '../../../domain/runs/execution.ts';

/**
 * A circuit breaker, shared by all workers, that decides whether mail may be given to a provider.
 */

export interface CircuitPermit {
  /** Maximum number of messages to give to the provider. */
  max: number;
  /** True if the circuit is open and this caller may send the probe. */
  isProbe: boolean;
  /** True if the provider has failed before, so an acceptance must be recorded. */
  hasFailed: boolean;
}

export interface CircuitServices {
  db: Database;
  log: { warn(details: object, message: string): void };
}

/** The answer of a circuit that this caller must not use now. */
export interface CircuitWait {
  waitMs: number;
}

/**
 * Asks whether mail may be given to a provider now. While the provider cannot take mail, one caller
 * at a time may send a probe, and the others get the milliseconds to wait. Each permit must end in
 * `leaveCircuit`.
 */
export async function enterCircuit(
  { db }: CircuitServices,
  provider: string,
): Promise<CircuitPermit | CircuitWait> {
  const permit = permitOf(await readCircuit(db, provider));
  if ('waitMs' in permit || !permit.isProbe) return permit;
  return (await claimProbe(db, provider)) ? permit : { waitMs: probeLeaseMs };
}

/** Returns the permit of a circuit. A probe must still be claimed with `claimProbe`. */
export function permitOf({ failures, waitMs }: Circuit): CircuitPermit | CircuitWait {
  if (waitMs === null) return { max: Infinity, isProbe: false, hasFailed: failures > 0 };
  return waitMs === 0 ? { max: 1, isProbe: true, hasFailed: true } : { waitMs };
}

/** Returns those of the given providers whose circuits are open. */
export async function listOpened(
  { db }: CircuitServices,
  providers: readonly string[],
): Promise<Set<string>> {
  if (providers.length === 0) return new Set();
  const circuits = await readCircuits(db, providers);
  return new Set(providers.filter((provider) => circuits.get(provider)?.waitMs !== null));
}

/** The part of a message's outcome that concerns the provider. */
export interface ProviderSignal {
  kind: string;
  /** True if the provider seems unable to take any mail, not just this message. */
  isProviderFailure?: boolean | undefined;
}

/**
 * Returns what an outcome shows about its provider. A connection that ends without a response also
 * counts as a failure. Otherwise a provider that never responds would get all messages, each with
 * an unknown outcome.
 */
export function signalOf(outcome: SendOutcome): ProviderSignal {
  const { kind } = outcome;
  const isProviderFailure = kind === 'uncertain' || (kind === 'retry' && !outcome.isAboutMessage);
  return { kind, isProviderFailure };
}

/**
 * Records the results of attempts in their order, which may open or close the circuit.
 * @param onClosed called at the first acceptance after an outage, when mail may wait for the
 * provider
 */
export async function leaveCircuit(
  { db, log }: CircuitServices,
  provider: string,
  { isProbe, hasFailed }: CircuitPermit,
  attempts: readonly ProviderSignal[],
  onClosed: () => Promise<void>,
): Promise<void> {
  const lastTaken = attempts.findLastIndex(isTaken);
  const failures = attempts.slice(lastTaken + 1).filter((shown) => shown.isProviderFailure).length;
  const hasAccepted = lastTaken >= 0;
  if (failures > 0) {
    const told = { count: failures, isProbe, hasAccepted };
    const pauseMs = await recordProviderFailures(db, provider, told);
    const details = { provider, nextTryInMs: pauseMs };
    if (pauseMs !== null)
      log.warn(details, 'The mail provider cannot take mail: mail waits, and is tried again');
  } else if (hasAccepted && hasFailed) {
    if (!(await closeCircuit(db, provider))) return;
    log.warn({ provider }, 'The mail provider takes mail again');
    await onClosed();
  } else if (isProbe) await probeSoon(db, provider);
}

/** Milliseconds for which one worker makes mail due that waited for a provider. */
const releasingMs = 5_000;

/**
 * Makes the mail due that waits for a provider of its route. Mail without a route stays due during
 * an outage, so for the default provider, deliveries and campaigns are signalled, too.
 */
export async function releaseWaiting(
  db: Database,
  { id, mailer: { provider } }: { id: string; mailer: { provider: string } },
): Promise<void> {
  if (id === defaultProviderId) await signalWaiting(db, provider);
  const end = Date.now() + releasingMs;
  await releaseProviderWaits(db, id, () => Date.now() > end);
}

/**
 * Releases mail that still waits although the circuit of its provider has closed. The process that
 * closed the circuit may have died, or there was too much mail.
 * @param defaultCircuit the name of the default provider's circuit
 */
export async function releaseMailOfClosedCircuits(
  db: Database,
  defaultCircuit: string,
  isOver: () => boolean,
): Promise<void> {
  const nameOf = (id: string) => (id === defaultProviderId ? defaultCircuit : circuitName(id));
  const ids = await listAwaitedProviders(db);
  if (ids.length === 0) return;
  const circuits = await readCircuits(db, ids.map(nameOf));
  for (const id of ids) {
    if (circuits.get(nameOf(id))?.waitMs === null) await releaseProviderWaits(db, id, isOver);
  }
}

async function signalWaiting(db: Database, provider: string): Promise<void> {
  await transact(db, async (tx) => {
    const projectIds = await listForgottenDeliveries(tx, { max: wokenMax, provider });
    notifyAfterCommit(
      tx,
      projectIds.map((projectId) => ({ runId: deliveryRunId(projectId), projectId })),
    );
    await signalSendingCampaigns(tx, wokenMax);
  });
}

/**
 * Maximum number of projects, and of campaigns, that are signalled together. The sweep signals the
 * others.
 */
const wokenMax = 1_000;

/**
 * Returns true if the provider has accepted or refused a message, which shows that it is available.
 */
function isTaken({ kind, isProviderFailure }: ProviderSignal): boolean {
  return ['accepted', 'refused', 'again', 'retry'].includes(kind) && !isProviderFailure;
}

/**
 * Returns the milliseconds until a delivery enters the circuit again: `waitMs`, if the delivery has
 * given mail to the provider (`hasTried`) and the wait is less than a minute. Otherwise, a random
 * part of the spread is added. The spread is `waitMs`, but at least 5 seconds and at most a minute.
 */
export function circuitRetryMs(waitMs: number, hasTried: boolean): number {
  if (hasTried && waitMs < longMs) return waitMs;
  // The random time keeps the probe from always coming from the same project.
  return waitMs + Math.random() * Math.min(Math.max(waitMs, spreadMs), longMs);
}

const spreadMs = 5_000;
const longMs = 60_000;
