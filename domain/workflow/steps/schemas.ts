import { z } from 'zod';
import { type FieldCode, fault, whenRight } from '../../errors.ts';
import {
  type Field,
  stepFieldOf,
  type ValueOperator,
  valueOperators,
} from '../../filter/filter.ts';
import { comparisonFaults } from '../../filter/parse.ts';
import { selection } from '../../filter/selection.ts';
import { isUuid } from '../../ids.ts';
import { limits } from '../../limits.ts';
import { eventNameFault, meantMailEvent } from '../../event-names.ts';

/** Schemas that several types of steps share, and those of exit rules. */

export function addFault(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  code: FieldCode,
  message: string,
): void {
  context.addIssue({ code: 'custom', path, ...fault(code, message) });
}

/** The name of an event, trimmed, so that sending, tracking and querying mean the same event. */
export const EventName = z
  .string()
  .trim()
  .superRefine((name, context) => {
    const wrong = eventNameFault(name);
    if (wrong) addFault(context, [], wrong.code, wrong.message);
  })
  .meta({ type: 'string', minLength: 1, maxLength: limits.eventNameChars });

/** The rule for what is started, woken or ended by an event: under `email.` only some events happen. */
export function refuseUnmadeEvent(name: string, context: z.core.$RefinementCtx): void {
  const meant = meantMailEvent(name);
  if (meant === null) return;
  context.addIssue({
    code: 'custom',
    message: `There is no such email event. Did you mean "${meant}"?`,
    params: { code: 'reserved_event', received: name },
  });
}

/** The name of an event that something waits for. */
export const ExpectedEvent = EventName.superRefine(refuseUnmadeEvent);

export const JsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  fault('invalid_type', 'Must be an object.'),
);

/** An id in lower case. */
export const StoredId = z
  .string()
  .refine(isUuid, fault('invalid_string', 'Must be a uuid.'))
  .transform((id) => id.toLowerCase());

/** Issues of one comparison. `path` is its place in the config. */
export function checkComparison(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  field: Field,
  comparison: { operator: ValueOperator; value?: unknown },
): void {
  for (const { at, message, ...params } of comparisonFaults(field, comparison)) {
    context.addIssue({ code: 'custom', path: [...path, at], message, params });
  }
}

/** The id and the name of a branch, as the customer gives them. */
export const BranchNames = {
  id: z.string().min(1).max(limits.nameChars),
  name: z.string().trim().min(1).max(limits.nameChars),
};

/** Issues of branches whose ids are not unique, or reserved. `key` is the place of the list in the config. */
export function checkBranchIds(
  context: z.core.$RefinementCtx,
  key: string,
  branches: readonly { id: string }[],
): void {
  const seen = new Set<string>();
  branches.forEach(({ id }, index) => {
    const path = [key, index, 'id'];
    if (id === 'default') addFault(context, path, 'custom', 'Is a reserved id.');
    else if (seen.has(id)) addFault(context, path, 'custom', 'Must be unique.');
    seen.add(id);
  });
}

export const unsupportedField = 'Must be a field of contacts, or begin with event. or workflow.';

export const Comparison = { operator: z.enum(valueOperators), value: z.unknown().optional() };

export const OfField = { field: z.string(), ...Comparison };
export const ofField = Object.keys(OfField);

export function checkOfField(
  config: { field: string; operator: ValueOperator; value?: unknown },
  context: z.core.$RefinementCtx,
): void {
  const place = stepFieldOf(config.field);
  if (place) checkComparison(context, [], place.field, config);
  else addFault(context, ['field'], 'unsupported_field', unsupportedField);
}

/** Most exit rules of a workflow, and most conditions of one. */
const exitRulesMax = 10;
const exitConditionsMax = 20;

const ExitCondition = selection(OfField).superRefine(
  (config, context) => {
    if (!config.field.startsWith('workflow.')) return checkOfField(config, context);
    const message = 'Must be a field of contacts, or begin with event.';
    addFault(context, ['field'], 'unsupported_field', message);
  },
  whenRight(...ofField),
);

/** The exit rules of a workflow: see `exit-rules.ts`. */
export const ExitRules = z
  .array(
    selection({
      eventName: ExpectedEvent,
      where: z.array(ExitCondition).max(exitConditionsMax).optional(),
      reason: z.string().max(limits.exitReasonChars),
    }),
  )
  .max(exitRulesMax);
