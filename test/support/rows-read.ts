import { CompiledQuery, sql } from 'kysely';
import { escapeLiteral } from 'pg';
import { type Database, transact } from '../../db/database.ts';
import { recordStatements, type Statement } from './statements.ts';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Rows Removed by Join Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

const rowsOf = (node: Node): number =>
  Math.max(
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0) +
      (node['Rows Removed by Join Filter'] ?? 0)) *
      node['Actual Loops'],
    ...(node.Plans ?? []).map(rowsOf),
  );

/**
 * Returns the largest number of rows that a part of any statement of `ask` reads. Statements for
 * which `isLeftOut` is true are ignored.
 */
export async function rowsRead(
  db: Database,
  ask: () => Promise<unknown>,
  isLeftOut?: (text: string) => boolean,
): Promise<number> {
  return Math.max(...(await plansOf(db, ask, isLeftOut)).map(rowsOf));
}

/**
 * Returns the largest number of pages, including those of indexes, that a statement of `ask` reads.
 * Statements for which `isLeftOut` is true are ignored.
 */
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

/** The rows and pages that PostgreSQL reads for a statement with one of its two plans. */
export interface Reading {
  text: string;
  /**
   * `custom`: the plan for these values. `generic`: the plan for any values, which PostgreSQL may
   * use from the sixth execution on.
   */
  plan: 'custom' | 'generic';
  /** The largest number of rows that a part of the plan reads. */
  rows: number;
  /** Number of pages, including those of indexes. */
  pages: number;
  /** Tables read from the first row to the last needed one. */
  scanned: string[];
}

/** Returns the readings for both plans of a statement, which is executed and rolled back. */
export async function readingsOf(
  db: Database,
  { text, values }: Statement,
  settings: readonly string[] = [],
): Promise<Reading[]> {
  const readings: Reading[] = [];
  for (const plan of ['custom', 'generic'] as const) {
    const undo = new Error('undo');
    await transact(db, async (tx) => {
      const ask = (statement: string) => tx.executeQuery<never>(CompiledQuery.raw(statement));
      for (const setting of settings) await ask(`set local ${setting}`);
      await ask(`set local plan_cache_mode = force_${plan}_plan`);
      await ask(`prepare played as ${text.replaceAll(/\/\*.*?\*\//g, '')}`);
      const given = values.length === 0 ? '' : `(${values.map(literalOf).join(', ')})`;
      const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Node }] }>`${sql.raw(
        `explain (analyze, buffers, format json) execute played${given}`,
      )}`.execute(tx);
      await ask('deallocate played');
      const root = rows[0]!['QUERY PLAN'][0].Plan;
      const pages = root['Shared Hit Blocks'] + root['Shared Read Blocks'];
      readings.push({ text, plan, rows: rowsOf(root), pages, scanned: scannedBy(root) });
      throw undo;
    }).catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  }
  return readings;
}

function scannedBy(node: Node): string[] {
  const own = node['Node Type'] === 'Seq Scan' ? [node['Relation Name'] ?? ''] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scannedBy)];
}

/** Formats a value, which node-postgres has returned as text, as an SQL literal. */
function literalOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) {
    const items = value.map((item) => (item === null ? 'null' : JSON.stringify(String(item))));
    return escapeLiteral(`{${items.join(',')}}`);
  }
  if (value instanceof Date) return escapeLiteral(value.toISOString());
  if (Buffer.isBuffer(value)) return escapeLiteral(`\\x${value.toString('hex')}`);
  return escapeLiteral(typeof value === 'string' ? value : JSON.stringify(value));
}
