import {
  complained,
  delivered,
  type FeedbackAdapter,
  type Json,
  notSent,
  permanent,
  type ServiceOutcome,
  transient,
  unsubscribed,
} from './adapter.ts';
import { requirePassword } from './authentication.ts';
import { ownId, textAt, unixTimeAt, valueAt } from './fields.ts';

/** Mailjet: its Event API sends events one by one, or in groups. */
export const mailjet: FeedbackAdapter = {
  idHeader: { name: 'X-MJ-CustomID', valueOf: (emailId) => emailId },
  authenticate: requirePassword,
  read(event) {
    const outcome = outcomeOf(event);
    if (!outcome) return null;
    return {
      outcome,
      emailId: ownId(textAt(event, 'CustomID')),
      id: null,
      at: unixTimeAt(event, 'time'),
      text: textOf(event),
    };
  },
};

const outcomes = new Map<string, ServiceOutcome>([
  ['sent', delivered],
  ['spam', complained],
  ['blocked', notSent],
  ['unsub', unsubscribed],
]);

function outcomeOf(event: Json): ServiceOutcome | undefined {
  const name = textAt(event, 'event') ?? '';
  if (name !== 'bounce') return outcomes.get(name);
  return valueAt(event, 'hard_bounce') === true ? permanent : transient;
}

function textOf(event: Json): string | null {
  const error = [textAt(event, 'error_related_to'), textAt(event, 'error')];
  const words = error.filter((word) => word !== null).join(': ');
  return textAt(event, 'comment') ?? textAt(event, 'smtp_reply') ?? (words || null);
}
