import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { randomOf } from '../support/random.ts';
import { waitFor } from '../support/wait-for.ts';
import { deaths, freezes, owners } from './table/deaths.ts';
import type { Fault } from './table/faults.ts';
import { network } from './table/network.ts';
import { type Hold, holdAt } from './table/points.ts';
import { poison } from './table/poison.ts';
import { providers } from './table/providers.ts';
import { type Row, writeRow } from './table/report.ts';
import { surroundings } from './table/surroundings.ts';
import { addTallies, campaign, executions, type Play, sends } from './table/workload.ts';
import { useWorld } from './table/world.ts';

/**
 * Breaks something while real processes work. No work is lost, done twice, or reported as done too
 * early. `npm run faults` runs every fault and writes the table of docs/faults.md.
 */

const seeds = Number(process.env['FAULT_SEEDS'] ?? 1);
const recipients = Number(process.env['FAULT_RECIPIENTS'] ?? 400);
/** Parts of names, separated by commas. */
const only = (process.env['FAULT_ONLY'] ?? '').toLowerCase().split(',');
/** How long a campaign takes when nothing breaks, in seconds. */
const campaignSeconds = 4;
/** After this time a run is given up, and its open work is reported. */
const settleMs = 150_000;

const all: readonly Fault[] = [
  ...deaths,
  ...freezes,
  ...owners,
  ...network,
  ...surroundings,
  ...providers,
  ...poison,
];
const played = all.filter(({ name }) =>
  only.some((part) => name.toLowerCase().includes(part.trim())),
);

const world = await useWorld(Math.ceil(recipients / campaignSeconds));

/** True if each play logs its steps, to find the cause of a slow one. */
const verbose = process.env['FAULT_VERBOSE'] !== undefined;
function log(line: string): void {
  if (verbose) process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

/** Runs a fault once. Any problem is in the row. */
async function play(fault: Fault, seed: number): Promise<Row> {
  const startedAt = performance.now();
  await world.restore();
  world.sink.faults = {};
  world.sink.counts.clear();
  world.sink.emails.clear();
  world.sink.taken = 0;
  log(fault.name);
  const current: Play = {
    world,
    mark: randomUUID().slice(0, 8),
    recipients: Math.ceil(recipients * (fault.size ?? 1)),
    random: randomOf(seed),
  };
  const wrong: string[] = [];
  const noted = (work: Promise<unknown>) =>
    work.catch((error: Error) => void wrong.push(error.message.slice(0, 200)));
  await fault.before?.(current);
  const makers = fault.parts ?? [campaign, executions, sends];
  const parts = await Promise.all(makers.map((make) => make(current)));
  const listOpen = () =>
    Promise.all(parts.map((part) => part.pending())).then(
      (open) => open.filter((one) => one !== null).join(', '),
      () => 'unknown',
    );
  const hold = fault.at && (await holdAt(world, fault.at));
  const saying = verbose ? setInterval(() => void listOpen().then(log), 5_000) : undefined;
  const begun = noted(Promise.all(parts.map((part) => part.begin())));
  await noted(breakAndMend(fault, current, hold));
  const mendedAt = performance.now();
  log('it is mended');
  await begun;
  clearInterval(saying);
  let open = '';
  const isOver = async () => {
    await sleep(100);
    const now = await listOpen();
    if (now !== open) log(now);
    open = now;
    return open === '';
  };
  await waitFor('the end', isOver, settleMs).catch(() => {
    wrong.push(`after ${settleMs / 1000} s: ${open}`);
  });
  const settled = (performance.now() - mendedAt) / 1000;
  const tally = addTallies(await Promise.all(parts.map((part) => part.tally())));
  await fault.after?.(current);
  wrong.push(...tally.wrong);
  if (tally.lost > 0 || tally.duplicated > 0) wrong.unshift('FAILS');
  return {
    fault: fault.name,
    seeds: 1,
    lost: tally.lost,
    duplicated: tally.duplicated,
    unknown: tally.unknown,
    settled: Math.round(settled * 10) / 10,
    seconds: Math.round((performance.now() - startedAt) / 1000),
    status: wrong.join('; ') || 'ok',
  };
}

/**
 * Waits for the moment, injects the fault, and ends it after a while. Held statements are
 * released in any case.
 */
async function breakAndMend(fault: Fault, current: Play, hold: Hold | undefined): Promise<void> {
  let mend: (() => Promise<void>) | void;
  try {
    if (hold) await hold.isReached();
    else if (fault.breaks) {
      const from = Math.ceil(current.recipients * (0.05 + 0.5 * current.random()));
      await waitFor(`${from} mails`, () => world.sink.taken >= from, 60_000);
    }
    log('it breaks');
    mend = await fault.breaks?.(current);
  } finally {
    await hold?.release();
  }
  await sleep(fault.lastsMs ?? 0);
  await mend?.();
}

function together(rows: readonly Row[]): Row {
  return rows.reduce((sum, row) => ({
    fault: row.fault,
    seeds: sum.seeds + row.seeds,
    lost: sum.lost + row.lost,
    duplicated: sum.duplicated + row.duplicated,
    unknown: sum.unknown + row.unknown,
    settled: Math.max(sum.settled, row.settled),
    seconds: Math.max(sum.seconds, row.seconds),
    status: sum.status === 'ok' ? row.status : sum.status,
  }));
}

describe(`work for ${recipients}`, () => {
  it.each(played)(
    'is not lost and not done twice: $name',
    async (fault) => {
      const plays: Row[] = [];
      for (let seed = 1; seed <= seeds; seed++) plays.push(await play(fault, seed));
      const row = together(plays);
      process.stdout.write(`${JSON.stringify(row)}\n`);
      await writeRow(
        row,
        all.map(({ name }) => name),
      );
      expect(row).toMatchObject({ lost: 0, duplicated: 0, status: 'ok' });
      if (world.sink.faults.dropEvery) {
        // Every one of them is recorded as unknown.
        expect(row.unknown).toBe(seeds * Math.floor(world.sink.taken / 100));
      }
    },
    seeds * 420_000,
  );
});
