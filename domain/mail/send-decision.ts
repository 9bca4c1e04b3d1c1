import { contactZone } from '../time/zones.ts';
import { needsSubscription } from './headers.ts';
import { type HoldableMail, type Holdout, isHeldOut } from '../holdout/holdout.ts';
import { quietUntil } from './quiet-hours.ts';
import type { WithheldReason } from '../outcomes/outcome.ts';
import type { PolicyHold } from '../outcomes/policy-holds.ts';
import { isSuppressed, refusesConfirmation, type Suppression } from './suppression.ts';
import type { FrequencyCap, SendPolicy } from './send-policy.ts';

/**
 * The decision about a due message whose campaign is not paused. Reasons to suppress the message
 * come before holds. Billing and the sending rates are checked later. When a hold ends, the
 * decision is made again with the facts of that time.
 */
export type SendDecision =
  | { kind: 'send' }
  /** The message fails and is not given to the mail provider. */
  | { kind: 'suppress'; reason: WithheldReason }
  | { kind: 'hold'; reason: Exclude<PolicyHold, 'warm_up' | 'operator'>; until: Date };

/** A message to decide about, with the current state of its contact, project and sender. */
export interface DueMail extends HoldableMail {
  source_type: string;
  message_class: string;
  to_email: string;
  contact_email: string;
  contact_subscribed: boolean;
  contact_data: Record<string, unknown> | null;
  project_disabled: boolean;
  /** True if the sender domain was removed or lost its verification while the message waited. */
  sender_gone: boolean;
  /** True if the contact is being erased, so that the message will be removed, too. */
  contact_gone: boolean;
  /** The suppression list's entry for the address; null: there is none. */
  suppression: Suppression | null;
  topic_left: boolean;
  /** The state of a confirmation mail's opt-in request; null or absent: any other mail. */
  opt_in_state?: string | null;
  created_at: Date;
  scheduled_for: Date | null;
}

const dayMs = 24 * 3_600_000;
/**
 * Maximum delay by a frequency cap, in milliseconds since the message was first due. A message that
 * would have to wait longer is not sent.
 */
const delayMaxMs = 30 * dayMs;

/** The rules of a project for marketing mail; null: there is no rule of this kind. */
export interface MailRules {
  policy: SendPolicy | null;
  holdout: Holdout | null;
}

/**
 * Decides whether a due message is sent, suppressed or held.
 * @param counted the times at which the provider accepted mail that counts for a cap, newest first.
 * Mail that is being sent counts with the current time.
 */
export function decideSend(
  mail: DueMail,
  { policy, holdout }: MailRules,
  counted: readonly Date[],
  now: Date,
): SendDecision {
  const reason = suppressionReason(mail);
  if (reason) return { kind: 'suppress', reason };
  if (!isPoliced(mail)) return { kind: 'send' };
  if (holdout && isHeldOut(mail, holdout, now)) return { kind: 'suppress', reason: 'held_out' };
  if (!policy) return { kind: 'send' };
  const { quietHours, caps, onCap } = policy;
  const zone = contactZone(mail.contact_data, policy);
  const quietEnd = quietHours && quietUntil(quietHours, zone, now);
  if (quietEnd) return { kind: 'hold', reason: 'quiet_hours', until: quietEnd };
  const until = capUntil(caps, counted, now);
  if (!until) return { kind: 'send' };
  const firstDue = Math.max(mail.created_at.getTime(), mail.scheduled_for?.getTime() ?? 0);
  const isLate = until.getTime() > firstDue + delayMaxMs;
  if (onCap === 'skip' || isLate) return { kind: 'suppress', reason: 'frequency_cap' };
  return { kind: 'hold', reason: 'frequency_cap', until };
}

/**
 * Returns the first reason not to send a message that does not depend on its project's policy;
 * null: there is none.
 */
export function suppressionReason(
  mail: Omit<DueMail, keyof HoldableMail | 'contact_data' | 'created_at' | 'scheduled_for'>,
): WithheldReason | null {
  if (mail.contact_gone) return 'contact_deleted';
  if (mail.project_disabled) return 'project_disabled';
  if (mail.sender_gone) return 'domain_not_verified';
  const isMeant = needsSubscription(mail.message_class, mail.source_type) && isToContact(mail);
  if (isMeant && !mail.contact_subscribed) return 'contact_unsubscribed';
  if (isMeant && mail.topic_left) return 'topic_unsubscribed';
  if (mail.opt_in_state && mail.opt_in_state !== 'pending') return 'cancelled';
  const isUnwanted = mail.opt_in_state && refusesConfirmation(mail.suppression);
  return isUnwanted || isSuppressed(mail.suppression, mail.message_class) ? 'suppressed' : null;
}

/** Returns true if the send policy applies to a message. */
export function isPoliced(
  mail: Pick<DueMail, 'source_type' | 'message_class' | 'to_email' | 'contact_email'>,
): boolean {
  const isOfSource = mail.source_type === 'CAMPAIGN' || mail.source_type === 'WORKFLOW';
  return mail.message_class === 'MARKETING' && isOfSource && isToContact(mail);
}

/** Returns true if the mail goes to its contact. A step may send to another address. */
function isToContact(mail: Pick<DueMail, 'source_type' | 'to_email' | 'contact_email'>): boolean {
  return mail.source_type !== 'WORKFLOW' || mail.to_email === mail.contact_email;
}

/**
 * Returns when every cap has room for one more message; null: all caps have room now.
 * @param counted as for `decideSend`
 */
export function capUntil(
  caps: readonly FrequencyCap[],
  counted: readonly Date[],
  now: Date,
): Date | null {
  const ends = caps.flatMap(({ max, perDays }) => {
    const oldest = counted[max - 1];
    return oldest ? [oldest.getTime() + perDays * dayMs] : [];
  });
  const until = Math.max(...ends, now.getTime());
  return until > now.getTime() ? new Date(until) : null;
}
