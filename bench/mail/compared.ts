import type { ChildProcess } from 'node:child_process';
import type { BenchmarkRun } from '../measuring/benchmark.ts';
import { printCpu } from '../measuring/cpu.ts';
import { figure, median, printTable } from '../measuring/numbers.ts';
import type { Project } from '../measuring/project.ts';
import { freePort, type Stack, startStack } from '../measuring/stack.ts';
import { measured, type Round, send } from './campaign.ts';

/** Starts the servers, and a mail server without limits that takes their mail. */
export async function startWithSink(
  run: BenchmarkRun,
): Promise<{ stack: Stack; sink: ChildProcess; port: number }> {
  const port = await freePort(run);
  const stack = await startStack(run, {
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(port),
    EMAIL_RATE_LIMIT_PER_SECOND: '0',
    EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  });
  const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
  return { stack, sink, port };
}

/**
 * Sends the same campaign from several projects, in turn, and compares each with the first one.
 * @param title of the first column
 */
export async function compareCampaigns(
  run: BenchmarkRun,
  { stack, sink }: { stack: Stack; sink: ChildProcess },
  title: string,
  projects: readonly { name: string; project: Project }[],
): Promise<void> {
  const recipients = run.count('recipients');
  const pids = { ...stack.pids, sink: sink.pid ?? 0 };
  const subjects = projects.map((one) => ({ ...one, rounds: [] as Round[] }));
  for (let index = 0; index <= run.count('rounds'); index++) {
    for (const { project, rounds } of subjects) {
      const work = () => send(stack, project, sink, recipients);
      const round = await measured(pids, recipients, work);
      // The first round warms up.
      if (index > 0) rounds.push(round);
    }
  }
  print(title, subjects);
}

function print(title: string, subjects: readonly { name: string; rounds: readonly Round[] }[]) {
  const [reference] = subjects;
  printTable([
    [title, 'messages/s', 'ratio'],
    ...subjects.map(({ name, rounds }) => {
      const ratios = rounds.map(
        ({ perSecond }, index) => perSecond / (reference?.rounds[index]?.perSecond ?? 0),
      );
      const rate = median(rounds.map(({ perSecond }) => perSecond));
      return [name, figure(rate), `${figure(median(ratios))} ×`];
    }),
  ]);
  console.log('CPU of a message, milliseconds\n');
  printCpu(
    subjects.map(({ name, rounds }) => ({ name, cpu: rounds.map(({ cpu }) => cpu) })),
    reference?.name ?? '',
  );
}
