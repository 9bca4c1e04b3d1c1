import { type Condition, type Filter, type FlatCondition } from '../../filter/filter.ts';
import { asCondition } from '../../filter/forms.ts';
import { isJsonEqual } from '../../filter/value.ts';
import { comparisonText, filterTexts, valueText } from '../../filter/words.ts';
import { hidden, shownConfig } from '../../secrets/in-templates.ts';

/**
 * Describes the differences of two configs in words: `amount 1 → 3`, `arm "Short" weight 50 → 70`.
 */

type Config = Record<string, unknown>;

/** Returns the differences of two configs, without the values of credentials. */
export function configDifferences(before: Config, after: Config): string[] {
  const [partsBefore, partsAfter] = [partsOf(before), partsOf(after)];
  return [
    ...settingDifferences(partsBefore.settings, partsAfter.settings),
    ...conditionDifferences(partsBefore.conditions, partsAfter.conditions),
    ...itemDifferences(partsBefore.branches, partsAfter.branches, {
      prefix: 'branch ',
      all: 'branches',
    }),
    ...itemDifferences(partsBefore.arms, partsAfter.arms, { prefix: 'arm ', all: 'arms' }),
  ];
}

/** Returns the difference of a setting in words; empty when both values are equal. */
export function valueDifferences(path: string, before: unknown, after: unknown): string[] {
  if (isJsonEqual(before ?? null, after ?? null)) return [];
  if (before === undefined) return [`${path} set to ${valueText(after)}`];
  if (after === undefined) return [`${path} removed`];
  return [`${path} ${valueText(before)} → ${valueText(after)}`];
}

/** A branch, an arm or an exit rule. */
interface Item extends Config {
  id: string;
  name?: string;
}

interface Parts {
  settings: Config;
  /** The conditions as stored and in words, to compare and to show. */
  conditions: { stored: unknown; texts: string[] };
  branches: readonly Item[];
  arms: readonly Item[];
}

function partsOf(config: Config): Parts {
  const { where, filter, branches = [], arms = [], ...settings } = config;
  const texts = [
    ...((where ?? []) as Filter[]).map(comparisonText),
    ...(filter ? filterTexts(asCondition(filter as Condition | FlatCondition)) : []),
  ];
  return {
    settings,
    conditions: { stored: [where ?? [], filter ?? null], texts },
    branches: branches as Item[],
    arms: arms as Item[],
  };
}

function conditionDifferences(before: Parts['conditions'], after: Parts['conditions']): string[] {
  if (isJsonEqual(before.stored, after.stored)) return [];
  const differences = [
    ...without(after.texts, before.texts).map((text) => `condition ${text} added`),
    ...without(before.texts, after.texts).map((text) => `condition ${text} removed`),
  ];
  return differences.length > 0 ? differences : ['conditions combined or ordered differently'];
}

/** Returns the differences of two lists. Items are matched by their ids. */
export function itemDifferences(
  before: readonly Item[],
  after: readonly Item[],
  words: { prefix: string; all: string },
): string[] {
  const named = ({ id, name = id }: Item) => `${words.prefix}${valueText(name)}`;
  const [known, kept] = [before, after].map((items) => new Map(items.map((one) => [one.id, one])));
  const differences = [
    ...after.flatMap((item) => {
      const old = known!.get(item.id);
      if (!old) return [`${named(item)} added`];
      return configDifferences(old, item).map((text) => `${named(old)} ${text}`);
    }),
    ...before.filter(({ id }) => !kept!.has(id)).map((item) => `${named(item)} removed`),
  ];
  if (differences.length > 0 || isJsonEqual(before, after)) return differences;
  return [`${words.all} in another order`];
}

function without(some: readonly string[], others: readonly string[]): string[] {
  return some.filter((text) => !others.includes(text));
}

function settingDifferences(before: Config, after: Config): string[] {
  const [hiddenBefore, hiddenAfter] = [leaves(shownConfig(before)), leaves(shownConfig(after))];
  const [leavesBefore, leavesAfter] = [leaves(before), leaves(after)];
  const paths = new Set([...leavesBefore.keys(), ...leavesAfter.keys()]);
  return [...paths].flatMap((path) => {
    const differences = valueDifferences(path, leavesBefore.get(path), leavesAfter.get(path));
    const isHidden = [hiddenBefore, hiddenAfter].some((known) => known.get(path) === hidden);
    return isHidden && differences.length > 0 ? [`${path} changed`] : differences;
  });
}

/**
 * Maximum number of keys in a path. A deeper change is shown as a change of the whole object at
 * this depth.
 */
const pathMax = 6;

/**
 * Returns all leaf values inside a value, by path. An empty list or object also counts as a leaf.
 */
function leaves(value: unknown, path: readonly string[] = []): Map<string, unknown> {
  const isInner = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (!isInner || path.length === pathMax)
    return new Map(path.length === 0 ? [] : [[path.join('.'), value]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...leaves(inner, [...path, key])]),
  );
}
