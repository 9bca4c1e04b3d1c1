import { fromBase64Url, toBase64Url } from './base64-url.ts';
import { isUuid } from './ids.ts';
import { hasForbiddenText } from './text-rules.ts';

/**
 * Cursors of lists: opaque texts that hold where a page ended. They name no row, so that they hold
 * when it is deleted, and no project: the query of a list says whose rows it shows.
 */

/** The place after the item with this sort value and id. */
export interface Position {
  /** Of a time: ISO 8601 in UTC with milliseconds. */
  value: string;
  id: string;
}

/** What the cursors of one order of one list look like. */
export interface CursorForm {
  /** Names the list and what it is sorted by: cursors of anything else are refused. */
  order: string;
  value: 'time' | 'text';
  /** Which ids there are; by default uuids. */
  isId?: (id: string) => boolean;
}

/** The cursor of a position: letters, digits, `-` and `_` alone. */
export function encodeCursor({ order }: CursorForm, { value, id }: Position): string {
  return toBase64Url(JSON.stringify([order, value, id]));
}

/**
 * The position of a cursor, whose parts the database can read whoever wrote it; null for a text
 * that is no cursor of this order.
 */
export function decodeCursor(form: CursorForm, cursor: string): Position | null {
  const parts = readParts(cursor);
  if (!Array.isArray(parts) || parts.length !== 3) return null;
  const [order, value, id] = parts as unknown[];
  if (order !== form.order || typeof value !== 'string' || typeof id !== 'string') return null;
  const isValue = form.value === 'time' ? isTime(value) : !hasForbiddenText(value);
  const isId = form.isId ?? isUuid;
  return isValue && !hasForbiddenText(id) && isId(id) ? { value, id } : null;
}

function readParts(cursor: string): unknown {
  try {
    return JSON.parse(fromBase64Url(cursor) ?? '') as unknown;
  } catch {
    return null;
  }
}

/** Written as `Date` writes it, of a year the database knows, too. */
function isTime(value: string): boolean {
  if (!/^[1-9]\d{3}-/.test(value)) return false;
  const at = new Date(value);
  return !Number.isNaN(at.getTime()) && at.toISOString() === value;
}
