import { type FieldComparison, type FieldScope, isMet } from '../filter/step.ts';

/**
 * A rule that ends the contact's executions of the workflow when an event comes, whatever their
 * current steps are.
 */
export interface ExitRule {
  eventName: string;
  /** Conditions on the event, which must all hold. */
  where?: FieldComparison[] | undefined;
  /** The exit reason that the execution gets. */
  reason: string;
}

/**
 * Returns the reason of the first rule that an event meets; null: it meets none.
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
