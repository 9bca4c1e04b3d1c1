import { fromBase64Url, toBase64Url } from './base64-url.ts';
import { isUuid } from './ids.ts';
import { hasForbiddenText } from './text-rules.ts';

/**
 * Cursors of lists: opaque texts for the position after a page. A cursor has a sort value and an
 * id, so it stays valid when the item with this id is deleted. A cursor names no project, because
 * the list's query selects the project.
 */

/** The position directly after the item with this sort value and id. */
export interface Position {
  /**
   * The value of the sort column. Times have milliseconds, instants have microseconds; both are in
   * ISO 8601 and UTC.
   */
  value: string;
  id: string;
}

/** The cursors of a list in one order. */
export interface CursorForm {
  /** The name of the list and of its order. The cursor of another list or order is refused. */
  order: string;
  value: 'time' | 'instant' | 'text';
  /** Returns true for a valid id; by default, for a uuid. */
  isId?: (id: string) => boolean;
}

/** Returns the cursor of a position: only letters, digits, `-` and `_`. */
export function encodeCursor({ order }: CursorForm, { value, id }: Position): string {
  return toBase64Url(JSON.stringify([order, value, id]));
}

/**
 * Returns the position in a cursor; null: the text is no cursor of this list and order. The result
 * is safe in a query even if the client forged the cursor.
 */
export function decodeCursor(form: CursorForm, cursor: string): Position | null {
  const parts = readParts(cursor);
  if (!Array.isArray(parts) || parts.length !== 3) return null;
  const [order, value, id] = parts as unknown[];
  if (order !== form.order || typeof value !== 'string' || typeof id !== 'string') return null;
  const isValue = { time: isTime, instant: isInstant, text: isPlain }[form.value](value);
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

/**
 * Returns true for a time in the format of `Date`, in the years 1000 to 9999, which the database
 * supports.
 */
function isTime(value: string): boolean {
  if (!/^[1-9]\d{3}-/.test(value)) return false;
  const at = new Date(value);
  return !Number.isNaN(at.getTime()) && at.toISOString() === value;
}

/** Returns true for a time with microseconds, as the database stores positions. */
function isInstant(value: string): boolean {
  return /\.\d{6}Z$/.test(value) && isTime(`${value.slice(0, -4)}Z`);
}

function isPlain(value: string): boolean {
  return !hasForbiddenText(value);
}
