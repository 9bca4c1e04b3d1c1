/**
 * A report about a message after the mail provider got it. Reports come from the provider, from
 * other mail servers, or from our pixel and links.
 */
export type Feedback = { at: Date } &
  /**
   * `accepted`: the message is in transit. The report proves only that the provider accepted it.
   */
  (
    | { kind: 'accepted'; report?: Reported }
    /** A mail server could not deliver the message yet, and will try again. */
    | { kind: 'delayed'; report: Reported }
    | { kind: 'delivery'; report?: Reported }
    | { kind: 'open' }
    /**
     * `linkId`: the id that `linkIdOf` returns. `linkCount`: number of links of the message;
     * absent: unknown.
     */
    | { kind: 'click'; link: string; linkId: string; linkCount?: number }
    /** A HEAD request to the pixel or a link. It does not change the state of the message. */
    | { kind: 'head'; linkId?: string; linkCount?: number }
    | {
        kind: 'bounce';
        bounceType: 'Permanent' | 'Undetermined' | 'Transient';
        /** The text of the receiving server. */
        text: string | null;
        isListed?: Listed;
        report?: Reported;
      }
    | { kind: 'complaint'; isListed?: Listed; report?: Reported }
    /** The recipient has opted out at the mail service. */
    | { kind: 'unsubscribe' }
    /**
     * The provider accepted the message but did not send it, because it had a virus or could not be
     * rendered.
     */
    | { kind: 'rejection'; text: string }
  );

/** The details of a report by another mail server or by a mail service. */
export interface Reported {
  /**
   * How the report arrived: at the SMTP receiver, by the webhook for messages, in the mailbox, or
   * by the webhook of a mail service.
   */
  source: ReportSource;
  /** An enhanced status code (RFC 3463), such as `5.1.1`; null: the report has none. */
  status: string | null;
  /** The text of the server; at most 500 characters. */
  text: string | null;
  /** True if the kind was guessed from words in the text. */
  guess?: true;
}

export type ReportSource = 'smtp' | 'mime' | 'imap' | 'webhook';

/**
 * True if the provider did not try to deliver, because the address is on the provider's own
 * suppression list (Amazon SES: OnAccountSuppressionList). Such a report does not affect the
 * project's reputation.
 */
type Listed = boolean;

/**
 * The statuses of a message in order. Feedback only moves a message forward in this list, in
 * whatever order it arrives.
 */
const ranks = [
  'PENDING',
  'SENDING',
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
] as const;

export type EmailStatus = (typeof ranks)[number] | 'FAILED' | 'RECEIVED';

/** The columns of a message that feedback changes. */
export interface MessageState {
  status: EmailStatus;
  error: string | null;
  message_id: string | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
  bounced_at: Date | null;
  complained_at: Date | null;
  unsubscribed_at: Date | null;
  /** True if all bounces, or all complaints, came from the provider's own suppression list. */
  bounce_listed: boolean;
  complaint_listed: boolean;
  opens: number;
  clicks: number;
}

/** Counters of a campaign. Each counts a message at most once. */
export type CampaignCounter =
  | 'sent_count'
  | 'delivered_count'
  | 'opened_count'
  | 'clicked_count'
  | 'bounced_count'
  | 'complained_count'
  | 'unsubscribed_count';

export interface FeedbackEffects {
  state: MessageState;
  /** New entries of the message's trace, oldest first. */
  trace: { state: TraceWord; detail: Record<string, unknown> | null }[];
  /** New events, oldest first. `data` lacks the fields that every event of a message has. */
  events: { name: string; data: Record<string, unknown> }[];
  counters: CampaignCounter[];
  /**
   * Why mail to the address must stop: the mail bounced, or the owner of the address complained or
   * opted out at the provider; null: mail need not stop.
   */
  unsubscribes: 'bounce' | 'complaint' | 'provider' | null;
}

type TraceWord =
  | 'accepted'
  | 'settled'
  | 'delivered'
  | 'delayed'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'refused';

/**
 * Returns the effects of feedback on a message, or null when there are none. The times in `state`
 * are those of the earliest occurrences; `opens` and `clicks` count all occurrences.
 *
 * All feedback, also a rejection, proves that the provider accepted the message. So a message with
 * an unknown outcome first becomes SENT, also if it has the status FAILED by now. Feedback on a
 * message that was never given to the mail provider (`attempts` 0) is ignored.
 * @param before.isUnderWay true if an attempt still waits for its response, which may arrive after
 * the feedback
 * @param before.traced the states in the trace, because delays and transient bounces are added only
 * once
 * @param given.acceptedAt when the provider accepted the message, if it reports this
 */
export function applyFeedback(
  before: MessageState & { attempts: number; isUnderWay: boolean; traced: readonly string[] },
  feedback: Feedback,
  given: { messageId: string | null; acceptedAt: Date | null },
): FeedbackEffects | null {
  const { attempts: _, isUnderWay, traced, ...state } = before;
  if (feedback.kind === 'head') return null;
  if (state.status === 'RECEIVED' || !wasHandedOver(before)) return null;
  const effects: FeedbackEffects = {
    state,
    trace: [],
    events: [],
    counters: [],
    unsubscribes: null,
  };
  // The provider accepted the message and rejected it later. Later feedback cannot change that.
  if (state.status === 'FAILED' && state.sent_at !== null) return null;
  if (state.sent_at === null) settle(effects, feedback, isUnderWay, given);
  if (feedback.kind === 'rejection') return reject(effects, feedback.text);
  note(effects, feedback, traced);
  const { trace, events, unsubscribes } = effects;
  return trace.length + events.length > 0 || unsubscribes ? effects : null;
}

/** Returns true if a message was given to the mail provider at least once. */
export function wasHandedOver({
  sent_at: sentAt,
  attempts,
}: Pick<MessageState, 'sent_at'> & { attempts: number }): boolean {
  return sentAt !== null || attempts > 0;
}

/** Returns true for a message that was accepted and not rejected later. */
export function isAccepted({
  sent_at: sentAt,
  status,
}: Pick<MessageState, 'sent_at'> & { status: string }): boolean {
  return sentAt !== null && rankOf(status) >= rankOf('SENT');
}

function settle(
  effects: FeedbackEffects,
  feedback: Feedback,
  isUnderWay: boolean,
  given: { messageId: string | null; acceptedAt: Date | null },
): void {
  const { state } = effects;
  const sentAt = given.acceptedAt ?? feedback.at;
  state.status = 'SENT';
  state.error = null;
  state.sent_at = sentAt;
  state.message_id ??= given.messageId;
  const messageId = state.message_id;
  effects.trace.push(
    isUnderWay
      ? { state: 'accepted', detail: { messageId } }
      : { state: 'settled', detail: { by: 'feedback', feedback: feedback.kind, messageId } },
  );
  effects.events.push({ name: 'email.sent', data: { sentAt: sentAt.toISOString() } });
  effects.counters.push('sent_count');
}

function note(effects: FeedbackEffects, feedback: Feedback, traced: readonly string[]): void {
  const { state } = effects;
  const at = feedback.at.toISOString();
  const { events } = effects;
  switch (feedback.kind) {
    case 'delivery':
      events.push({ name: 'email.delivery', data: { deliveredAt: at } });
      return reach(effects, 'DELIVERED', 'delivered', feedback.at, detailOf(feedback.report));
    case 'delayed':
      return traceOnce(effects, traced, 'delayed', { ...feedback.report });
    case 'open':
      state.opens += 1;
      events.push({
        name: 'email.open',
        data: { openedAt: at, opens: state.opens, isFirstOpen: state.opens === 1 },
      });
      return reach(effects, 'OPENED', 'opened', feedback.at);
    case 'click': {
      state.clicks += 1;
      const { link, linkId } = feedback;
      const isFirstClick = state.clicks === 1;
      events.push({
        name: 'email.click',
        data: { link, linkId, clickedAt: at, clicks: state.clicks, isFirstClick },
      });
      return reach(effects, 'CLICKED', 'clicked', feedback.at, { link });
    }
    case 'bounce': {
      const { bounceType, text, report } = feedback;
      const detail = { bounceType, text, ...report };
      if (bounceType === 'Transient') {
        events.push({ name: 'email.bounce', data: { transientBounce: true } });
        if (report) traceOnce(effects, traced, 'bounced', detail);
        return;
      }
      events.push({ name: 'email.bounce', data: { bounceType, bouncedAt: at } });
      effects.unsubscribes = feedback.kind;
      state.bounce_listed = isListed(feedback, state.bounced_at, state.bounce_listed);
      state.error = text ?? state.error;
      return reach(effects, 'BOUNCED', 'bounced', feedback.at, detail);
    }
    case 'complaint':
      events.push({ name: 'email.complaint', data: { complainedAt: at } });
      effects.unsubscribes = feedback.kind;
      state.complaint_listed = isListed(feedback, state.complained_at, state.complaint_listed);
      return reach(effects, 'COMPLAINED', 'complained', feedback.at, detailOf(feedback.report));
    case 'unsubscribe':
      effects.unsubscribes = 'provider';
      if (state.unsubscribed_at === null) effects.counters.push('unsubscribed_count');
      state.unsubscribed_at ??= feedback.at;
      return;
    case 'accepted':
    case 'head':
      return;
  }
}

function detailOf(report: Reported | undefined): Record<string, unknown> | null {
  return report ? { ...report } : null;
}

/**
 * Adds an entry unless the trace has this state already, because servers may report the same state
 * any number of times.
 */
function traceOnce(
  { trace }: FeedbackEffects,
  traced: readonly string[],
  state: TraceWord,
  detail: Record<string, unknown>,
): void {
  if (!traced.includes(state)) trace.push({ state, detail });
}

/**
 * Returns true if this feedback, and all earlier feedback of its kind, came from the provider's
 * suppression list.
 */
function isListed(feedback: { isListed?: Listed }, first: Date | null, before: boolean): boolean {
  return (first === null || before) && feedback.isListed === true;
}

type Reached = 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained';

/**
 * Records the time of a state. Only the first report changes the campaign's counters and the trace;
 * the earliest reported time is stored.
 */
function reach(
  effects: FeedbackEffects,
  status: (typeof ranks)[number],
  word: Reached,
  at: Date,
  detail: Record<string, unknown> | null = null,
): void {
  const { state } = effects;
  const before = state[`${word}_at`];
  if (before === null) {
    effects.counters.push(`${word}_count`);
    effects.trace.push({ state: word, detail });
  }
  if (before === null || at < before) state[`${word}_at`] = at;
  if (rankOf(status) > rankOf(state.status)) state.status = status;
}

function rankOf(status: string): number {
  return (ranks as readonly string[]).indexOf(status);
}

/** Handles a rejection. If the message is in a later state than SENT, the report is wrong. */
function reject(effects: FeedbackEffects, text: string): FeedbackEffects | null {
  const { state } = effects;
  if (rankOf(state.status) > rankOf('SENT')) return null;
  state.status = 'FAILED';
  state.error = text;
  effects.trace.push({ state: 'refused', detail: { error: text } });
  return effects;
}

/**
 * Returns the feedback that the simulator gives for mail to an address, so that feedback can be
 * tested without a provider. The local part of the address selects it, and a `+label` is allowed.
 * Null: the address is not of the simulator.
 */
export function simulatedFeedback(address: string, at: Date): Feedback[] | null {
  const [, word] = /^([a-z]+)(?:\+[^@]*)?@simulator\.test$/.exec(address) ?? [];
  switch (word) {
    case 'success':
      return [{ kind: 'delivery', at }];
    case 'bounce':
      return [{ kind: 'bounce', at, bounceType: 'Permanent', text: 'Simulated: no such mailbox.' }];
    case 'softbounce':
      return [{ kind: 'bounce', at, bounceType: 'Transient', text: 'Simulated: mailbox full.' }];
    case 'complaint':
      return [
        { kind: 'delivery', at },
        { kind: 'complaint', at },
      ];
    default:
      return null;
  }
}

/** Returns true for an address of the simulator. Mail to it does not affect reputation. */
export function isSimulator(address: string): boolean {
  return address.endsWith('@simulator.test');
}
