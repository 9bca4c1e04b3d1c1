import { listForgottenDeliveries } from '../../db/emails/emails.ts';
import {
  claimProbe,
  closeCircuit,
  probeSoon,
  readCircuit,
  recordProviderFailures,
} from '../../db/delivery/provider-circuit.ts';
import { signalSendingCampaigns } from '../../db/campaigns/campaigns.ts';
import { probeLeaseMs } from '../../domain/runs/retry.ts';
import { notifyAfterCommit } from '../../db/commits.ts';
import { type Database, transact } from '../../db/database.ts';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';

/** A circuit breaker that all workers share. It decides if mail may be given to the provider. */

export interface CircuitPermit {
  /** Maximum number of messages to give to the provider. */
  max: number;
  /** True if the circuit is open and this caller makes the only attempt. */
  isProbe: boolean;
  /** True if an acceptance must be recorded, because there were failures before. */
  hasFailed: boolean;
}

export interface CircuitServices {
  db: Database;
  mailer: Mailer;
  log: { warn(details: object, message: string): void };
}

/**
 * Asks whether mail may be given to the provider now. While the provider cannot take mail, one
 * caller at a time may try one message; the others get the milliseconds to wait. Every permission
 * must end in `leaveCircuit`.
 */
export async function enterCircuit({
  db,
  mailer: { provider },
}: CircuitServices): Promise<CircuitPermit | { waitMs: number }> {
  const { failures, waitMs } = await readCircuit(db, provider);
  if (waitMs === null) return { max: Infinity, isProbe: false, hasFailed: failures > 0 };
  if (waitMs === 0 && (await claimProbe(db, provider))) {
    return { max: 1, isProbe: true, hasFailed: true };
  }
  return { waitMs: waitMs || probeLeaseMs };
}

/** Returns true if other callers have opened the circuit since this permission was given. */
export async function hasOpened(
  { db, mailer: { provider } }: CircuitServices,
  { isProbe }: CircuitPermit,
): Promise<boolean> {
  return !isProbe && (await readCircuit(db, provider)).waitMs !== null;
}

/** The part of an attempt's outcome that concerns the provider. */
export interface ProviderSignal {
  kind: string;
  /** True if the provider cannot take mail at all, not only this message. */
  isProviderFailure?: boolean | undefined;
}

/**
 * Records what the attempts, in order, have shown about the provider. The first acceptance after an
 * outage signals the deliveries and campaigns that wait.
 */
export async function leaveCircuit(
  services: CircuitServices,
  { isProbe, hasFailed }: CircuitPermit,
  attempts: readonly ProviderSignal[],
): Promise<void> {
  const { db, log } = services;
  const { provider } = services.mailer;
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
    await transact(db, async (tx) => {
      const projectIds = await listForgottenDeliveries(tx, wokenMax);
      notifyAfterCommit(
        tx,
        projectIds.map((projectId) => ({ runId: deliveryRunId(projectId), projectId })),
      );
      await signalSendingCampaigns(tx, wokenMax);
    });
  } else if (isProbe) await probeSoon(db, provider);
}

/**
 * Maximum number of projects, and of campaigns, that are signalled at once. The sweep signals the
 * others.
 */
const wokenMax = 1_000;

/**
 * Returns true if the provider has judged a message, which shows that the provider is available.
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
  // Random, so that the mail of one project does not always make the probe.
  return waitMs + Math.random() * Math.min(Math.max(waitMs, spreadMs), longMs);
}

const spreadMs = 5_000;
const longMs = 60_000;
