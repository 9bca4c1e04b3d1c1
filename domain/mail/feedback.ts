/** What a provider, or our own pixel and links, tell of a message that was handed over. */
export type Feedback = { at: Date } &
  /** It is on its way: proves only that it was accepted. */
  (
    | { kind: 'accepted' }
    | { kind: 'delivery' }
    | { kind: 'open' }
    | { kind: 'click'; link: string }
    | {
        kind: 'bounce';
        bounceType: 'Permanent' | 'Undetermined' | 'Transient';
        /** What the receiving server said. */
        text: string | null;
      }
    | { kind: 'complaint' }
    /** Accepted first, then not sent after all: it had a virus, or could not be rendered. */
    | { kind: 'rejection'; text: string }
  );

/** Feedback moves a message only to a later one of these, in whatever order it comes. */
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

/** The part of a message that feedback changes. */
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
  opens: number;
  clicks: number;
}

/** Counters of a campaign, each of distinct messages. */
export type CampaignCounter =
  | 'sent_count'
  | 'delivered_count'
  | 'opened_count'
  | 'clicked_count'
  | 'bounced_count'
  | 'complained_count';

/** All that one piece of feedback does. */
export interface FeedbackEffects {
  state: MessageState;
  /** Entries of the message's trace, oldest first. */
  trace: { state: TraceWord; detail: Record<string, unknown> | null }[];
  /** Events, oldest first; `data` without what all events of a message have. */
  events: { name: string; data: Record<string, unknown> }[];
  counters: CampaignCounter[];
  /** The address does not want or cannot get mail. */
  unsubscribes: boolean;
}

type TraceWord =
  | 'accepted'
  | 'settled'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'refused';

/**
 * What feedback does to a message, or null when it does nothing.
 *
 * Times keep the first occurrence, counters count each. Whatever is heard of a message proves
 * that it was accepted: one whose outcome was unknown counts as sent first, also when it was given
 * up meanwhile. What was never handed over (`attempts` 0) nobody can tell anything about.
 * @param before.isUnderWay an attempt has not heard its answer yet: feedback may be quicker.
 * @param given.acceptedAt when the provider took it, where it says so.
 */
export function applyFeedback(
  before: MessageState & { attempts: number; isUnderWay: boolean },
  feedback: Feedback,
  given: { messageId: string | null; acceptedAt: Date | null },
): FeedbackEffects | null {
  const { attempts, isUnderWay, ...state } = before;
  if (state.status === 'RECEIVED' || (state.sent_at === null && attempts === 0)) return null;
  const effects: FeedbackEffects = {
    state,
    trace: [],
    events: [],
    counters: [],
    unsubscribes: false,
  };
  if (feedback.kind === 'rejection') return reject(effects, feedback.text);
  // Rejected for good by the provider: what follows is of no message.
  if (state.status === 'FAILED' && state.sent_at !== null) return null;
  if (state.sent_at === null) settle(effects, feedback, isUnderWay, given);
  note(effects, feedback);
  return effects.trace.length + effects.events.length > 0 ? effects : null;
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

function note(effects: FeedbackEffects, feedback: Feedback): void {
  const { state } = effects;
  const at = feedback.at.toISOString();
  const { events } = effects;
  switch (feedback.kind) {
    case 'delivery':
      events.push({ name: 'email.delivery', data: { deliveredAt: at } });
      return reach(effects, 'DELIVERED', 'delivered', feedback.at);
    case 'open':
      state.opens += 1;
      events.push({
        name: 'email.open',
        data: { openedAt: at, opens: state.opens, isFirstOpen: state.opens === 1 },
      });
      return reach(effects, 'OPENED', 'opened', feedback.at);
    case 'click': {
      state.clicks += 1;
      const { link } = feedback;
      const isFirstClick = state.clicks === 1;
      events.push({
        name: 'email.click',
        data: { link, clickedAt: at, clicks: state.clicks, isFirstClick },
      });
      return reach(effects, 'CLICKED', 'clicked', feedback.at, { link });
    }
    case 'bounce': {
      const { bounceType, text } = feedback;
      if (bounceType === 'Transient') {
        events.push({ name: 'email.bounce', data: { transientBounce: true } });
        return;
      }
      events.push({ name: 'email.bounce', data: { bounceType, bouncedAt: at } });
      effects.unsubscribes = true;
      state.error = text ?? state.error;
      return reach(effects, 'BOUNCED', 'bounced', feedback.at, { bounceType, text });
    }
    case 'complaint':
      events.push({ name: 'email.complaint', data: { complainedAt: at } });
      effects.unsubscribes = true;
      return reach(effects, 'COMPLAINED', 'complained', feedback.at);
    case 'accepted':
      return;
  }
}

type Reached = 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained';

/** The first time counts for the campaign and the trace, the earliest as the time. */
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

function rankOf(status: EmailStatus): number {
  return (ranks as readonly string[]).indexOf(status);
}

/** A message that got further than being sent was not rejected. */
function reject(effects: FeedbackEffects, text: string): FeedbackEffects | null {
  const { state } = effects;
  if (rankOf(state.status) > rankOf('SENT') || state.status === 'FAILED') return null;
  state.status = 'FAILED';
  state.error = text;
  effects.trace.push({ state: 'refused', detail: { error: text } });
  return effects;
}

/**
 * What happens to mail to the simulator, by its local part (a `+label` is allowed): addresses for
 * trying out what becomes of mail, without a provider. Null: an address like any other.
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

/** Mail to the simulator says nothing about anybody's reputation. */
export function isSimulator(address: string): boolean {
  return address.endsWith('@simulator.test');
}
