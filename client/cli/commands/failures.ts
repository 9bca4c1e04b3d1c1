import type { FoundExecution } from '../../everpost.ts';
import { type Call, command, type Options } from '../frame/command.ts';
import { type ExitCode, exitCodes } from '../frame/failure.ts';
import { bold, dim, red, type Text } from '../frame/text.ts';
import { Seen, sinceOf, watch, watchOptions } from './watching.ts';

const options = {
  ...watchOptions,
  'exit-code': { type: 'boolean', summary: 'Exit with 3 if there are some' },
} as const satisfies Options;

type FailuresCall = Call<typeof options>;

/** The kinds of failures, the worst first. */
const kinds = ['failed', 'stuck', 'warning'] as const;

type Failed = FoundExecution & { kind: (typeof kinds)[number] };

const pageSize = 100;
/** Maximum number of active executions that are listed of a kind. */
const activeMax = 1_000;

/** Shows executions that failed, are stuck or have warnings, each once under its worst kind. */
export const failures = command({
  name: 'failures',
  operands: [],
  summary: 'Show executions that failed, are stuck or have warnings',
  description:
    'Executions that are stuck are listed however long they have been. With --watch each one is shown once, and as JSON is an object on a line of its own.',
  options,
  example: 'everpost failures --since 24h --exit-code',
  async run(call): Promise<ExitCode | void> {
    if (call.options.watch) return watchFailures(call);
    const found = await findFailures(call, sinceOf(call));
    call.output.result(found, () =>
      found.length === 0 ? ['There are no failures.'] : found.map(lineOf),
    );
    if (call.options['exit-code'] && found.length > 0) return exitCodes.differs;
  },
});

async function watchFailures(call: FailuresCall): Promise<void> {
  const seen = new Seen<{ rank: number; completedAt: string | null }>();
  await watch(call, async (since, shownFrom) => {
    for (const failed of (await findFailures(call, since)).toReversed()) {
      const mark = { rank: kinds.indexOf(failed.kind), completedAt: failed.completedAt };
      const before = seen.get(failed.id);
      // An execution that was retried may fail again.
      const isNew = !before || mark.rank < before.rank || isLater(failed, before.completedAt);
      seen.set(failed.id, isNew ? mark : before);
      if (isNew && timeOf(failed) >= shownFrom) call.output.item(failed, () => lineOf(failed));
    }
  });
}

/** Returns when it went wrong. */
function timeOf({ kind, completedAt, stuck, updatedAt }: Failed): Date {
  const times = { failed: completedAt, stuck: stuck?.since, warning: updatedAt };
  return new Date(times[kind] ?? updatedAt);
}

function isLater({ kind, completedAt }: Failed, before: string | null): boolean {
  return kind === 'failed' && completedAt !== before;
}

/** Returns the failures since a moment, each execution once, the newest start first. */
async function findFailures(call: FailuresCall, since: Date): Promise<Failed[]> {
  const endedAfter = since.toISOString();
  const active = { status: 'RUNNING,WAITING' };
  const ended = { status: 'COMPLETED,EXITED,CANCELLED', endedAfter };
  const lists = [
    await findAll(call, 'failed', { status: 'FAILED', endedAfter }),
    await findAll(call, 'stuck', { stuck: 'true' }, activeMax),
    await findAll(call, 'warning', { warnings: 'true', ...ended }),
    (await findAll(call, 'warning', { warnings: 'true', ...active }, activeMax)).filter(
      ({ updatedAt }) => new Date(updatedAt) >= since,
    ),
  ];
  const found = new Map<string, Failed>();
  for (const failed of lists.flat()) {
    if (!found.has(failed.id)) found.set(failed.id, failed);
  }
  return [...found.values()].toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
}

async function findAll(
  call: FailuresCall,
  kind: Failed['kind'],
  query: object,
  max = Infinity,
): Promise<Failed[]> {
  const everpost = await call.api();
  const found: Failed[] = [];
  const request = { query: { ...query, limit: pageSize }, signal: call.signal };
  for await (const execution of everpost.list('/executions', request)) {
    found.push({ kind, ...execution });
    if (found.length >= max) break;
  }
  return found;
}

function lineOf(failed: Failed): Text {
  const { kind, workflow, contact, failedStep, currentStep, error, stuck, warnings } = failed;
  const reasons = {
    failed: error,
    stuck: stuck?.reason,
    warning: `${warnings} steps with warnings`,
  };
  const step = failedStep ?? currentStep;
  return [
    dim(failed.completedAt ?? failed.startedAt),
    '  ',
    kind === 'failed' ? red(kind) : bold(kind),
    `  ${workflow.name}${step ? ` › ${step.name}` : ''}  ${contact.email ?? ''}  `,
    reasons[kind] ?? '',
    dim(`  ${failed.id}`),
  ];
}
