import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findTemporalServer } from '../support/temporal-postgres.ts';
import { sweepIdOf } from '../../domain/runs/runs.ts';
import { waitFor } from '../support/wait-for.ts';
import { importing } from './table/jobs.ts';
import { addTallies, campaign, executions, type Play, sends } from './table/workload.ts';
import { useWorld } from './table/world.ts';

/**
 * Everpost on several machines: two APIs and two workers, and Temporal's production server with
 * its state in PostgreSQL. `npm run faults` runs it.
 */

const obstacle = await findTemporalServer({
  env: process.env,
  onNotice: (line) => process.stdout.write(`${line}\n`),
}).then(
  () => null,
  (error: Error) => error.message,
);
if (obstacle) process.stdout.write(`Two of each process are not played: ${obstacle}\n`);

describe.skipIf(obstacle !== null)('two APIs, two workers, Temporal on PostgreSQL', async () => {
  if (obstacle) return;
  process.env['FAULT_TEMPORAL'] = 'postgresql';
  const recipients = 200;
  const world = await useWorld(100);
  world.apis.push(await world.startApi());
  world.workers.push(await world.startWorker());
  const { client } = world.engine.temporal;
  const handle = client.schedule.getHandle(sweepIdOf(world.engine.taskQueue));

  it('do all kinds of work together, once each', { timeout: 300_000 }, async () => {
    const play: Play = { world, mark: randomUUID().slice(0, 8), recipients, random: Math.random };
    const makers = [campaign, executions, sends, importing];
    const parts = await Promise.all(makers.map((make) => make(play)));
    await Promise.all(parts.map((part) => part.begin()));
    const isOver = async () => {
      await sleep(100);
      const open = await Promise.all(parts.map((part) => part.pending()));
      return open.every((one) => one === null);
    };
    await waitFor('the end', isOver, 150_000);
    const tally = addTallies(await Promise.all(parts.map((part) => part.tally())));
    expect(tally).toEqual({ lost: 0, duplicated: 0, unknown: 0, wrong: [] });
  });

  it('have one schedule, and its sweep runs', { timeout: 90_000 }, async () => {
    const { info } = await waitFor(
      'a run of the sweep',
      async () => {
        const description = await handle.describe();
        return description.info.recentActions.length > 0 && description;
      },
      60_000,
    );
    const [action] = info.recentActions.slice(-1);
    const started = action?.action as { workflow: { workflowId: string } };
    const run = client.workflow.getHandle(started.workflow.workflowId);
    await run.result();
  });

  it('share the work of the queues', async () => {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: `${world.engine.taskQueue}-mail` },
      taskQueueType: 2,
    });
    expect(new Set(pollers?.map(({ identity }) => identity)).size).toBe(2);
  });
});
