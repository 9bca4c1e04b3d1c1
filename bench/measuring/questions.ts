import type { BenchmarkRun } from './benchmark.ts';
import { figure, median, percentile, printTable } from './numbers.ts';
import type { Project } from './project.ts';
import type { Stack } from './stack.ts';

/** A request to the API, and the plain SQL query with the same result. */
export interface Question {
  name: string;
  path: string;
  /** $1 is the project. */
  sql: string;
}

/** Number of contacts that `fillProject` creates. */
const contacts = 100_000;

/**
 * Inserts contacts into the project, then runs each `insert`. `$1` is the project, `$2` the number
 * of rows, and the table `c` has the contacts.
 */
export async function fillProject(
  { pool }: Stack,
  project: Project,
  fills: readonly { insert: string; rows: number }[],
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(
      `insert into contact (project_id, email, subscribed)
        select $1, 'c' || n || '@bench.example', true from generate_series(1, ${contacts}) n`,
      [project.id],
    );
    await client.query(
      `create temporary table c as
        select id, row_number() over () - 1 as n from contact where project_id = '${project.id}'`,
    );
    await client.query('create unique index on c (n)');
    for (const { insert, rows } of fills) await client.query(insert, [project.id, rows]);
    await client.query('vacuum analyze');
  } finally {
    client.release();
  }
}

/** Joins a contact to row `i`, so that the rows are spread over all contacts. */
export const contactOfRow = `join c on c.n = (i::bigint * 104729) % ${contacts}`;

/** Compares all requests with their plain queries, round by round, and prints the times. */
export async function compareAnswers(
  run: BenchmarkRun,
  stack: Stack,
  project: Project,
  questions: readonly Question[],
): Promise<void> {
  const timings = questions.map(() => ({ api: [] as number[], sql: [] as number[] }));
  const rounds = run.count('rounds') + 1;
  for (let round = 0; round < rounds; round++) {
    for (const [index, { path, sql }] of questions.entries()) {
      const api = await timeOf(() => project.call('GET', path));
      const plain = await timeOf(() => stack.pool.query(sql, [project.id]));
      // The first round warms up.
      if (round === 0) continue;
      timings[index]?.api.push(api);
      timings[index]?.sql.push(plain);
    }
  }
  printTable([
    ['', 'API p50 ms', 'p95 ms', 'plain query p50 ms', '× plain query'],
    ...questions.map(({ name }, index) => {
      const { api = [], sql = [] } = timings[index] ?? {};
      const ratios = api.map((ms, round) => ms / (sql[round] ?? ms));
      return [
        name,
        figure(median(api)),
        figure(percentile(api, 0.95)),
        figure(median(sql)),
        figure(median(ratios)),
      ];
    }),
  ]);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
