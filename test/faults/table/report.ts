import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A row of `docs/faults.md`: one fault, played so many times. */
export interface Row {
  fault: string;
  seeds: number;
  lost: number;
  duplicated: number;
  unknown: number;
  /** The longest time from the end of the fault until all work was over, in seconds. */
  settled: number;
  /** The longest play, in seconds. */
  seconds: number;
  /** `ok`, or what is wrong. */
  status: string;
}

/** Results with Temporal on PostgreSQL are on the page of its other measurements. */
const page = process.env['FAULT_TEMPORAL'] === 'postgresql' ? 'scaling.md' : 'faults.md';
const file = join(import.meta.dirname, '../../../docs', page);
const markers = ['<!-- table -->', '<!-- end of table -->'] as const;
const columns = [
  'fault',
  'seeds',
  'lost',
  'duplicated',
  'unknown',
  'settled',
  'seconds',
  'status',
] as const;

/**
 * Writes a row into the table of the document, and replaces an earlier one of its fault. Removes
 * rows of faults that are not in `order`.
 */
export async function writeRow(row: Row, order: readonly string[]): Promise<void> {
  const text = await readFile(file, 'utf8');
  const [before = '', rest = ''] = text.split(markers[0]);
  const [table = '', after = ''] = rest.split(markers[1]);
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const rows = new Map(
    table
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| fault'))
      .map((line) => [cellsOf(line)[0] ?? '', cellsOf(line)]),
  );
  rows.set(
    row.fault,
    columns.map((column) => String(row[column]).replaceAll('|', '/')),
  );
  const kept = order.flatMap((fault) => (rows.has(fault) ? [rows.get(fault)!] : []));
  const lines = alignedTable([[...columns], ...kept]);
  const next = [before, markers[0], '\n\n', lines.join('\n'), '\n\n', markers[1], after];
  await writeFile(file, next.join(''));
}

/**
 * The lines of a table in Markdown, aligned as the formatter does it. The first row is the head.
 */
function alignedTable(rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  const [head = '', ...lines] = rows.map(
    (row) => `| ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [head, rule, ...lines];
}
