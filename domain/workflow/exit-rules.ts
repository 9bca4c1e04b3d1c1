import type { ContactValues } from '../filter/evaluate.ts';
import type { ValueOperator } from '../filter/filter.ts';
import { evaluateStepCondition } from '../filter/step.ts';

/** An event that ends the executions of its contact, whatever they are doing. */
export interface ExitRule {
  eventName: string;
  /** All must hold: of the event's data (`event.`) and of the contact then (`contact.`). */
  where?: { field: string; operator: ValueOperator; value?: unknown }[] | undefined;
  /** Becomes the execution's exit reason. */
  reason: string;
}

/** The reason of the first rule that an event meets, or null. */
export function exitReasonOf(
  rules: readonly ExitRule[],
  event: { name: string; data: Record<string, unknown> | null },
  contact: ContactValues,
): string | null {
  const rule = rules.find(
    ({ eventName, where = [] }) =>
      eventName === event.name &&
      where.every((part) => evaluateStepCondition(part, { contact, context: event.data }).result),
  );
  return rule?.reason ?? null;
}
