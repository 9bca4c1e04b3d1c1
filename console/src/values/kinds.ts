/** Values of contact data: what is stored, and what is typed. */

export type ValueKind = 'text' | 'number' | 'boolean' | 'date' | 'moment' | 'nothing' | 'json';

export const kindNames: Record<ValueKind, string> = {
  text: 'Text',
  number: 'Number',
  boolean: 'Yes or no',
  date: 'Date',
  moment: 'Date and time',
  nothing: 'Nothing',
  json: 'List or object',
};

const day = /^\d{4}-\d{2}-\d{2}$/;
const moment = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:?\d{2})?$/;

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

export function kindOfValue(value: unknown): ValueKind {
  if (value === null) return 'nothing';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'object') return 'json';
  const text = textOf(value);
  if (day.test(text)) return 'date';
  return moment.test(text) && !Number.isNaN(Date.parse(text)) ? 'moment' : 'text';
}

/** Returns a value as text for an input field. Moments are in the zone of the browser. */
export function typedOf(value: unknown, kind: ValueKind): string {
  if (value === undefined || value === null) return '';
  const text = textOf(value);
  return kind === 'moment' ? localTime(new Date(text)) : text;
}

function localTime(at: Date): string {
  if (Number.isNaN(at.getTime())) return '';
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, at.getUTCSeconds() === 0 ? 16 : 19);
}

/** Returns the value of a typed text; undefined: the text is no value of this kind, or not yet. */
export function valueOf(text: string, kind: ValueKind): unknown {
  if (kind === 'text') return text;
  if (kind === 'nothing') return null;
  if (kind === 'boolean') return text === '' ? undefined : text === 'true';
  if (kind === 'number') {
    const value = Number(text);
    return text.trim() === '' || !Number.isFinite(value) ? undefined : value;
  }
  if (kind === 'date') return day.test(text) ? text : undefined;
  if (kind === 'moment') {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
  }
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A value as a table shows it. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return textOf(value);
}
