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

/** What is played with Temporal on PostgreSQL stands beside what else was measured there. */
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
 * Writes a row into the table of the document, in place of an earlier one of its fault. Rows of
 * faults that are not in `order` any more go.
 */
export async function writeRow(row: Row, order: readonly string[]): Promise<void> {
  const text = await readFile(file, 'utf8');
  const [before = '', rest = ''] = text.split(markers[0]);
  const [table = '', after = ''] = rest.split(markers[1]);
  const lines = new Map(
    table
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| fault'))
      .map((line) => [line.split('|')[1]?.trim() ?? '', line]),
  );
  const cells = columns.map((column) => String(row[column]).replaceAll('|', '/'));
  lines.set(row.fault, `| ${cells.join(' | ')} |`);
  const kept = order.flatMap((fault) => lines.get(fault) ?? []);
  const head = `| ${columns.join(' | ')} |\n|${columns.map(() => '---').join('|')}|`;
  const next = [before, markers[0], '\n\n', [head, ...kept].join('\n'), '\n\n', markers[1], after];
  await writeFile(file, next.join(''));
}
