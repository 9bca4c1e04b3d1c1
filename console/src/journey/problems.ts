import { findStep, type Journey, triggerKey } from './graph.ts';

/** A finding of POST /workflows/check at its place in the graph. */
export interface Finding {
  /** Key of the step; null: the whole graph. */
  key: string | null;
  /** Field of the step: `config.amount`; empty: the whole step. */
  field: string;
  message: string;
  /** True: the finding prevents saving or enabling. False: it is a warning. */
  isProblem: boolean;
}

interface Checked {
  problems: readonly { field: string; message: string }[];
  warnings: readonly { step: string; message: string }[];
}

/** Returns what a check has found, problems first. */
export function findingsOf(journey: Journey, { problems, warnings }: Checked): Finding[] {
  return [
    ...problems.map(({ field, message }) => ({
      ...placeOf(journey, field),
      message,
      isProblem: true,
    })),
    ...warnings.map(({ step, message }) => ({ key: step, field: '', message, isProblem: false })),
  ];
}

/**
 * Returns the step, and the field of the step, to which a path such as
 * `graph.steps.two-days.config.amount` refers.
 */
function placeOf(journey: Journey, field: string): Pick<Finding, 'key' | 'field'> {
  const path = field.replace(/^graph\./, '');
  const isSetting = /^(trigger|reentry|allowReentry|executionKey|exitRules)\b/.test(path);
  if (isSetting) return { key: triggerKey, field: path.replace(/^trigger\./, '') };
  const way = /^transitions\.(\d+)/.exec(path);
  if (way) return { key: journey.transitions[Number(way[1])]?.from ?? null, field: '' };
  const rest = path.replace(/^steps\./, '');
  // Keys may have dots, so several keys may fit. The longest of them is meant.
  const fitting = journey.steps
    .map(({ key }) => key)
    .filter((key) => rest === key || rest.startsWith(`${key}.`))
    .toSorted((one, other) => other.length - one.length);
  const key = fitting[0] ?? null;
  return { key, field: key === null ? path : rest.slice(key.length + 1) };
}

/** Returns the name of the step of a finding, for a list of findings. */
export function placeName(journey: Journey, { key }: Finding): string {
  return findStep(journey, key)?.name ?? 'Workflow';
}
