import { isPoliced, type DueMail, decideSend, type MailRules } from '../mail/send-decision.ts';
import type { TimedSuppression } from '../mail/suppression.ts';
import type { StepMail } from '../workflow/steps/effects.ts';
import type { SimulatedContact, SimulatedMail } from './simulation.ts';

type Verdict = Pick<SimulatedMail, 'outcome' | 'reason' | 'heldUntil'>;

/** Maximum number of holds of one message, as a precaution. Real messages have far fewer. */
const holdsMax = 1_000;

/**
 * Returns a function that decides whether simulated mail to one contact is sent. Call it in the
 * order of the due times, because frequency caps count earlier mail: the real mail (`received`),
 * and the simulated mail that was sent so far.
 * @param received times of the contact's real mail that counts for the caps
 */
export function createPolicyJudge(
  { workflowId, ...rules }: MailRules & { workflowId: string },
  received: readonly Date[],
) {
  const sent = [...received];
  return (
    mail: StepMail,
    contact: SimulatedContact,
    now: Date,
    known: { suppression: TimedSuppression | null; topicLeft: boolean },
  ): Verdict => {
    if (mail.withheld !== null) {
      return { outcome: 'withheld', reason: mail.withheld, heldUntil: null };
    }
    const lookedAt = {
      source_type: 'WORKFLOW',
      message_class: mail.messageClass,
      to_email: mail.recipient.email,
      contact_email: contact.email,
      contact_subscribed: contact.subscribed,
      contact_data: contact.data,
      project_disabled: false,
      sender_gone: false,
      contact_gone: false,
      topic_left: known.topicLeft,
      contact_id: contact.id,
      topic_id: mail.topicId,
      workflow_id: workflowId,
      created_at: now,
      scheduled_for: null,
    };
    const { sentAt, ...verdict } = playHolds(lookedAt, known.suppression, rules, sent);
    if (sentAt && isPoliced(lookedAt)) sent.push(sentAt);
    return verdict;
  };
}

/**
 * Decides about a message each time it is due. `sentAt`: the time at which it is sent; null: it is
 * not sent.
 */
function playHolds(
  mail: Omit<DueMail, 'suppression'>,
  entry: TimedSuppression | null,
  rules: MailRules,
  sent: readonly Date[],
): Verdict & { sentAt: Date | null } {
  let at = mail.created_at;
  let last: Verdict = { outcome: 'send', reason: null, heldUntil: null };
  for (let holds = 0; holds < holdsMax; holds++) {
    const counted = sent
      .filter((before) => before <= at)
      .toSorted((one, other) => other.getTime() - one.getTime());
    const suppression = entry && (!entry.until || entry.until > at) ? entry : null;
    const decision = decideSend({ ...mail, suppression }, rules, counted, at);
    if (decision.kind === 'send') break;
    if (decision.kind === 'suppress') {
      return { outcome: 'withheld', reason: decision.reason, heldUntil: null, sentAt: null };
    }
    at = decision.until;
    last = { outcome: 'held', reason: decision.reason, heldUntil: decision.until };
  }
  return { ...last, sentAt: at };
}
