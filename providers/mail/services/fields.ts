import { isUuid } from '../../../domain/ids.ts';
import type { Json } from './adapter.ts';

/** Reads fields of events, which may be of any shape. */

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value at a path of keys; undefined: the path does not exist. */
export function valueAt(event: unknown, ...path: string[]): unknown {
  let value = event;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/**
 * Returns a text or number at a path, as text; null: the path has no such value, or a blank text.
 */
export function textAt(event: unknown, ...path: string[]): string | null {
  const value = valueAt(event, ...path);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** Returns a text if it has the form of an id of Everpost, otherwise null. */
export function ownId(text: string | null): string | null {
  const id = text?.trim();
  return isUuid(id) ? id.toLowerCase() : null;
}

/**
 * Returns Everpost's id of a message from its `Message-ID`; null: another program made the
 * `Message-ID`.
 */
export function idInMessageId(messageId: string | null): string | null {
  const [id = ''] = (messageId ?? '').split('@', 1);
  return ownId(id.replace('<', ''));
}

/** Returns a time from a text in ISO 8601; null: the path has no text. */
export function isoTimeAt(event: unknown, ...path: string[]): Date | null {
  const text = textAt(event, ...path);
  return text === null ? null : new Date(text);
}

/**
 * Unix times from this value on are in milliseconds. As seconds, this value would be in the year
 * 5138.
 */
const firstInMs = 1e11;

/** Returns a time from a Unix time in seconds or milliseconds; null: the path has no time. */
export function unixTimeAt(event: unknown, ...path: string[]): Date | null {
  const text = textAt(event, ...path);
  if (text === null) return null;
  const time = Number(text);
  return new Date(time < firstInMs ? time * 1000 : time);
}
