import type { Benchmark } from '../measuring/benchmark.ts';
import { figure, median, percentile, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { stackOptions, startStack, type Stack } from '../measuring/stack.ts';

/** Pages of a long list of contacts, also the last ones, and queries about all contacts. */
export const contacts: Benchmark = {
  summary: 'lists of many contacts: a page at the end against the first pages; searches, fields',
  options: {
    contacts: '1000000',
    rounds: '21',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const count = run.count('contacts');
    await fill(stack, project, count);
    console.log(`${count} contacts\n`);
    const questions = await questionsOf(stack, project, count);
    const timings = questions.map((): number[] => []);
    const rounds = run.count('rounds') + 1;
    for (let round = 0; round < rounds; round++) {
      for (const [index, { path }] of questions.entries()) {
        const startedAt = performance.now();
        await project.call('GET', path);
        // The first round warms up.
        if (round > 0) timings[index]?.push(performance.now() - startedAt);
      }
    }
    const reference = median(timings[1] ?? []);
    printTable([
      ['', 'p50 ms', 'p95 ms', '× second page'],
      ...questions.map(({ name }, index) => {
        const measured = timings[index] ?? [];
        const ratio = median(measured) / reference;
        return [name, figure(median(measured)), figure(percentile(measured, 0.95)), figure(ratio)];
      }),
    ]);
  },
};

async function fill({ pool }: Stack, { id }: Project, count: number): Promise<void> {
  await pool.query(
    `insert into contact (project_id, email, subscribed, data, created_at)
      select $1, 'user' || i || '@bench.example', i % 10 > 0,
          jsonb_build_object('plan', (array['free', 'pro', 'team'])[1 + i % 3], 'seats', i % 200,
            'city', 'City ' || i % 1000, 'name', 'Person number ' || i, 'since', '2026-01-02',
            'address', jsonb_build_object('zip', i % 9000, 'country', 'DE')),
          now() - i * interval '1 minute'
        from generate_series(1, $2::int) as i`,
    [id, count],
  );
  await pool.query('vacuum analyze contact');
}

/** The first page counts all contacts; the second one does not. */
async function questionsOf({ pool }: Stack, project: Project, count: number) {
  const last = Math.max(0, count - 50);
  const cursorAt = async (offset: number, sort: string) => {
    const order = sort === 'email' ? 'email' : 'created_at desc, id desc';
    const { rows } = await pool.query<{ id: string }>(
      `select id from contact where project_id = $1 order by ${order} offset $2 limit 1`,
      [project.id, offset],
    );
    const page = await project.call('GET', `/contacts?limit=1&sort=${sort}&cursor=${rows[0]?.id}`);
    return `/contacts?sort=${sort}&cursor=${String(page['cursor'])}`;
  };
  const rare = `search=user${count - 1}@`;
  return [
    { name: 'first page, with the total', path: '/contacts' },
    { name: 'second page', path: await cursorAt(19, 'createdAt') },
    { name: 'last page', path: await cursorAt(last, 'createdAt') },
    { name: 'second page by address', path: await cursorAt(19, 'email') },
    { name: 'last page by address', path: await cursorAt(last, 'email') },
    { name: 'first page of the unsubscribed', path: '/contacts?subscribed=false' },
    { name: 'search that one contact meets', path: `/contacts?${rare}` },
    { name: 'the same by address', path: `/contacts?sort=email&${rare}` },
    { name: 'fields', path: '/contacts/fields' },
    { name: 'values of a field', path: '/contacts/fields/city/values' },
    { name: 'usage of a field', path: '/contacts/fields/city/usage' },
  ];
}
