import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { pause } from '../../running/time-box.ts';
import type { Sendable, SendingServices } from './batch.ts';
import type { BatchProvider } from './batch-providers.ts';
import { type HandOver, MessageAttempt } from './message-attempt.ts';
import { overRateMs, takeTokens } from './provider-tokens.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';

/** Gives claimed messages to their mail providers. */

/**
 * Limits the bytes of attachments of all messages that this process is sending. Four messages with
 * the largest attachments (10 MB by default) fit, but only two of one project. Each byte is in
 * memory about four times: as stored, in base64 and in the message.
 */
const filesUnderWay = createSemaphore(40 * 1024 * 1024);
/**
 * Limits the characters of the bodies of all messages that this process is sending. Six of the
 * largest bodies fit (`limits.renderedBodyBytes`). Each character is in memory about ten times: in
 * the document, with tracked links, as text, in the encoded form of each, and in the message.
 */
const bodiesUnderWay = createSemaphore(12 * 1024 * 1024);
/**
 * Gives claimed messages to their mail providers, with as much concurrency as each provider allows.
 * Never throws.
 */
export async function handOver<E extends Sendable>(
  services: SendingServices,
  given: HandOver<E>,
): Promise<void> {
  const byProvider = new Map<BatchProvider, E[]>();
  for (const email of given.emails) {
    const provider = given.holders.get(email.id) ?? given.providers.default;
    const own = byProvider.get(provider);
    if (own) own.push(email);
    else byProvider.set(provider, [email]);
  }
  await Promise.all(
    [...byProvider].map(([provider, emails]) => giveTo(services, provider, emails, given)),
  );
}

async function giveTo<E extends Sendable>(
  services: SendingServices,
  provider: BatchProvider,
  emails: readonly E[],
  given: HandOver<E>,
): Promise<void> {
  const { urgent, recheck } = given;
  const { mailer } = provider.provider;
  const { granted, waitMs } = await takeTokens(services, provider, emails.length, given);
  for (const { id } of emails.slice(granted)) {
    const delayMs = Math.max(waitMs, overRateMs);
    record(given, provider, { emailId: id, kind: 'released', delayMs });
    recheck.done(id);
  }
  if (granted > 0 && waitMs > 0) await pause(waitMs, given.stop);
  const left = emails.slice(0, granted).values();
  async function attemptNext(): Promise<void> {
    for (const email of left) {
      const needed: [Semaphore, number][] = [
        [filesUnderWay, bytesOf(email)],
        [bodiesUnderWay, email.body?.length ?? 0],
      ];
      const releases: (() => void)[] = [];
      // A slow provider of one project must not take the memory that other projects' mail needs.
      const holder = { urgent, owner: email.project_id };
      for (const [room, amount] of needed) {
        releases.push(room.tryAcquire(amount, holder) ?? (await room.acquire(amount, holder)));
      }
      const attempt = new MessageAttempt(services, email, provider, given);
      record(given, ...(await attempt.run()));
      recheck.done(email.id);
      for (const release of releases) release();
    }
  }
  const parallelism = Math.min(mailer.maxConcurrency, granted);
  await Promise.all(Array.from({ length: parallelism }, attemptNext));
}

function record(
  { progress }: Pick<HandOver<Sendable>, 'progress'>,
  provider: BatchProvider,
  outcome: DeliveryOutcome,
): void {
  progress.outcomes.push(outcome);
  const own = progress.byProvider.get(provider) ?? [];
  own.push(outcome);
  progress.byProvider.set(provider, own);
  if (outcome.kind === 'accepted') progress.refusedInRow = 0;
  if (outcome.kind === 'refused') progress.refusedInRow += 1;
}

/**
 * Returns the bytes of a message's attachments. A damaged row counts as 0, and its message fails
 * when it is composed.
 */
function bytesOf({ attachments }: Sendable): number {
  if (!Array.isArray(attachments)) return 0;
  return attachments.reduce((sum: number, file: { bytes: number }) => sum + file.bytes, 0);
}
