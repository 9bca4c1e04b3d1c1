import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import {
  type SystemMailRow,
  claimSystemMail,
  deleteSystemMail,
  findSystemMail,
  releaseSystemMail,
} from '../../db/emails/system-mail.ts';
import type { Database } from '../../db/database.ts';
import { findSenderDomain } from '../../db/domains/domains.ts';
import { type SendingRates, takeSendingTokens } from '../../db/delivery/send-rate.ts';
import { domainOf } from '../../domain/email-address.ts';
import { defaultProviderId } from '../../domain/provider/provider.ts';
import { chooseProviders, mayMoveAfter } from '../../domain/routing/routing.ts';
import { retryDelayMs } from '../../domain/runs/retry.ts';
import type { Mailer, SendOutcome } from '../../providers/mail/mailer.ts';
import type { PoolProvider } from '../../providers/mail-pool.ts';
import { composeMessage } from '../../providers/mail/mime.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import {
  circuitRetryMs,
  type CircuitServices,
  enterCircuit,
  leaveCircuit,
  type ProviderSignal,
  releaseWaiting,
  signalOf,
} from './batches/circuit.ts';
import { routingOf, type RoutingServices } from './batches/routing.ts';
import { pause, whileAlive } from '../running/time-box.ts';
import { wrapDocument } from '../../domain/template/html.ts';

export type SystemMailActivities = ReturnType<typeof createSystemMailActivities>;

export interface SystemMailServices extends CircuitServices, RoutingServices {
  /** The mailer of the default provider. */
  mailer: Mailer;
  rates: SendingRates;
  returnPaths: Pick<ReturnPaths, 'pathOf'>;
  /** Milliseconds after the creation of a mail within which a failed attempt is retried. */
  retryMs: number;
}

/**
 * Milliseconds for which the database call that begins or ends a claim is retried. Both calls must
 * fit into the 10 minutes of an attempt (`workflows/mail/system-mail.ts`).
 */
const timeoutMs = 3 * 60_000;

export function createSystemMailActivities(services: SystemMailServices) {
  return {
    /**
     * Sends a mail that has no `email` row, at most once. Returns the milliseconds until the next
     * try; null: no further try, because the mail was sent or given up.
     */
    SEND_SYSTEM_MAIL: ({ mailId }: { mailId: string }) =>
      whileAlive(() => sendMail(services, mailId)),
  };
}

async function sendMail(
  services: SystemMailServices,
  mailId: string,
): Promise<{ retryMs: number | null }> {
  const { db, log } = services;
  const mail = await findSystemMail(db, mailId);
  if (!mail) return { retryMs: null };
  if (!(await maySend(db, mail))) {
    log.warn(
      { mailId, kind: mail.kind },
      'A campaign test was not sent: the sender domain is not verified',
    );
    await deleteSystemMail(db, mailId);
    return { retryMs: null };
  }
  const send = await prepare(services, mail);
  const { providers, isNext } = await findProviders(services, mail);
  if (providers.length === 0) {
    log.warn({ mailId }, 'A campaign test was not sent: no provider of its route can take it');
    await deleteSystemMail(db, mailId);
    return { retryMs: null };
  }
  const state = { claimed: null as Claimed | null };
  const claim = async () => (state.claimed ??= await claimMail(services, mail));
  let waitMs = Infinity;
  let outcome: SendOutcome | null = null;
  for (const provider of providers) {
    const tried = await tryProvider(services, provider, claim, send);
    if (tried === null) return { retryMs: null };
    if ('waitMs' in tried) waitMs = Math.min(waitMs, tried.waitMs);
    else outcome = tried;
    if (!isNext || (outcome && !mayMoveAfter(outcome))) break;
  }
  const { claimed } = state;
  if (!outcome || !claimed) return { retryMs: circuitRetryMs(waitMs, true) };
  return { retryMs: await endAttempt(services, mail, claimed, outcome) };
}

/**
 * Returns the providers that may get a mail, in order. `isNext`: after a refusal, the next provider
 * gets the mail.
 */
async function findProviders(
  services: SystemMailServices,
  mail: SystemMailRow,
): Promise<{ providers: SystemMailProvider[]; isNext: boolean }> {
  const byDefault = { id: defaultProviderId, mailer: services.mailer };
  if (mail.project_id === null) return { providers: [byDefault], isNext: false };
  const { routes, providers: known } = await routingOf(services, mail.project_id);
  const routed = { ...mail, message_class: mail.message_class ?? '' };
  const { candidates, onDown } = chooseProviders(routed, routes, known);
  const usable = candidates.filter(({ reason }) => reason === null);
  const providers = usable.flatMap(({ providerId }) =>
    providerId === defaultProviderId ? byDefault : (known.get(providerId) ?? []),
  );
  return { providers, isNext: onDown === 'next' };
}

type SystemMailProvider = Pick<PoolProvider, 'id' | 'mailer'>;

/**
 * Gives a mail to a provider. Returns the outcome, or the milliseconds to wait if the provider
 * cannot take mail. null: the mail must not be sent again.
 */
async function tryProvider(
  services: SystemMailServices,
  provider: SystemMailProvider,
  claim: () => Promise<Claimed | null>,
  send: (mailer: Mailer) => Promise<SendOutcome>,
): Promise<SendOutcome | { waitMs: number } | null> {
  const { mailer } = provider;
  const permit = await enterCircuit(services, mailer.provider);
  if ('waitMs' in permit) return permit;
  const shown: ProviderSignal[] = [];
  try {
    if (!(await claim())) return null;
    const outcome = await send(mailer);
    shown.push(signalOf(outcome));
    return outcome;
  } finally {
    await leaveCircuit(services, mailer.provider, permit, shown, () =>
      releaseWaiting(services.db, provider),
    );
  }
}

interface Claimed {
  attemptId: string;
  attempt: number;
}

/** Claims a mail as soon as the sending limits allow it. null: the mail must not be sent again. */
async function claimMail(
  services: SystemMailServices,
  mail: SystemMailRow,
): Promise<Claimed | null> {
  const { db, rates, log } = services;
  const { waitMs } = await takeSendingTokens(db, rates, mail.project_id, 1, { urgent: true });
  await pause(waitMs, cancellationSignal());
  // Each call has a new id, because a later attempt cannot know whether an earlier one gave the
  // mail to the provider.
  const attemptId = randomUUID();
  const claim = () => claimSystemMail(db, mail.id, attemptId);
  const attempt = await changeClaim(services, mail.id, claim);
  if (attempt !== undefined) return { attemptId, attempt };
  const details = { mailId: mail.id, kind: mail.kind, attempt: mail.attempts };
  log.warn(
    details,
    'A mail is not tried again: an attempt was interrupted, and the mail may have been sent',
  );
  await deleteSystemMail(db, mail.id);
  return null;
}

/**
 * Returns true for mail of the platform, and for mail whose sender domain is still verified in its
 * project.
 */
async function maySend(db: Database, mail: SystemMailRow): Promise<boolean> {
  if (mail.project_id === null) return true;
  const domain = await findSenderDomain(db, mail.project_id, domainOf(mail.from_email));
  return domain?.status === 'verified';
}

/**
 * Composes a mail before it is claimed, and returns the function that sends it. Never throws. An
 * internal error counts as an attempt, so that a mail with an error is not retried forever.
 */
async function prepare(
  { returnPaths }: SystemMailServices,
  mail: SystemMailRow,
): Promise<(mailer: Mailer) => Promise<SendOutcome>> {
  try {
    const raw = await composeMessage({
      emailId: mail.id,
      date: mail.created_at,
      from: { name: mail.from_name, address: mail.from_email },
      to: { name: null, address: mail.to_email },
      replyTo: mail.reply_to,
      subject: mail.subject,
      html: wrapDocument(mail.html, ''),
      headers: [],
      attachments: [],
      isTest: mail.kind === 'campaign-test',
    });
    // Reports about this mail are ignored, because the mail has no `email` row.
    const domain = domainOf(mail.from_email);
    const message = {
      emailId: mail.id,
      envelopeFrom: returnPaths.pathOf(mail.id, domain),
      to: mail.to_email,
      raw,
      tracked: false,
      senderDomain: { projectId: mail.project_id, domain },
    };
    return (mailer) => mailer.send(message);
  } catch (error) {
    return () => Promise.resolve({ kind: 'retry', error: String(error), isAboutMessage: true });
  }
}

/**
 * Records the outcome of a claimed mail. Returns the milliseconds until the next try; null: no
 * further try.
 */
async function endAttempt(
  services: SystemMailServices,
  { id, kind, created_at }: SystemMailRow,
  { attemptId, attempt }: { attemptId: string; attempt: number },
  outcome: SendOutcome,
): Promise<number | null> {
  const { db, log, retryMs } = services;
  const details = { mailId: id, kind, attempt };
  if (outcome.kind === 'retry' && Date.now() - created_at.getTime() < retryMs) {
    log.warn({ ...details, error: outcome.error }, 'A mail could not be sent; it is tried again');
    await changeClaim(services, id, () => releaseSystemMail(db, id, attemptId));
    return Math.max(retryDelayMs(attempt), outcome.retryAfterMs ?? 0);
  }
  if (outcome.kind !== 'accepted') {
    log.warn({ ...details, outcome: outcome.kind, error: outcome.error }, 'A mail was given up');
  }
  await changeClaim(services, id, () => deleteSystemMail(db, id));
  return null;
}

/**
 * Begins or ends a claim, and retries while the database is unavailable. A retry of the whole
 * activity would find a claim of another attempt, and give the mail up.
 */
async function changeClaim<T>(
  { log }: SystemMailServices,
  mailId: string,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      log.warn({ error, mailId }, 'The claim of a mail could not be changed yet');
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}
