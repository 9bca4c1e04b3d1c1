import { cutText } from '../text-rules.ts';
import { type Condition, type Filter, filtersOf, needsOf, type Operator } from './filter.ts';

/** Conditions in words, for people who read what an execution did or what a version changed. */

/** Maximum number of characters of a value in a sentence. */
const valueChars = 60;

/** Returns a value as JSON, cut to `valueChars`. */
export function valueText(value: unknown): string {
  return cutText(JSON.stringify(value ?? null), valueChars);
}

interface Compared extends Pick<Filter, 'field' | 'operator' | 'value' | 'unit'> {
  valueOf?: unknown;
}

/**
 * Returns a comparison or filter in words: `event.total greater than 10`, `data.plan equals
 * context.plan`.
 */
export function comparisonText(compared: Compared): string {
  return `${compared.field} ${operatorText(compared.operator)}${operandText(compared)}`;
}

/** Returns comparisons in words, joined by "and". */
export function comparisonsText(all: readonly Compared[]): string {
  return all.map(comparisonText).join(' and ');
}

/** Returns each filter of a condition in words. The structure of groups is lost. */
export function filterTexts(condition: Condition): string[] {
  return filtersOf(condition).map(comparisonText);
}

/** Returns an operator in words: `greaterThan` is `greater than`. */
function operatorText(operator: Operator): string {
  return operator.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function operandText(compared: Compared): string {
  const { operator, value, unit } = compared;
  // A plain read of `valueOf` would find the method that all objects inherit.
  const operand = Object.hasOwn(compared, 'valueOf') ? compared.valueOf : undefined;
  switch (needsOf(operator)) {
    case 'nothing':
      return '';
    case 'duration':
      return ` ${String(value)} ${unit}`;
    case 'value':
      return ` ${typeof operand === 'string' ? operand : valueText(value)}`;
  }
}
