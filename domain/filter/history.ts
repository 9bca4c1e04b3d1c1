import { type ContactValues, evaluateCondition, type Subject } from './evaluate.ts';
import {
  type Condition,
  type EmailActivity,
  filterFieldOf,
  filtersOf,
  mailFieldName,
  type MailField,
} from './filter.ts';
import type { Segments } from './references.ts';

/**
 * The facts for evaluating conditions on one contact, besides the contact's own values. All were
 * read at one moment.
 */
export interface ContactHistory {
  /**
   * The segments that the conditions refer to, directly or through other segments. A deleted
   * segment is missing.
   */
  segments: Segments;
  /** The ids of those STATIC segments that contain the contact. */
  memberships: ReadonlySet<string>;
  /** The time of the contact's last event, by event name. */
  events: ReadonlyMap<string, Date>;
  /** When each activity last happened to one of the contact's emails: see `lastActivity`. */
  activities: ReadonlyMap<EmailActivity, Date>;
  /** Like `activities`, but for the mail of one campaign or template, by field name. */
  mail: ReadonlyMap<string, Date>;
}

export const noHistory: ContactHistory = {
  segments: new Map(),
  memberships: new Set(),
  events: new Map(),
  activities: new Map(),
  mail: new Map(),
};

export interface HistoryNames {
  events: string[];
  activities: EmailActivity[];
  mail: MailField[];
  segments: string[];
}

/** Returns the segments, events and activities that the conditions name, each once. */
export function historyNames(conditions: Iterable<Condition>): HistoryNames {
  const [events, activities] = [new Set<string>(), new Set<EmailActivity>()];
  const segments = new Set<string>();
  const mail = new Map<string, MailField>();
  for (const condition of conditions) {
    for (const filter of filtersOf(condition)) {
      const field = filterFieldOf(filter.field, filter.operator)?.field;
      if (field?.kind === 'event') events.add(field.name);
      if (field?.kind === 'activity') activities.add(field.name);
      if (field?.kind === 'mail') mail.set(mailFieldName(field), field);
      if (field?.kind === 'segment') segments.add(field.id);
    }
  }
  return {
    events: [...events],
    activities: [...activities],
    mail: [...mail.values()],
    segments: [...segments],
  };
}

/**
 * Returns a contact with its history. The contact is a member of a DYNAMIC segment if the condition
 * of the segment holds now.
 */
export function subjectOf(contact: ContactValues, history: ContactHistory, now: Date): Subject {
  const answers = new Map<string, boolean>();
  const subject: Subject = {
    ...contact,
    lastEvent: (name) => history.events.get(name) ?? null,
    lastActivity: (name) => history.activities.get(name) ?? null,
    lastMail: (field) => history.mail.get(mailFieldName(field)) ?? null,
    isMember(id) {
      const known = answers.get(id);
      if (known !== undefined) return known;
      // Stops the recursion if segments refer to each other. This is only a precaution, because
      // saving a segment refuses such references.
      answers.set(id, false);
      const condition = history.segments.get(id);
      const isMember = condition
        ? evaluateCondition(condition, subject, now)
        : condition === null && history.memberships.has(id);
      answers.set(id, isMember);
      return isMember;
    },
  };
  return subject;
}
