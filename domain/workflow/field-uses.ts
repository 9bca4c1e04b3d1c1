import { reservedDataKeys } from '../contact/data.ts';
import { type ContactField, isField } from '../contact/field.ts';
import { stepFieldOf } from '../filter/filter.ts';
import { type FieldComparison, fieldsOf } from '../filter/step.ts';
import { stepModules, stepTypesWith, type StepType } from './steps/registry.ts';

/** Finds uses of contact fields, segments and events in the steps of workflows. */

/** The types of steps that may read or change a field. */
export const typesWithFields = stepTypesWith(
  ({ fieldsRead, contactChanges }) => fieldsRead ?? contactChanges,
);

/** The types of steps that may name a segment. */
export const typesWithSegments = stepTypesWith(({ segmentsRead }) => segmentsRead);

/** The types of steps that may read the history of an event. */
export const typesWithEvents = stepTypesWith(({ eventsRead }) => eventsRead);

interface AnyStep {
  type: string;
  config: Record<string, unknown>;
}

export function segmentsOfStep({ type, config }: AnyStep): string[] {
  const named = stepModules[type as StepType]?.segmentsRead?.(config) ?? [];
  return named.map(({ segmentId }) => segmentId);
}

export function stepReadsEvent({ type, config }: AnyStep, eventName: string): boolean {
  return stepModules[type as StepType]?.eventsRead?.(config).includes(eventName) ?? false;
}

/** Returns true when a step changes the field, or reads the field or a value inside it. */
export function stepNamesField({ type, config }: AnyStep, field: ContactField): boolean {
  const module = stepModules[type as StepType];
  if (module?.fieldsRead?.(config).some(({ name }) => namesField(name, field))) return true;
  const changes = module?.contactChanges?.(config);
  if (!changes) return false;
  if (field.kind === 'subscribed') return changes.subscribed;
  if (field.kind !== 'data' || reservedDataKeys.has(field.key)) return false;
  return changes.dataKeys.includes(field.key);
}

/** Returns true when one of the comparisons reads the field, or a value inside it. */
export function whereNamesField(
  where: readonly FieldComparison[] | undefined,
  field: ContactField,
): boolean {
  return fieldsOf(where ?? []).some(({ name }) => namesField(name, field));
}

/** Returns true when a field name in a step means this field of the contact. */
function namesField(name: string, field: ContactField): boolean {
  const place = stepFieldOf(name);
  return place?.root === 'contact' && isField(place.field, field);
}
