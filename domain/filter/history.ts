import { type ContactValues, evaluateCondition, type Subject } from './evaluate.ts';
import { type Condition, type EmailActivity, filterFieldOf, filtersOf } from './filter.ts';
import type { Segments } from './parse.ts';

/** The facts about a contact that conditions ask for beside its own values, read at one moment. */
export interface ContactHistory {
  /** The segments that the conditions name, directly or through others; a deleted one is missing. */
  segments: Segments;
  /** The STATIC segments among them that the contact is in. */
  memberships: ReadonlySet<string>;
  /** When the contact had its last event of each name. */
  events: ReadonlyMap<string, Date>;
  /** When each activity last happened to one of its emails. */
  activities: ReadonlyMap<EmailActivity, Date>;
}

export const noHistory: ContactHistory = {
  segments: new Map(),
  memberships: new Set(),
  events: new Map(),
  activities: new Map(),
};

/** The parts of a history that conditions name. */
export interface HistoryNames {
  events: string[];
  activities: EmailActivity[];
  segments: string[];
}

/** The parts of a history that these conditions name, each once. */
export function historyNames(conditions: Iterable<Condition>): HistoryNames {
  const [events, activities] = [new Set<string>(), new Set<EmailActivity>()];
  const segments = new Set<string>();
  for (const condition of conditions) {
    for (const filter of filtersOf(condition)) {
      const field = filterFieldOf(filter.field, filter.operator)?.field;
      if (field?.kind === 'event') events.add(field.name);
      if (field?.kind === 'activity') activities.add(field.name);
      if (field?.kind === 'segment') segments.add(field.id);
    }
  }
  return { events: [...events], activities: [...activities], segments: [...segments] };
}

/** A contact with its history. A DYNAMIC segment has it as a member if the condition holds now. */
export function subjectOf(contact: ContactValues, history: ContactHistory, now: Date): Subject {
  const answers = new Map<string, boolean>();
  const subject: Subject = {
    ...contact,
    lastEvent: (name) => history.events.get(name) ?? null,
    lastActivity: (name) => history.activities.get(name) ?? null,
    isMember(id) {
      const known = answers.get(id);
      if (known !== undefined) return known;
      // Ends a circle, which checked conditions never have.
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
