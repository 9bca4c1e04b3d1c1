import {
  CsvFault,
  type CsvHeader,
  type ImportRow,
  readHeader,
  readRow,
} from '../../domain/contact/csv.ts';
import { type CsvLine, type FileBytes, readCsvLines } from '../../domain/contact/csv-lines.ts';
import type { RowError } from '../../domain/contact/job.ts';

/**
 * Yields the rows of a contact file, without empty lines. Rows that end in the same chunk of the
 * file come together, so at most two chunks are in memory. A line with invalid quotes becomes a row
 * with an error and affects no other line.
 * @throws CsvFault when the file is empty, has no column for the address, or is not CSV in UTF-8
 */
export async function* readContactRows(
  file: FileBytes,
): AsyncGenerator<(ImportRow | RowError)[], void, undefined> {
  let header: CsvHeader | null = null;
  let row = 1;
  for await (const lines of readCsvLines(file)) {
    const below = header === null ? lines.slice(1) : lines;
    const columns: CsvHeader = header ?? readHeader(headerOf(lines));
    header = columns;
    yield below.map(({ cells, fault }) => {
      row += 1;
      return fault === null ? readRow(columns, cells, row) : { row, email: '', error: fault };
    });
  }
  if (header === null) throw new CsvFault('The file is empty.');
}

/**
 * Counts the rows that `readContactRows` would yield.
 * @throws CsvFault as `readContactRows` does
 */
export async function countContactRows(file: FileBytes): Promise<number> {
  let count = 0;
  for await (const lines of readCsvLines(file)) {
    if (count === 0) readHeader(headerOf(lines));
    count += lines.length;
  }
  if (count === 0) throw new CsvFault('The file is empty.');
  return count - 1;
}

/**
 * Returns the cells of the first line.
 * @throws CsvFault when the line has invalid quotes
 */
function headerOf([first]: readonly CsvLine[]): string[] {
  if (first && first.fault !== null)
    throw new CsvFault(`The file is not valid CSV. ${first.fault}`);
  return first?.cells ?? [];
}
