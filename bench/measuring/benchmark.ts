import { parseArgs } from 'node:util';

/** One benchmark: `npm run bench -- <name> [--option=value …]`. */
export interface Benchmark {
  /** The subject of the measurement, in one line. */
  summary: string;
  /** The options of the benchmark with their defaults; false: a flag. */
  options: Readonly<Record<string, string | false>>;
  run(run: BenchmarkRun): Promise<void>;
}

/** The options and services of one run of a benchmark. */
export interface BenchmarkRun {
  /** Returns an option as text. */
  text(name: string): string;
  /** True if a flag was given. */
  has(name: string): boolean;
  /**
   * Returns an option that is a whole number from `min` on. Default of `min`: 1.
   * @throws Error naming the option
   */
  count(name: string, min?: number): number;
  /** Registers a cleanup, also for Ctrl-C. The last one registered runs first. */
  defer(cleanup: () => Promise<unknown>): void;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}

/**
 * Runs a benchmark and ends what it started, whatever happens. Returns the exit code: 0, 1 when it
 * failed, 130 after Ctrl-C.
 */
export async function runBenchmark(benchmark: Benchmark, args: readonly string[]): Promise<number> {
  const options = readOptions(benchmark, args);
  const cleanups: (() => Promise<unknown>)[] = [];
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => {
        stopping.abort();
        resolve();
      });
    }
  });
  const text = (name: string) => String(options[name] ?? '');
  const work = benchmark.run({
    text,
    has: (name) => options[name] === true,
    count(name, min = 1) {
      const value = Number(text(name));
      if (Number.isInteger(value) && value >= min) return value;
      throw new Error(`--${name} must be a whole number from ${min}, not "${text(name)}".`);
    },
    defer: (cleanup) => void cleanups.push(cleanup),
    signal: stopping.signal,
  });
  // After Ctrl-C, `work` fails because its processes are stopped, so its error is ignored.
  work.catch(() => undefined);
  try {
    await Promise.race([work, stopped]);
    return stopping.signal.aborted ? 130 : 0;
  } catch (error) {
    if (stopping.signal.aborted) return 130;
    console.error(error);
    return 1;
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup().catch(console.error);
  }
}

type Options = Record<string, string | boolean>;

function readOptions(benchmark: Benchmark, args: readonly string[]): Options {
  const known = Object.entries(benchmark.options).map(
    ([name, preset]) => [name, { type: preset === false ? 'boolean' : 'string' }] as const,
  );
  const { values } = parseArgs({ args: [...args], options: Object.fromEntries(known) });
  return { ...benchmark.options, ...(values as Options) };
}
