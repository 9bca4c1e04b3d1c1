import { activity } from './lists/activity.ts';
import { type Benchmark, runBenchmark } from './measuring/benchmark.ts';
import { contacts } from './lists/contacts.ts';
import { drain } from './mail/drain.ts';
import { burst } from './burst.ts';
import { events } from './lists/events.ts';
import { recipients } from './lists/recipients.ts';
import { campaign } from './mail/campaign.ts';
import { executions } from './executions.ts';
import { fairness } from './fairness.ts';
import { feedback } from './mail/feedback.ts';
import { imports } from './import.ts';
import { listmonk } from './mail/listmonk.ts';
import { latency } from './latency.ts';
import { liveExecutions } from './live-executions.ts';
import { pauses } from './pauses.ts';
import { providers } from './mail/providers.ts';
import { reports } from './mail/reports.ts';
import { requestLog } from './request-log.ts';
import { scaling } from './scaling.ts';
import { segments } from './lists/segments.ts';
import { signing } from './mail/signing.ts';
import { start } from './start.ts';
import { subscriptions } from './subscriptions.ts';
import { timing } from './mail/timing.ts';
import { track } from './track.ts';
import { waits } from './waits.ts';

/** `npm run bench -- <name> [--option=value …]`; without a name it lists the benchmarks. */

const benchmarks: Readonly<Record<string, Benchmark>> = {
  latency,
  track,
  waits,
  executions,
  burst,
  live: liveExecutions,
  campaign,
  fairness,
  feedback,
  providers,
  reports,
  'request-log': requestLog,
  signing,
  drain,
  listmonk,
  pauses,
  timing,
  subscriptions,
  import: imports,
  start,
  contacts,
  segments,
  events,
  activity,
  recipients,
  scaling,
};

const [name, ...args] = process.argv.slice(2);
const benchmark = benchmarks[name ?? ''];
if (benchmark) {
  process.exit(await runBenchmark(benchmark, args).catch(fail));
}
if (name !== undefined && name !== '--help') console.error(`There is no benchmark "${name}".\n`);
console.log(
  'Usage: npm run bench -- <name> [--option=value …]\n\nOptions are shown with their defaults.\n',
);
for (const [known, { summary, options }] of Object.entries(benchmarks)) {
  const shown = Object.entries(options).map(([option, value]) =>
    value === false ? `--${option}` : `--${option}=${value}`,
  );
  console.log(`${known.padEnd(12)}${summary}\n${' '.repeat(12)}${shown.join(' ')}\n`);
}
process.exit(name === undefined || name === '--help' ? 0 : 1);

function fail(error: unknown): number {
  console.error(error instanceof Error ? error.message : error);
  return 1;
}
