import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from './measuring/cpu.ts';
import { figure, median, printTable } from './measuring/numbers.ts';
import { createProject, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { until } from './measuring/waiting.ts';

/**
 * Rows of a CSV file imported per second, from the request to the completed job, compared with
 * COPY and one upsert by SQL alone in the same PostgreSQL. Every row is checked in the database
 * afterwards.
 */
export const imports: Benchmark = {
  summary: 'rows imported per second, against COPY and one upsert of the same file',
  options: {
    /** Rows of the file. */
    rows: '100000',
    rounds: '3',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const bareId = randomUUID();
    const directory = await mkdtemp(join(tmpdir(), 'everpost-bench-'));
    run.defer(() => rm(directory, { recursive: true, force: true }));
    // PostgreSQL reads the file itself, as another user if this process runs as root.
    await chmod(directory, 0o755);
    const subjects = [
      { name: 'COPY and upsert, new contacts', isEverpost: false, plan: 'free' },
      { name: 'import, new contacts', isEverpost: true, plan: 'free' },
      { name: 'COPY and upsert, known contacts', isEverpost: false, plan: 'pro' },
      { name: 'import, known contacts', isEverpost: true, plan: 'pro' },
    ];
    const results = subjects.map(({ name }) => ({ name, rounds: [] as Round[] }));
    // Loads the code that every run needs.
    await importFile(project, await writeRows(join(directory, 'people.csv'), 1, -1, 'free'));
    const idle = await readMemory(stack);
    const memory: Memory = { idle, one: 0, peak: 0 };
    // The first round warms up.
    for (let index = 0; index <= run.count('rounds'); index++) {
      for (const [place, { isEverpost, plan }] of subjects.entries()) {
        const file = await writeRows(join(directory, 'people.csv'), run.count('rows'), index, plan);
        const projectId = isEverpost ? project.id : bareId;
        const work = isEverpost
          ? () => importFile(project, file)
          : () => copyFile(stack, bareId, file);
        const before = await readMemory(stack);
        const most = watchMemory(stack);
        const round = await measure(run, stack, work);
        const peak = await most();
        if (isEverpost) memory.one = Math.max(memory.one, peak - before);
        memory.peak = Math.max(memory.peak, peak);
        await verify(stack, projectId, run.count('rows'), index, plan);
        if (index > 0) results[place]?.rounds.push(round);
      }
    }
    print(results, memory);
  },
};

interface Round {
  perSecond: number;
  cpu: CpuSeconds;
}

/** Bytes of memory that the worker has in use. */
interface Memory {
  /** Bytes in use after an import of one row. */
  idle: number;
  /** Maximum number of bytes that one import added. */
  one: number;
  peak: number;
}

async function writeRows(
  file: string,
  count: number,
  round: number,
  plan: string,
): Promise<string> {
  const lines = Array.from(
    { length: count },
    (_, index) => `p${round}-${index}@bench.example,Ada,${plan},${index % 50}`,
  );
  await writeFile(file, `email,name,plan,seats\n${lines.join('\n')}\n`);
  await chmod(file, 0o644);
  return file;
}

async function measure(
  run: BenchmarkRun,
  { pids }: Stack,
  work: () => Promise<void>,
): Promise<Round> {
  const rows = run.count('rows');
  const before = await readCpu(pids);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  return { perSecond: rows / seconds, cpu: cpuBetween(before, await readCpu(pids), rows / 1000) };
}

async function importFile(project: Project, file: string): Promise<void> {
  const form = new FormData();
  form.append('file', new File([await readFile(file)], 'people.csv', { type: 'text/csv' }));
  const { jobId } = await project.upload('/contacts/import', form);
  await until('the import', async () => {
    const { state, failedReason } = await project.call('GET', `/contacts/import/${String(jobId)}`);
    if (state === 'failed' || state === 'cancelled') throw new Error(String(failedReason));
    return state === 'completed';
  });
}

/** Imports a file with the least possible work: no checks, no events, all rows or none. */
async function copyFile({ pool }: Stack, projectId: string, file: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(
      'create temp table staged (email text, name text, plan text, seats int) on commit drop',
    );
    await client.query(`copy staged from '${file}' (format csv, header)`);
    await client.query(
      `insert into contact (project_id, email, subscribed, data)
        select $1, email, true, jsonb_build_object('name', name, 'plan', plan, 'seats', seats)
          from staged
        on conflict (project_id, email) do update
          set data = coalesce(contact.data, '{}') || excluded.data, updated_at = now()`,
      [projectId],
    );
    await client.query('commit');
  } finally {
    client.release();
  }
}

/** @throws Error when the contacts of a round differ from the file */
async function verify(
  { pool }: Stack,
  projectId: string,
  count: number,
  round: number,
  plan: string,
): Promise<void> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from contact
      where project_id = $1 and email like $2 and subscribed
        and data - 'seats' = jsonb_build_object('name', 'Ada', 'plan', $3::text)`,
    [projectId, `p${round}-%`, plan],
  );
  if (rows[0]?.count === count) return;
  throw new Error(`${rows[0]?.count} of ${count} contacts are there as the file has them.`);
}

/** Returns bytes; 0 where there is no /proc. */
async function readMemory({ pids }: Stack): Promise<number> {
  const text = await readFile(`/proc/${pids.worker}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

/**
 * Reads the memory repeatedly. Returns a function that stops the reading and returns the maximum.
 */
function watchMemory(stack: Stack): () => Promise<number> {
  let peak = 0;
  const look = async () => {
    peak = Math.max(peak, await readMemory(stack));
  };
  const timer = setInterval(() => void look(), 20);
  return async () => {
    clearInterval(timer);
    await look();
    return peak;
  };
}

function print(
  results: readonly { name: string; rounds: readonly Round[] }[],
  { idle, one, peak }: Memory,
): void {
  printTable([
    ['', 'rows/s', '× COPY and upsert'],
    ...results.map(({ name, rounds }, place) => {
      // Each import follows its reference, so the ratio of a round depends little on other work of
      // the machine.
      const reference = results[place - (place % 2)]?.rounds ?? [];
      const ratios = rounds.map((one, i) => one.perSecond / (reference[i]?.perSecond ?? 0));
      return [name, figure(median(rounds.map((one) => one.perSecond))), figure(median(ratios))];
    }),
  ]);
  console.log('Every row is in the database as the file has it.\n');
  console.log('CPU of 1,000 rows, milliseconds\n');
  printCpu(
    results.map(({ name, rounds }) => ({ name, cpu: rounds.map((round) => round.cpu) })),
    'COPY and upsert, new contacts',
  );
  if (peak === 0) return;
  const megabytes = (bytes: number) => figure(bytes / 1024 / 1024);
  console.log(
    [
      `Memory of the worker: ${megabytes(idle)} MB idle; an import added at most ${megabytes(one)} MB,`,
      `all of them together ${megabytes(peak - idle)} MB: what is over is collected later.\n`,
    ].join(' '),
  );
}
