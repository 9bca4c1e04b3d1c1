import { z } from 'zod';
import { type FieldCode, fault, faultWithGiven, whenRight } from '../../errors.ts';
import {
  type FieldRoot,
  operandFieldOf,
  type StepField,
  stepFieldOf,
  valueOperators,
} from '../../filter/filter.ts';
import { valueOfText } from '../../filter/json-schemas.ts';
import { comparisonFaults } from '../../filter/parse.ts';
import { type Comparison, operandOf } from '../../filter/step.ts';
import { ownKeys, selection } from '../../filter/selection.ts';
import { isUuid } from '../../ids.ts';
import { limits } from '../../limits.ts';
import { eventNameFault, isUnmadeEvent, mailEvents } from '../../event-names.ts';

/** Schemas that several step types share, and the schemas of exit rules. */

export function addFault(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  code: FieldCode,
  message: string,
): void {
  // The path is copied, because zod changes the paths of issues, and several issues may share one
  // path.
  context.addIssue({ code: 'custom', path: [...path], ...fault(code, message) });
}

/** The name of an event, trimmed, so that the API and steps read the same name. */
export const EventName = z
  .string()
  .trim()
  .superRefine((name, context) => {
    const wrong = eventNameFault(name);
    if (wrong) addFault(context, [], wrong.code, wrong.message);
  })
  .meta({ type: 'string', minLength: 1, maxLength: limits.eventNameChars });

/**
 * Refuses a name that begins with `email.` but is no event of a contact. A step or rule that
 * expects such an event would wait in vain.
 */
export function refuseUnmadeEvent(name: string, context: z.core.$RefinementCtx): void {
  if (!isUnmadeEvent(name)) return;
  context.addIssue({
    code: 'custom',
    message: `There is no event "${name}". Use one of ${mailEvents.join(', ')}.`,
    params: { code: 'reserved_event', received: name },
  });
}

/** The name of an event that a step or rule waits for. */
export const ExpectedEvent = EventName.superRefine(refuseUnmadeEvent);

export const JsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  fault('invalid_type', 'Must be an object.'),
);

/** An id, converted to lower case. */
export const StoredId = z
  .string()
  .refine(isUuid, faultWithGiven('invalid_string', 'Must be a uuid.'))
  .transform((id) => id.toLowerCase());

/**
 * Adds the issues of one comparison: of its operator, its value, or the field in its `valueOf`.
 * @param path place of the comparison in the config
 * @param place the field on the left side; null: the field is not valid
 * @param roots the roots that a field in `valueOf` may have
 */
export function checkComparison(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  place: StepField | null,
  comparison: Comparison,
  roots: readonly FieldRoot[],
): void {
  const operand = operandOf(comparison);
  if (operand !== null) {
    const at = [...path, 'valueOf'];
    if (comparison.value !== undefined) {
      addFault(context, at, 'not_allowed', 'Send either `value` or `valueOf`, not both.');
    }
    checkOperand(context, at, operand, roots);
  }
  if (!place) return;
  for (const { at, message, ...params } of comparisonFaults(place.field, comparison)) {
    if (operand !== null && at !== 'operator') continue;
    context.addIssue({ code: 'custom', path: [...path, at], message, params });
  }
}

/** The id and the name of a branch, both chosen by the customer. */
export const BranchNames = {
  id: z.string().min(1).max(limits.nameChars),
  name: z.string().trim().min(1).max(limits.nameChars),
};

/**
 * Adds the issues of branches with ids that are reserved or not unique.
 * @param key the place of the list in the config
 */
export function checkBranchIds(
  context: z.core.$RefinementCtx,
  key: string,
  branches: readonly { id: string }[],
): void {
  const seen = new Set<string>();
  branches.forEach(({ id }, index) => {
    const path = [key, index, 'id'];
    if (id === 'default') {
      addFault(context, path, 'custom', 'The id "default" is reserved. Choose another id.');
    } else if (seen.has(id)) {
      addFault(context, path, 'custom', `Another branch has the id "${id}". Choose another id.`);
    }
    seen.add(id);
  });
}

function checkOperand(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  name: string,
  roots: readonly FieldRoot[],
): void {
  if (roots.includes(operandFieldOf(name)?.root ?? 'workflow')) return;
  const known = operandRoots.filter((root) => roots.includes(root)).map((root) => `\`${root}.\``);
  const message = `Must be a field that begins with ${inWords(known)}.`;
  addFault(context, path, 'unsupported_field', message);
}

/** The roots that `valueOf` can have. */
export const operandRoots = ['event', 'context', 'contact'] as const;

/** The roots of the field of a CONDITION. */
export const conditionRoots = [...operandRoots, 'workflow'] as const;

/** Returns the field of a comparison. If the field is not valid, adds an issue and returns null. */
export function checkField(
  context: z.core.$RefinementCtx,
  path: (string | number)[],
  field: string,
  roots: readonly FieldRoot[],
): StepField | null {
  const place = stepFieldOf(field);
  if (place && roots.includes(place.root)) return place;
  const known = roots.filter((root) => root !== 'contact').map((root) => `\`${root}.\``);
  const message = `Must be a field of contacts, or begin with ${inWords(known)}.`;
  addFault(context, path, 'unsupported_field', message);
  return null;
}

function inWords(words: readonly string[]): string {
  return words.length < 2
    ? words.join('')
    : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}

/** An operator, with its value or its `valueOf`. */
export const OfOperator = {
  operator: z.enum(valueOperators),
  value: z.unknown().optional(),
  valueOf: z.string().optional().describe(valueOfText),
};

export const OfField = { field: z.string(), ...OfOperator };
export const ofField = Object.keys(OfField);

/** Returns the schema of a condition in a `where`, about fields with these roots. */
function whereItem(roots: readonly FieldRoot[]) {
  const item = selection(OfField).superRefine(
    (given, context) => {
      const place = checkField(context, ['field'], given.field, roots);
      checkComparison(context, [], place, given, roots);
      const chars = JSON.stringify(given.value ?? null).length;
      if (chars > limits.whereValueChars) {
        const message = `Must have at most ${limits.whereValueChars} characters as JSON, not ${chars}.`;
        addFault(context, ['value'], 'too_big', message);
      }
    },
    whenRight(...ofField),
  );
  return ownKeys(item);
}

/** The conditions of a step that expects an event. All must hold. */
export const Where = z
  .array(whereItem(operandRoots))
  .max(limits.whereItems)
  .describe('Conditions that the event must meet; all must hold');

/** The conditions of a trigger. They cannot use `context.`, because no execution exists yet. */
export const TriggerWhere = z
  .array(whereItem(['event', 'contact']))
  .max(limits.whereItems)
  .describe('Conditions that the event must meet; all must hold');

/** Maximum number of exit rules of a workflow, and maximum number of conditions of an exit rule. */
const exitRulesMax = 10;
const exitConditionsMax = 20;

/** The exit rules of a workflow: see `exit-rules.ts`. */
export const ExitRules = z
  .array(
    selection({
      eventName: ExpectedEvent,
      where: z.array(whereItem(operandRoots)).max(exitConditionsMax).optional(),
      reason: z.string().max(limits.exitReasonChars),
    }),
  )
  .max(exitRulesMax);
