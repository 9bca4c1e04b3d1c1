import {
  CsvFault,
  type CsvHeader,
  readHeader,
  readRow,
} from '../../../../../domain/contact/csv.ts';
import { type CsvLine, readCsvLines } from '../../../../../domain/contact/csv-lines.ts';

/**
 * A contact file before it is sent: its columns, the targets of the columns, and the parts that are
 * sent.
 */

export type ImportedRow = ReturnType<typeof readRow>;

export interface RowFault {
  row: number;
  email: string;
  error: string;
}

export interface ContactFile {
  name: string;
  /** Names of the columns, as the file has them. */
  columns: readonly string[];
  lines: readonly CsvLine[];
}

/** The name that the import gives a column; null: the column is left out. */
export type Target = string | null;

const encoder = new TextEncoder();

/** Maximum bytes of a part, below the server's limit of 5 MiB. */
const partBytes = 4.5 * 1024 * 1024;

/**
 * Reads a contact file.
 * @throws CsvFault if the file is not CSV in UTF-8
 */
export async function readContactFile(file: File): Promise<ContactFile> {
  const lines: CsvLine[] = [];
  for await (const some of readCsvLines(chunksOf(file))) lines.push(...some);
  const [first, ...rest] = lines;
  if (!first) throw new CsvFault('The file is empty.');
  if (first.fault !== null) throw new CsvFault(`The file is not valid CSV. ${first.fault}`);
  return { name: file.name, columns: first.cells.map((cell) => cell.trim()), lines: rest };
}

async function* chunksOf(file: File): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < file.size; at += size) {
    yield new Uint8Array(await file.slice(at, at + size).arrayBuffer());
  }
}

/** Returns the initial targets of the columns, by the rules with which the server reads names. */
export function firstTargets(columns: readonly string[]): Target[] {
  const isAddress = (name: string) => /^(e-?mail|mail)([ _-]?address)?$/i.test(name);
  const named = columns.findIndex((name) => name.toLowerCase() === 'email');
  const address = named === -1 ? columns.findIndex(isAddress) : named;
  return columns.map((name, index) => {
    if (index === address) return 'email';
    const key = name.toLowerCase();
    return key === '' || key === 'email' ? null : key;
  });
}

/** Returns why the targets cannot be used; null: the targets are valid. */
export function faultOfTargets(targets: readonly Target[]): string | null {
  const used = targets.filter((target) => target !== null);
  if (!used.includes('email')) return 'Choose the column that holds the email address.';
  if (used.includes('')) return 'Name the field of each column.';
  const twice = used.find((target, index) => used.indexOf(target) !== index);
  return twice === undefined ? null : `Two columns become ${twice}. Leave one out.`;
}

/** A column that is left out gets an empty name, which the server ignores. */
const headerOf = (targets: readonly Target[]): CsvHeader =>
  readHeader(targets.map((target) => target ?? ''));

/** The first rows as the server will store them. */
export function previewOf(
  { lines }: ContactFile,
  targets: readonly Target[],
  count: number,
): ImportedRow[] {
  const header = headerOf(targets);
  return lines.slice(0, count).map((line, index) => importedRow(header, line, index + 2));
}

function importedRow(header: CsvHeader, { cells, fault }: CsvLine, row: number): ImportedRow {
  return fault === null ? readRow(header, cells, row) : { row, email: '', error: fault };
}

interface Part {
  content: Blob;
  /** The number that each row of this part has in the user's file. */
  rows: readonly number[];
}

/**
 * Returns the parts to send, in which columns are renamed or left out. Lines that are not valid CSV
 * are returned in `faults`.
 */
export function partsOf(
  { lines }: ContactFile,
  targets: readonly Target[],
): { parts: Part[]; faults: RowFault[] } {
  const kept = targets.flatMap((target, index) => (target === null ? [] : [index]));
  const head = csvLine(kept.map((index) => targets[index]!));
  const parts: Part[] = [];
  const faults: RowFault[] = [];
  let texts = [head];
  let rows: number[] = [];
  let size = head.length;
  const end = () => {
    if (rows.length > 0) parts.push({ content: new Blob(texts, { type: 'text/csv' }), rows });
    [texts, rows, size] = [[head], [], head.length];
  };
  for (const [index, { cells, fault }] of lines.entries()) {
    const row = index + 2;
    if (fault !== null) {
      faults.push({ row, email: '', error: fault });
      continue;
    }
    const text = csvLine(kept.map((column) => cells[column] ?? ''));
    const bytes = encoder.encode(text).length;
    if (size + bytes > partBytes) end();
    texts.push(text);
    rows.push(row);
    size += bytes;
  }
  end();
  return { parts, faults };
}

/**
 * Returns a line of CSV. Each cell is quoted, so that a single empty cell does not make an empty
 * line.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`;
}
