import { contactDataFault, forbiddenKey, reservedDataKeys } from './data.ts';
import { normaliseEmail } from '../email-address.ts';
import type { RowError } from './job.ts';

/** Reads the header, the cells and the errors of a contact file. */

/** A row with a valid contact. `subscribed` is null when the row does not set it. */
export interface ImportRow {
  row: number;
  email: string;
  subscribed: boolean | null;
  data: Record<string, unknown>;
}

/** The meaning of each column, by position. `dropped`: the column is ignored. */
export type CsvHeader = readonly CsvColumn[];

type CsvColumn = 'email' | 'subscribed' | 'dropped' | { key: string };

/** The error of a file that cannot be imported. The customer reads the message. */
export class CsvFault extends Error {}

const droppedKeys: ReadonlySet<string> = new Set([
  'createdat',
  'updatedat',
  ...[...reservedDataKeys].map((key) => key.toLowerCase()),
]);

/**
 * Reads the header. Names are trimmed and converted to lower case. If two columns are named `email`
 * or two `subscribed`, the first counts. A column without a name, or with a reserved name, is
 * ignored; every other column is contact data.
 * @throws CsvFault if no column is named `email`, or if a name is `__proto__` or contains NUL.
 */
export function readHeader(names: readonly string[]): CsvHeader {
  const seen = new Set<string>();
  const header = names.map((name): CsvColumn => {
    const key = name.trim().toLowerCase();
    if (key.includes('\0'))
      throw new CsvFault('The first line contains a NUL character. Remove it.');
    if (key === forbiddenKey) {
      throw new CsvFault(
        `The first line names a column ${forbiddenKey}, which is not allowed. Rename it.`,
      );
    }
    if (key === 'email' || key === 'subscribed') {
      const isFirst = !seen.has(key);
      seen.add(key);
      return isFirst ? key : 'dropped';
    }
    return key === '' || droppedKeys.has(key) ? 'dropped' : { key };
  });
  if (!seen.has('email')) {
    const found = names.map((name) => `"${name.trim().slice(0, 50)}"`).slice(0, 10);
    throw new CsvFault(
      `The first line must name a column "email". It names ${found.join(', ')}; columns are separated by commas.`,
    );
  }
  return header;
}

/**
 * Returns the contact of a row, or the error of the row. Missing cells are empty; cells without a
 * column are ignored. If two columns have the same name, the last non-empty cell counts.
 * @param row number of the row; the header is row 1.
 */
export function readRow(
  header: CsvHeader,
  cells: readonly string[],
  row: number,
): ImportRow | RowError {
  let address = '';
  let subscribed: boolean | null = null;
  let withNul: number | null = null;
  const data: [string, unknown][] = [];
  for (const [place, raw] of cells.entries()) {
    const cell = raw.trim();
    if (cell.includes('\0')) withNul ??= place + 1;
    const column = header[place];
    if (cell === '' || column === undefined) continue;
    if (column === 'email') address = cell;
    else if (column === 'subscribed') subscribed = isYes(cell.toLowerCase());
    else if (column !== 'dropped') data.push([column.key, readCell(column.key, cell)]);
  }
  if (withNul !== null) {
    return rowError(row, address, `Cell ${withNul} contains a NUL character. Remove it.`);
  }
  if (address === '') return rowError(row, address, 'The row has no email address.');
  const email = normaliseEmail(address);
  if (email === null) return rowError(row, address, 'Not an email address.');
  const change = Object.fromEntries(data);
  // An import never removes stored data. So data that alone exceed the limit also exceed it when
  // merged.
  const fault = contactDataFault(change);
  return fault === null ? { row, email, subscribed, data: change } : rowError(row, address, fault);
}

function isYes(cell: string): boolean {
  return cell === 'true' || cell === '1' || cell === 'yes';
}

const decimal = /^-?(?:0|[1-9]\d*)(\.\d+)?$/;

/** Number of digits of a decimal that a double always preserves. */
const digitsKept = 15;

/**
 * Reads a data cell as a boolean, a number in ordinary notation, or text. The cell stays text if
 * the conversion to a number would lose leading zeros, further digits, or the sign of -0.
 */
export function readCell(key: string, cell: string): string | number | boolean {
  // A locale is always text: "no" is Norwegian.
  if (key === 'locale') return cell;
  const word = cell.length > 5 ? '' : cell.toLowerCase();
  if (word === 'true' || word === 'yes') return true;
  if (word === 'false' || word === 'no') return false;
  const match = decimal.exec(cell);
  if (!match) return cell;
  const value = Number(cell);
  if (Object.is(value, -0)) return cell;
  const isWhole = match[1] === undefined;
  // Larger integers are not exact: 2^53 + 1 would become 2^53.
  if (isWhole) return Math.abs(value) <= 2 ** 53 && String(value) === cell ? value : cell;
  const digits = cell.replace('.', '').replace(/^-?0*/, '');
  return digits.length <= digitsKept ? value : cell;
}

/**
 * Returns the error of a row, with the address as in the file, but cut and without characters that
 * cannot be stored.
 */
function rowError(row: number, address: string, error: string): RowError {
  return { row, email: address.slice(0, 320).replaceAll(/[\0\p{Cs}]/gu, '\uFFFD'), error };
}
