import { CompiledQuery } from 'kysely';
import type { Database } from '../../db/database.ts';
import { recordStatements } from './statements.ts';

interface Node {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

const rowsOf = (node: Node): number =>
  Math.max(
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    ...(node.Plans ?? []).map(rowsOf),
  );

/** The most rows that a part of the statements of `ask` reads; but for those that `isLeftOut`. */
export async function rowsRead(
  db: Database,
  ask: () => Promise<unknown>,
  isLeftOut: (text: string) => boolean = () => false,
): Promise<number> {
  const statements = recordStatements();
  await ask();
  const asked = statements.take().filter(({ text }) => !isLeftOut(text));
  const read: number[] = [];
  for (const { text, values } of asked) {
    const explained = CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...values]);
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Node }] }>(explained);
    read.push(rowsOf(rows[0]!['QUERY PLAN'][0].Plan));
  }
  statements.take();
  return Math.max(...read);
}
