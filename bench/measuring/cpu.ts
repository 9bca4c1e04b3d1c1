import { readdir, readFile } from 'node:fs/promises';
import { figure, median, printTable } from './numbers.ts';

/** Seconds of CPU used so far, by process name. */
export type CpuSeconds = Readonly<Record<string, number>>;

/** Clock ticks in a second as /proc counts them: 100 on every Linux architecture we run on. */
const ticksPerSecond = 100;

/**
 * Returns the CPU seconds that processes and their children, also the ended ones, have used. Linux
 * only; elsewhere the result is empty.
 * @param pids process ids by name
 */
export async function readCpu(pids: Readonly<Record<string, number>>): Promise<CpuSeconds> {
  if (process.platform !== 'linux') return {};
  const all = await readProcesses();
  const total = (pid: number): number =>
    all
      .filter((one) => one.pid === pid || one.parent === pid)
      .reduce((sum, one) => sum + (one.pid === pid ? one.seconds : total(one.pid)), 0);
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, total(pid)]));
}

/** Returns the CPU of each of `count` pieces of work between two readings. */
export function cpuBetween(before: CpuSeconds, after: CpuSeconds, count: number): CpuSeconds {
  return Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [name, (seconds - (before[name] ?? 0)) / count]),
  );
}

/**
 * Prints the CPU milliseconds of each process and of all together, as medians of the rounds. The
 * factor relative to the row `reference` depends least on other work of the machine.
 */
export function printCpu(
  rows: readonly { name: string; cpu: readonly CpuSeconds[] }[],
  reference: string,
): void {
  const processes = Object.keys(rows[0]?.cpu[0] ?? {});
  if (processes.length === 0) {
    console.log('  CPU is read on Linux only.\n');
    return;
  }
  const total = (cpu: CpuSeconds) => Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0);
  const totalOf = (name: string) =>
    median((rows.find((row) => row.name === name)?.cpu ?? []).map(total));
  printTable([
    ['', ...processes, 'all', 'factor'],
    ...rows.map(({ name, cpu }) => [
      name,
      ...processes.map((part) => figure(median(cpu.map((one) => (one[part] ?? 0) * 1000)))),
      figure(totalOf(name) * 1000),
      `${figure(totalOf(name) / totalOf(reference))} ×`,
    ]),
  ]);
}

interface Process {
  pid: number;
  parent: number;
  seconds: number;
}

async function readProcesses(): Promise<Process[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = ids.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => null));
  return (await Promise.all(texts)).flatMap((text) => {
    if (text === null) return [];
    // Fields are numbered as in proc(5). The second field, the name, may contain spaces and
    // brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const field = (number: number) => Number(fields[number - 3]);
    const ticks = field(14) + field(15) + field(16) + field(17);
    return [{ pid: Number.parseInt(text, 10), parent: field(4), seconds: ticks / ticksPerSecond }];
  });
}
