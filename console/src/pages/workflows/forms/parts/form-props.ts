import type { Dispatch } from 'react';
import type { EditAction } from '../../../../journey/editing.ts';
import type { Config, Journey, Step } from '../../../../journey/graph.ts';

/** Properties of the form of every type of step. */
export interface StepFormProps {
  journey: Journey;
  step: Step;
  config: Config;
  /** Changes the config. A value that is undefined is left out. */
  set: (changes: Config) => void;
  /** Replaces the config. */
  replace: (config: Config, field: string) => void;
  /** The error of a field: `config.amount`. */
  errorOf: (field: string) => string | undefined;
  dispatch: Dispatch<EditAction>;
}

export function without(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/** Returns the number in a number field; undefined: the field is empty or has no number. */
export const numberOf = (text: string): number | undefined =>
  text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);

/** A comparison as it is stored. */
interface Comparison {
  operator: unknown;
  value: unknown;
  /** The field to compare with, in place of `value`. */
  operand: unknown;
}

/**
 * Returns the parts of a comparison. Every object inherits a method `valueOf` from JavaScript,
 * which does not count.
 */
export function comparisonOf(config: Config): Comparison {
  const { operator, value } = config;
  const operand = Object.hasOwn(config, 'valueOf') ? config['valueOf'] : undefined;
  return { operator, value, operand };
}
