import { type Benchmark, runBenchmark } from './benchmark.ts';
import { executions } from './executions.ts';
import { latency } from './latency.ts';
import { start } from './start.ts';
import { track } from './track.ts';

/** `npm run bench -- <name> [--option=value …]`; without a name it lists what there is. */

const benchmarks: Readonly<Record<string, Benchmark>> = { latency, track, executions, start };

const [name, ...args] = process.argv.slice(2);
const benchmark = benchmarks[name ?? ''];
if (benchmark) {
  process.exit(await runBenchmark(benchmark, args).catch(fail));
}
console.log('npm run bench -- <name> [--option=value …]\n');
for (const [known, { summary, options }] of Object.entries(benchmarks)) {
  const shown = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  console.log(`${known.padEnd(12)}${summary}\n${' '.repeat(12)}${shown.join(' ')}\n`);
}
process.exit(name === undefined ? 0 : 1);

function fail(error: unknown): number {
  console.error(error instanceof Error ? error.message : error);
  return 1;
}
