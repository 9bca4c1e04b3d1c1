import { escapeHtml } from './html.ts';

/**
 * The origin of a value's text. Only `stored` text is escaped in HTML.
 *  - `trusted`: the template itself, the request that sends the mail, or the system
 *  - `escaped`: stored text that is HTML-escaped already
 *  - `stored`: contact data, events, context, which anyone with a public key can write
 */
export const origin = { trusted: 0, escaped: 1, stored: 2 } as const;
export type Origin = (typeof origin)[keyof typeof origin];

/** The variables of one rendering. */
export interface TemplateScope {
  /** All top-level names. It has no prototype, so no inherited names. */
  values: Record<string, unknown>;
  /** The object behind `data.`: stored and given values merged. */
  data: Record<string, unknown>;
  /** True when the value at this path was given by the request or the system. */
  trusts(path: readonly unknown[]): boolean;
}

/** The output format: how stored text is escaped and how a list is written. */
export interface Target {
  escape: (text: string) => string;
  list: (items: string[]) => string;
}

const asIs = (text: string): string => text;
const listItems = (items: string[]): string => items.map((item) => `<li>${item}</li>`).join('\n');

export const htmlTarget: Target = { escape: escapeHtml, list: listItems };
export const textTarget: Target = { escape: asIs, list: listItems };
export const subjectTarget: Target = { escape: asIs, list: (items) => items.join(', ') };

/** Writes a value as text: lists item by item, objects as JSON, missing and null as ''. */
export function present(
  value: unknown,
  from: Origin,
  target: Target,
  scope: TemplateScope,
): string {
  if (Array.isArray(value)) return target.list(value.map((item) => presentOne(item, from, target)));
  if (value === scope.data && from === origin.stored) {
    const entries = Object.entries(scope.data).map(([key, item]) => {
      const own = scope.trusts(['data', key]) ? origin.trusted : origin.stored;
      return presentEntry(key, item, own, target);
    });
    return `{${entries.join(',')}}`;
  }
  return presentOne(value, from, target);
}

function presentOne(value: unknown, from: Origin, target: Target): string {
  if (value === null || value === undefined) return '';
  const escape = from === origin.stored ? target.escape : asIs;
  if (typeof value === 'object') return JSON.stringify(mapStrings(value, escape));
  return escape(typeof value === 'string' ? value : JSON.stringify(value));
}

function presentEntry(key: string, value: unknown, from: Origin, target: Target): string {
  const escape = from === origin.stored ? target.escape : asIs;
  return JSON.stringify(mapStrings({ [key]: value }, escape)).slice(1, -1);
}

/**
 * Applies `change` to every string inside a JSON value, including object keys. A value nested
 * deeper than the call stack throws RangeError, as JSON.stringify would.
 */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines own properties, so a key named __proto__ stays a plain key.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), mapStrings(item, change)]),
  );
}
