import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { isRefusal } from '../../db/sql-state.ts';
import type { Attempt, DeliveryOutcome } from '../../db/transactions/mail/attempts.ts';
import { recordDeliveryOutcomes } from '../../db/transactions/mail/record-outcomes.ts';
import {
  findLeftClaim,
  type LeftMessage,
  releaseLeftMessages,
} from '../../db/transactions/mail/take-over.ts';
import { isRecipientRefusal } from '../../domain/routing/routing.ts';
import type { Journal } from '../../providers/journal/journal.ts';
import type { LeftJournal } from '../../providers/journal/left-files.ts';
import type { Answer, ReadAttempt } from '../../providers/journal/lines.ts';
import type { SendOutcome } from '../../providers/mail/mailer.ts';
import { deliveryOutcomeOf, type OutcomeRules } from './batches/outcomes.ts';

/** Settles mail that a dead worker had claimed, as far as its journal shows what happened. */

export interface TakeOverServices extends OutcomeRules {
  db: Database;
  log: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
  };
  journal: Journal;
  metrics: { countReturned(count: number): void };
  /** Number of consecutive refusals after which a campaign is paused; 0: never. */
  pauseOnFailures: number;
}

/** Milliseconds between two searches for the files of dead workers. */
const everyMs = 5_000;
/** Milliseconds between two removals of old files. */
const removeEveryMs = 60 * 60_000;

/**
 * Searches for the files of dead workers, at once and then every five seconds, until `stop` is
 * called.
 */
export function startTakeOvers(services: TakeOverServices): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { journal, log } = services;
  let removeAt = 0;
  async function look(): Promise<void> {
    try {
      await journal.takeLeft((left) => takeOver(services, left));
      if (Date.now() < removeAt) return;
      removeAt = Date.now() + removeEveryMs;
      await journal.removeOld();
    } catch (error) {
      log.warn({ error }, 'The journal of a dead worker could not be taken over yet');
    }
  }
  async function work(): Promise<void> {
    while (!signal.aborted) {
      await look();
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
  const working = work();
  return {
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

/** Settles the attempts in the file of a dead worker. Repeating this is harmless. */
export async function takeOver(services: TakeOverServices, left: LeftJournal): Promise<void> {
  const counts = { settled: 0, released: 0, unknown: 0 };
  for (const attempt of left.attempts) {
    if (attempt.hasEnded) continue;
    const isComplete = left.isComplete && !attempt.isVoid;
    const { settled, released, unknown } = await settleAttempt(services, attempt, isComplete);
    counts.settled += settled;
    counts.released += released;
    counts.unknown += unknown;
  }
  services.metrics.countReturned(counts.released);
  const { name: file, isComplete } = left;
  services.log.info({ file, isComplete, ...counts }, 'The journal of a dead worker was taken over');
}

/**
 * Settles the messages of an attempt as far as the journal shows their outcomes, and releases the
 * messages that were never begun.
 * @param isComplete true if messages that the file does not name were certainly never begun
 */
async function settleAttempt(
  services: TakeOverServices,
  attempt: ReadAttempt,
  isComplete: boolean,
): Promise<{ settled: number; released: number; unknown: number }> {
  const { db } = services;
  const { messages, origin, hasChunk } = await findLeftClaim(db, attempt);
  const byId = new Map(messages.map((message) => [message.id, message]));
  const outcomes: DeliveryOutcome[] = [];
  for (const [emailId, answer] of attempt.begun) {
    const message = byId.get(emailId);
    const outcome = outcomeOf(services, { emailId, message, answer, isComplete, hasChunk });
    if (outcome) outcomes.push(outcome);
  }
  const { projectId, attemptId, campaignId } = attempt;
  const { pauseOnFailures } = services;
  const campaign = origin && campaignId && { id: campaignId, pauseOnFailures, chunk: origin };
  if (outcomes.length > 0) {
    await recordAll(services, {
      projectId,
      attemptIds: [attemptId],
      outcomes,
      claimed: messages,
      ...(campaign && { campaign }),
    });
  }
  const unbegun = isComplete
    ? messages.flatMap(({ id, is_waiting: isWaiting }) =>
        isWaiting && !attempt.begun.has(id) ? id : [],
      )
    : [];
  await releaseLeftMessages(db, attempt, unbegun);
  const unknown = outcomes.filter(({ kind }) => kind === 'uncertain').length;
  return { settled: outcomes.length - unknown, released: unbegun.length, unknown };
}

interface Begun {
  emailId: string;
  message: LeftMessage | undefined;
  /** The response of the provider; null: none was received. */
  answer: Answer | null;
  isComplete: boolean;
  hasChunk: boolean;
}

/** Returns the outcome of a message that was begun; null: nothing is to be recorded. */
function outcomeOf(
  services: TakeOverServices,
  { emailId, message, answer, isComplete, hasChunk }: Begun,
): DeliveryOutcome | null {
  if (message?.is_waiting) {
    if (answer) {
      return deliveryOutcomeOf(message, finalOutcomeOf(message, answer), undefined, services);
    }
    // If the file is incomplete, the end of the lease settles this message together with the
    // messages that the file does not name.
    return isComplete ? { emailId, kind: 'uncertain', error: noAnswer } : null;
  }
  // The message was already settled by feedback or by the settle time, or it was deleted. A message
  // without a chunk has its attempt in its row.
  if (answer?.kind !== 'accepted' || (hasChunk && !message)) return null;
  return { emailId, ...answer };
}

const noAnswer = 'The worker ended before the mail provider answered.';

/**
 * Returns the final outcome. A refused message is tried again, because the dead worker may have
 * been about to give the message to the next provider of its route.
 */
function finalOutcomeOf({ provider_id: providerId }: LeftMessage, answer: Answer): SendOutcome {
  const outcome = sendOutcomeOf(answer);
  const isFinal = outcome.kind !== 'refused' || providerId === null || isRecipientRefusal(outcome);
  return isFinal ? outcome : { kind: 'retry', error: outcome.error, isAboutMessage: true };
}

/**
 * Returns a response as an outcome. The journal has no texts of the provider, because they may
 * contain addresses.
 */
function sendOutcomeOf(answer: Answer): SendOutcome {
  switch (answer.kind) {
    case 'accepted':
      return answer;
    case 'refused': {
      const { kind, code, isRecipient } = answer;
      return { kind, error: withCode('The mail provider refused the message', code), isRecipient };
    }
    case 'retry': {
      const { kind, code, isAboutMessage, retryAfterMs } = answer;
      const error = withCode('The mail provider could not take the message', code);
      return { kind, error, isAboutMessage, retryAfterMs };
    }
  }
}

function withCode(text: string, code: string): string {
  return code === '' ? `${text}.` : `${text}: ${code}`;
}

/**
 * Records the outcomes of an attempt. If PostgreSQL rejects an outcome, all messages of the attempt
 * stay claimed until the lease ends.
 */
async function recordAll({ db, log }: TakeOverServices, attempt: Attempt): Promise<void> {
  try {
    await recordDeliveryOutcomes(db, attempt);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { projectId, attemptIds } = attempt;
    log.warn({ error, projectId, attemptIds }, 'The outcomes of a dead worker were rejected');
  }
}
