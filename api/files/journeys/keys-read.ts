import {
  type Condition,
  filtersOf,
  fullStepName,
  stepFieldOf,
} from '../../../domain/filter/filter.ts';
import { fieldsOf } from '../../../domain/filter/step.ts';
import type { SendPolicy } from '../../../domain/mail/send-policy.ts';
import { segmentsOfStep } from '../../../domain/workflow/field-uses.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';
import type { PlayableWorkflow } from './project.ts';

/**
 * Returns the keys of contact data, events and context that decide which way an execution takes:
 * those in conditions, waits, exit rules, the trigger and the execution key, and the time zone.
 */
export function keysRead(
  { graph, trigger, executionKey }: PlayableWorkflow,
  segments: ReadonlyMap<string, Condition | null>,
  policy: SendPolicy,
): Set<string> {
  const where = [trigger.where ?? [], ...(graph.exitRules ?? []).map((rule) => rule.where ?? [])];
  const inSteps = graph.steps.flatMap(
    ({ type, config }) => stepModules[type].fieldsRead?.(config) ?? [],
  );
  const names = [
    ...[...inSteps, ...where.flatMap(fieldsOf)].map(({ name }) => name),
    ...segmentNames(graph.steps.flatMap(segmentsOfStep), segments),
    ...[executionKey, policy.contactTimeZoneField].flatMap((name) => name ?? []),
  ];
  return new Set(names.flatMap(keyIn));
}

/** Returns the first key of the path that a field name has behind its prefix. */
function keyIn(name: string): string[] {
  const place = stepFieldOf(fullStepName(name));
  return place?.field.kind === 'data' ? place.field.path.slice(0, 1) : [];
}

/** Returns the field names in the conditions of segments, and of the segments that they name. */
function segmentNames(
  ids: readonly string[],
  segments: ReadonlyMap<string, Condition | null>,
): string[] {
  const seen = new Set(ids);
  const names: string[] = [];
  // The set grows while the loop runs.
  for (const id of seen) {
    const condition = segments.get(id);
    if (!condition) continue;
    for (const { field } of filtersOf(condition)) {
      names.push(field);
      const [, inner] = /^segment\.(.+)$/.exec(field) ?? [];
      if (inner !== undefined) seen.add(inner);
    }
  }
  return names;
}
