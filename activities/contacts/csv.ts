import { CsvError, parse, type Parser } from 'csv-parse';
import {
  CsvFault,
  type CsvHeader,
  type ImportRow,
  readHeader,
  readRow,
} from '../../domain/contact/csv.ts';
import { CsvRecords } from '../../domain/contact/csv-records.ts';
import type { RowError } from '../../domain/contact/job.ts';

/** The bytes of a file, in chunks. */
export type FileBytes = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * The rows of a contact file, without empty lines. Rows that end in the same chunk of the file come
 * together, so that memory holds two chunks. A cell may span several lines. A line with invalid
 * quotes becomes a row with an error and affects no other line.
 * @throws CsvFault when the file is empty, has no column for the address, or is not CSV in UTF-8.
 */
export async function* readContactRows(
  file: FileBytes,
): AsyncGenerator<(ImportRow | RowError)[], void, undefined> {
  let header: CsvHeader | null = null;
  let row = 1;
  for await (const lines of readLines(file)) {
    const below = header === null ? lines.slice(1) : lines;
    const columns: CsvHeader = header ?? readHeader(headerOf(lines));
    header = columns;
    yield below.map((line) => {
      row += 1;
      return Array.isArray(line)
        ? readRow(columns, line, row)
        : { row, email: '', error: line.fault };
    });
  }
  if (header === null) throw new CsvFault('The file is empty.');
}

/** The number of rows that `readContactRows` yields. @throws CsvFault likewise. */
export async function countContactRows(file: FileBytes): Promise<number> {
  let count = 0;
  for await (const lines of readLines(file)) {
    if (count === 0) readHeader(headerOf(lines));
    count += lines.length;
  }
  if (count === 0) throw new CsvFault('The file is empty.');
  return count - 1;
}

/** The cells of a line, or what is wrong with its quotes. */
type Line = string[] | { fault: string };

/** @throws CsvFault */
function headerOf([first]: readonly Line[]): string[] {
  if (first && !Array.isArray(first)) throw new CsvFault(`The file is no CSV: ${first.fault}`);
  return first ?? [];
}

/** Replaces a faulty line while the others are parsed: no stored cell can equal it. */
const faultMark = '\0fault';

/** The lines that end in each chunk, at least one. Awaiting each line would dominate the cost. */
async function* readLines(file: FileBytes): AsyncGenerator<Line[], void, undefined> {
  let lines: Line[] = [];
  const faults = new Map<string, string>();
  let faultsMade = 0;
  const records = new CsvRecords();
  const parsable = (text: string, isEnd: boolean): string =>
    records
      .take(text, isEnd)
      .map((record) => {
        if (record.fault === null) return record.text;
        const name = `${faultMark}${(faultsMade += 1)}`;
        faults.set(name, record.fault);
        return `${name}\n`;
      })
      .join('');
  const parser = parse({
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
  });
  parser.on('data', (line: string[]) => {
    const [first = ''] = line;
    const fault = faults.get(first);
    faults.delete(first);
    lines.push(fault === undefined ? line : { fault });
  });
  try {
    for await (const text of decode(file)) {
      await told((done) => parser.write(parsable(text, false), done), parser);
      if (lines.length > 0) yield lines;
      lines = [];
    }
    await told((done) => parser.write(parsable('', true), done), parser);
    await told((done) => parser.end(done), parser);
  } catch (error) {
    throw error instanceof CsvError ? new CsvFault(faultText(error)) : error;
  }
  if (lines.length > 0) yield lines;
}

/** Waits until the parser has taken its input. @throws CsvError */
function told(give: (done: (error?: Error | null) => void) => void, parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once('error', reject);
    give((error) => {
      parser.off('error', reject);
      if (!error) return resolve();
      // The parser reports the error again, as an event.
      parser.on('error', () => {});
      reject(error);
    });
  });
}

/** The text of a file, without a byte order mark. */
async function* decode(file: FileBytes): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isFirst = true;
  for await (const bytes of file) {
    if (isFirst) refuseUtf16(bytes);
    isFirst = false;
    const text = textOf(() => decoder.decode(bytes, { stream: true }));
    if (text !== '') yield text;
  }
  textOf(() => decoder.decode());
}

function textOf(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new CsvFault('The file is not encoded as UTF-8.');
  }
}

function refuseUtf16(bytes: Buffer): void {
  const mark = bytes.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff') {
    throw new CsvFault('The file is encoded as UTF-16. Save it as CSV in UTF-8.');
  }
}

function faultText(error: CsvError): string {
  const place = `line ${String(error['lines'])}`;
  return error.code === 'CSV_QUOTE_NOT_CLOSED'
    ? `The file is no CSV: a quote is opened and not closed, at ${place}.`
    : `The file is no CSV: a quote stands where none may, at ${place}. A cell with quotes is put in quotes, and those inside are doubled.`;
}
