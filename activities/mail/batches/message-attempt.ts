import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { type Chosen, recordMove } from '../../../db/transactions/mail/provider-claims.ts';
import { domainOf } from '../../../domain/email-address.ts';
import { urlOnHost } from '../../../domain/links/tracking-host.ts';
import type { MessageClass } from '../../../domain/mail/headers.ts';
import {
  isRecipientRefusal,
  mayMoveAfter,
  type ProviderDecision,
  type SkipReason,
  type SkippedProvider,
} from '../../../domain/routing/routing.ts';
import { suppressionReason } from '../../../domain/mail/send-decision.ts';
import { isTracked } from '../../../domain/mail/tracking-setting.ts';
import type { AttemptNotes } from '../../../providers/journal/writer.ts';
import type { Mailer, SendOutcome } from '../../../providers/mail/mailer.ts';
import { pause } from '../../running/time-box.ts';
import {
  BodyTooLarge,
  type CampaignChunk,
  type Composed,
  ContentUnavailable,
  type Sendable,
  type SendingServices,
  type Tracking,
} from './batch.ts';
import type { BatchProvider, BatchProviders } from './batch-providers.ts';
import { deliveryOutcomeOf } from './outcomes.ts';
import { takeTokens } from './provider-tokens.ts';
import type { Recheck } from './recheck.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';

/**
 * Limits the number of messages that this process is sending to a provider, over all batches. A
 * message waits for a connection here and not in the mailer, because its lease is checked after
 * this wait.
 */
const connectionsByMailer = new WeakMap<Mailer, Semaphore>();
function connectionsOf(mailer: Mailer): Semaphore {
  const known = connectionsByMailer.get(mailer) ?? createSemaphore(mailer.maxConcurrency);
  connectionsByMailer.set(mailer, known);
  return known;
}

/** The outcomes of a batch so far. */
export interface Progress {
  outcomes: DeliveryOutcome[];
  /** The outcomes, by the provider that had the message last. */
  byProvider: Map<BatchProvider, DeliveryOutcome[]>;
  /** Number of consecutive messages that were refused. */
  refusedInRow: number;
  /** Number of characters of bodies in the outcomes that are not recorded yet. */
  unrecordedChars: number;
  /**
   * Set when the content of messages cannot be loaded, so that no further messages are composed.
   */
  fault?: ContentUnavailable;
}

export interface HandOver<E extends Sendable> {
  attemptId: string;
  /** undefined: the messages are in no chunk. */
  chunk: CampaignChunk | undefined;
  emails: readonly E[];
  overLimit: ReadonlySet<string>;
  compose: (email: E, tracking: Tracking | null) => Composed | Promise<Composed>;
  providers: BatchProviders;
  /** For each message id, the provider that has the message now. */
  holders: Map<string, BatchProvider>;
  progress: Progress;
  notes: AttemptNotes;
  /** Returns true if no further message should be given to a mail provider. */
  isOver: () => boolean;
  recheck: Recheck;
  /** True if this mail goes before other mail. */
  urgent: boolean;
  stop: AbortSignal;
}

/**
 * Maximum number of milliseconds that a refused message waits for the next provider, whose ramp has
 * reached its limit of the day.
 */
const rampWaitMsMax = 3_600_000;

/**
 * Returns why a message must not be sent, from the values read with its claim; null: it may be
 * sent.
 */
export function reasonAgainst(email: Sendable) {
  // Only one provider may get the message, and that provider is no longer in the settings.
  const isLost = email.is_bound && !email.chosen && !isOfDefault(email);
  return email.withheld ?? suppressionReason(email) ?? (isLost ? 'delivery_unknown' : null);
}

const isOfDefault = ({ provider_id: id }: Sendable) => id === null || id === 'default';

/**
 * Sends one message to its first provider and, if that provider refuses it, to the next providers
 * of the route.
 */
export class MessageAttempt<E extends Sendable> {
  readonly #services: SendingServices;
  readonly #email: E;
  readonly #given: HandOver<E>;
  #provider: BatchProvider;
  /** undefined: the default provider, without a route. */
  #chosen: Chosen | undefined;
  #isTracked: boolean;
  /** The response of a provider that could not take the message now; null: there was none. */
  #retry: SendOutcome | null = null;

  constructor(services: SendingServices, email: E, provider: BatchProvider, given: HandOver<E>) {
    this.#services = services;
    this.#email = email;
    this.#given = given;
    this.#provider = provider;
    this.#chosen = email.chosen;
    // A confirmation mail is not tracked, because only its reader may see the link.
    this.#isTracked =
      !email.opt_in_state && isTracked(email.project_tracking, email.message_class as MessageClass);
  }

  /**
   * Sends the message. Returns the outcome, and the provider that had the message last. Never
   * throws.
   */
  async run(): Promise<[BatchProvider, DeliveryOutcome]> {
    const { overLimit } = this.#given;
    const email = this.#email;
    const reason = reasonAgainst(email) ?? (overLimit.has(email.id) ? 'billing_limit' : null);
    let release = await this.#connect();
    try {
      if (this.#given.isOver()) return [this.#provider, this.#released()];
      if (reason) return [this.#provider, { emailId: email.id, kind: 'withheld', reason }];
      const composed = await this.#compose();
      if ('kind' in composed) return [this.#provider, composed];
      for (;;) {
        const before = this.#provider;
        const outcome = await this.#try(composed);
        if (outcome) return [before, outcome];
        release();
        release = await this.#connect();
      }
    } finally {
      release();
    }
  }

  /** Waits for a free connection. Returns the function that releases it. */
  async #connect(): Promise<() => void> {
    const connections = connectionsOf(this.#provider.provider.mailer);
    return connections.tryAcquire(1) ?? connections.acquire(1, { urgent: this.#given.urgent });
  }

  #released(delayMs = 0): DeliveryOutcome {
    return { emailId: this.#email.id, kind: 'released', delayMs };
  }

  async #compose(): Promise<Composed | DeliveryOutcome> {
    const { compose, progress } = this.#given;
    const emailId = this.#email.id;
    try {
      const made = compose(this.#email, this.#isTracked ? this.#tracking() : null);
      return made instanceof Promise ? await made : made;
    } catch (error) {
      if (error instanceof ContentUnavailable) {
        progress.fault = error;
        return { emailId, kind: 'released' };
      }
      if (error instanceof BodyTooLarge) {
        return { emailId, kind: 'withheld', reason: 'message_too_large' };
      }
      // An internal error with one message must not affect the rest of the batch.
      const failed = { kind: 'retry', error: String(error), isAboutMessage: true } as const;
      return this.#outcomeOf(failed);
    }
  }

  /**
   * Returns the tracking of links, on the tracking host of the sender domain if the domain has one;
   * null: no tracking.
   */
  #tracking(): Tracking | null {
    const { tracking } = this.#services;
    const host = this.#email.tracking_host;
    if (!tracking || host === null) return tracking;
    return { ...tracking, apiUrl: urlOnHost(tracking.apiUrl, host) };
  }

  /**
   * Tries the current provider. Returns the outcome; null: the provider did not take the message,
   * and the next provider may be tried.
   */
  async #try(composed: Composed): Promise<DeliveryOutcome | null> {
    const obstacle = await this.#findObstacle(composed);
    if (obstacle) return this.#pass(obstacle, composed.raw.length);
    const answer = await this.#send(composed);
    this.#provider.note(answer);
    this.#given.progress.unrecordedChars += charsOf(composed.content);
    if (answer.kind === 'retry') this.#retry = answer;
    if (this.#mayMove(answer)) return this.#move(answer, composed);
    return this.#final(answer, composed);
  }

  async #findObstacle({
    raw,
  }: Composed): Promise<Extract<SkipReason, 'too_large' | 'down'> | null> {
    const { maxMessageBytes } = this.#provider.provider;
    if (maxMessageBytes !== null && raw.length > maxMessageBytes) return 'too_large';
    if (this.#provider.hasFailed()) return 'down';
    // If the database does not answer, the provider is passed over, because another message may be
    // the probe.
    const mayEnter = await this.#provider.enter(this.#services).catch(() => false);
    return mayEnter ? null : 'down';
  }

  /**
   * Passes over a provider without giving it the message. Returns the outcome; null: the next
   * provider may be tried.
   */
  async #pass(reason: 'too_large' | 'down', messageBytes: number): Promise<DeliveryOutcome | null> {
    const chosen = this.#chosen;
    const isHeld = reason === 'down' && chosen?.choice.onDown !== 'next';
    const { routing } = this.#given.providers;
    if (!chosen || !routing || isHeld) return this.#stopped();
    const decision = routing.next(chosen.choice, chosen.position, messageBytes);
    if (decision.kind === 'send')
      return this.#moveTo(decision, { reason, error: null, messageBytes });
    if (this.#retry) return this.#outcomeOf(this.#retry);
    if (decision.kind === 'wait') return this.#released(decision.waitMs);
    if (reason === 'down') return this.#released();
    return { emailId: this.#email.id, kind: 'withheld', reason: 'no_provider' };
  }

  /**
   * Moves a message that its provider has refused to the next provider. Returns the outcome; null:
   * the next provider may be tried.
   */
  async #move(
    answer: Extract<SendOutcome, { error: string }>,
    composed: Composed,
  ): Promise<DeliveryOutcome | null> {
    const { choice, position } = this.#chosen!;
    const { routing } = this.#given.providers;
    const decision = routing!.next(choice, position, composed.raw.length);
    if (decision.kind === 'none' || this.#given.isOver()) return this.#final(answer, composed);
    if (decision.kind === 'send') {
      const { error } = answer;
      return this.#moveTo(decision, {
        reason: 'refused',
        error,
        messageBytes: composed.raw.length,
      });
    }
    const retryAfterMs = decision.waitMs;
    return this.#outcomeOf({ kind: 'retry', error: answer.error, retryAfterMs }, composed);
  }

  /**
   * Commits the choice of the next provider before that provider gets the message, so that the
   * outcome is always looked for at the right provider.
   */
  async #moveTo(
    decision: Extract<ProviderDecision, { kind: 'send' }>,
    why: { reason: SkipReason; error: string | null; messageBytes: number },
    skipped: readonly SkippedProvider[] = [],
  ): Promise<DeliveryOutcome | null> {
    const { attemptId, chunk, holders } = this.#given;
    const routing = this.#given.providers.routing!;
    const { choice } = this.#chosen!;
    const from = { providerId: this.#provider.provider.id, reason: why.reason };
    const move = {
      projectId: this.#email.project_id,
      email: this.#email,
      attemptId,
      hasChunk: chunk !== undefined,
      claimedAt: chunk?.claimedAt ?? null,
      providerId: decision.providerId,
      detail: routing.detailOf(choice, decision, [from, ...skipped]),
      error: why.error,
    };
    // If the database does not answer, no other provider gets the message in this attempt.
    const result = await recordMove(this.#services.db, move).catch(() => 'lost' as const);
    if (result === 'lost') return this.#stopped();
    if (result !== 'moved') {
      const { providerId, position } = decision;
      const further = routing.next(choice, position, why.messageBytes);
      const full = [...skipped, { providerId, reason: 'ramp' } as const];
      if (further.kind === 'send') return this.#moveTo(further, why, full);
      if (this.#retry) return this.#outcomeOf(this.#retry);
      return this.#released(Math.min(result.full.until.getTime() - Date.now(), rampWaitMsMax));
    }
    this.#chosen = { choice, position: decision.position };
    this.#provider = routing.providerOf(this.#chosen);
    holders.set(this.#email.id, this.#provider);
    const tokens = await takeTokens(this.#services, this.#provider, 1, this.#given);
    if (tokens.granted === 0) return this.#released(tokens.waitMs);
    if (tokens.waitMs > 0) await pause(tokens.waitMs, this.#given.stop);
    return this.#given.isOver() ? this.#released() : null;
  }

  /**
   * Releases the message. A message that a provider has refused temporarily is retried later
   * instead.
   */
  #stopped(): DeliveryOutcome {
    return this.#retry ? this.#outcomeOf(this.#retry) : this.#released();
  }

  /** Returns true if another provider may get the message after this response. */
  #mayMove(answer: SendOutcome): answer is Extract<SendOutcome, { error: string }> {
    const isNext = this.#chosen?.choice.onDown === 'next' && this.#given.providers.routing;
    return Boolean(isNext) && mayMoveAfter(answer);
  }

  /**
   * Returns the final outcome. A refusal is not final if another provider of the route may take the
   * message later.
   */
  #final(answer: SendOutcome, composed: Composed): DeliveryOutcome {
    const isLater = answer.kind === 'refused' && !isRecipientRefusal(answer) && this.#retry;
    return this.#outcomeOf(isLater || answer, composed);
  }

  #outcomeOf(answer: SendOutcome, composed?: Composed): DeliveryOutcome {
    const rules = { mailer: this.#provider.provider.mailer, retryMs: this.#services.retryMs };
    return deliveryOutcomeOf(this.#email, answer, composed?.content, rules);
  }

  async #send({ raw }: Composed): Promise<SendOutcome> {
    const { recheck, notes } = this.#given;
    const { tracking, returnPaths } = this.#services;
    const { id: emailId, project_id: projectId, from_email: from, to_email: to } = this.#email;
    await recheck.renew();
    const domain = domainOf(from);
    return this.#provider.provider.mailer.send({
      emailId,
      mayBegin: () => recheck.mayBegin(emailId),
      notes: notes.messageNotes(emailId),
      envelopeFrom: returnPaths.pathOf(emailId, domain),
      senderDomain: { projectId, domain },
      to,
      raw,
      tracked: this.#isTracked && tracking === null,
    });
  }
}

function charsOf(content: Composed['content']): number {
  if (!content) return 0;
  if ('body' in content) return content.body.length;
  return content.values.reduce((sum, value) => sum + value.length, 0);
}
