import { CompiledQuery } from 'kysely';
import type { Database } from '../../db/database.ts';
import { recordStatements } from './statements.ts';

interface Node {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
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
  isLeftOut?: (text: string) => boolean,
): Promise<number> {
  return Math.max(...(await plansOf(db, ask, isLeftOut)).map(rowsOf));
}

/** The most pages, of indexes too, that one of the statements of `ask` reads; but for those that `isLeftOut`. */
export async function pagesRead(
  db: Database,
  ask: () => Promise<unknown>,
  isLeftOut?: (text: string) => boolean,
): Promise<number> {
  const plans = await plansOf(db, ask, isLeftOut);
  return Math.max(...plans.map((plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks']));
}

async function plansOf(
  db: Database,
  ask: () => Promise<unknown>,
  isLeftOut: (text: string) => boolean = () => false,
): Promise<Node[]> {
  const statements = recordStatements();
  await ask();
  const asked = statements.take().filter(({ text }) => !isLeftOut(text));
  const plans: Node[] = [];
  for (const { text, values } of asked) {
    const explained = CompiledQuery.raw(`explain (analyze, buffers, format json) ${text}`, [
      ...values,
    ]);
    const { rows } = await db.executeQuery<{ 'QUERY PLAN': [{ Plan: Node }] }>(explained);
    plans.push(rows[0]!['QUERY PLAN'][0].Plan);
  }
  statements.take();
  return plans;
}
