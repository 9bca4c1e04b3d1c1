import { type FieldComparison, type FieldScope, isMet } from '../filter/step.ts';

/** An event that ends its contact's executions of the workflow, at whichever step they are. */
export interface ExitRule {
  eventName: string;
  /** Conditions that must all hold when the event comes. */
  where?: FieldComparison[] | undefined;
  /** Becomes the execution's exit reason. */
  reason: string;
}

/**
 * The reason of the first rule that an event meets, or null.
 * @param scope the contact, and the execution's context
 */
export function exitReasonOf(
  rules: readonly ExitRule[],
  event: { name: string; data: Record<string, unknown> | null },
  scope: Pick<FieldScope, 'contact' | 'context'>,
): string | null {
  const fields = { ...scope, event: event.data };
  const rule = rules.find(
    ({ eventName, where = [] }) =>
      eventName === event.name && where.every((item) => isMet(item, fields)),
  );
  return rule?.reason ?? null;
}
