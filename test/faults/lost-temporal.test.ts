import { cp, rm } from 'node:fs/promises';
import { ScheduleNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { findWatermark } from '../../db/watermarks.ts';
import { executionRunId } from '../../domain/runs/execution.ts';
import { sweepIdOf } from '../../domain/runs/runs.ts';
import { useEngine } from '../support/engine.ts';
import { createContact, createWorkflow } from '../support/histories/executions.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  insertContacts,
} from '../support/projects/campaigns.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { newAddress } from '../support/projects/shop.ts';
import { atEnd, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/** Temporal loses its data, or is restored from a backup, while Everpost runs. */

const [port, uiPort] = await Promise.all(
  [0, 0].map(async () => {
    const claimed = await claimFreePort();
    atEnd(claimed.release);
    return claimed.port;
  }),
);
const [dataDir, backup] = [await useFolder(), await useFolder()];
const start = () => startTemporal({ dataDir, port: port!, uiPort: uiPort!, log: () => {} });
let server = await start();
atEnd(() => server.stop());
const { address } = server;
const engine = await useEngine({}, { worker: false, temporalAddress: address });
const { client } = engine.temporal;
const environment = { TEMPORAL_ADDRESS: address, EMAIL_RATE_PER_PROJECT_PER_SECOND: '4' };
const worker = await useWorkerProcess(engine, environment);
const api = await useApiProcess(engine, environment);

/** Stops Temporal, changes its data, and starts it again. */
async function restartTemporal(change: () => Promise<void>): Promise<void> {
  await server.stop();
  await change();
  server = await start();
  await waitFor('Temporal', () => engine.temporal.answers());
}

const hasSchedule = (id: string) =>
  client.schedule
    .getHandle(id)
    .describe()
    .then(
      () => true,
      (error: unknown) => {
        if (error instanceof ScheduleNotFoundError) return false;
        throw error;
      },
    );

/** Resolves when a sweep has begun that was planned after this call. */
async function nextSweep(): Promise<void> {
  const now = Date.now();
  await waitFor(
    'the next sweep',
    async () => ((await findWatermark(engine.api.db, 'planned sweep'))?.getTime() ?? 0) > now,
    90_000,
  );
}

async function track(email: string, event: string): Promise<void> {
  expect((await api.call('POST', '/v1/track', { email, event })).status).toBe(200);
}

/** Creates a workflow that waits for two events in turn. */
async function createTwoWaits(eventName: string) {
  const awaiting = (name: string) => ({ eventName: `${eventName} ${name}` });
  const { id, steps } = await createWorkflow(engine, {
    eventName,
    steps: [
      { type: 'WAIT_FOR_EVENT', name: 'First', config: awaiting('first') },
      { type: 'WAIT_FOR_EVENT', name: 'Second', config: awaiting('second') },
    ],
  });
  /** Starts an execution. Returns functions to follow it. */
  async function begin() {
    const email = newAddress();
    await createContact(engine, email);
    await track(email, eventName);
    const read = async () =>
      (await engine.call('GET', `/executions?workflowId=${id}&email=${email}`)).body.data[0];
    const isAt = (step: string | null) =>
      waitFor(
        `an execution at ${step}`,
        async () => {
          const execution = await read();
          return execution && (execution.currentStep?.name ?? null) === step ? execution : null;
        },
        60_000,
      );
    await isAt('First');
    const { id: executionId } = await read();
    return {
      id: executionId as string,
      track: (name: string) => track(email, `${eventName} ${name}`),
      isAt,
    };
  }
  return { begin, steps };
}

/** Creates a workflow with a yearly schedule. */
async function createYearly(): Promise<string> {
  const { id } = await createWorkflow(engine, { steps: [{ type: 'EXIT', name: 'Out' }] });
  const { status } = await engine.call('PATCH', `/workflows/${id}`, {
    triggerType: 'SCHEDULE',
    triggerConfig: { cron: '0 9 1 1 *', timeZone: 'UTC' },
  });
  expect(status).toBe(200);
  const schedule = `schedule-${id}`;
  await waitFor('the schedule', () => hasSchedule(schedule));
  return schedule;
}

it('without its data, runs and schedules are there again, and nothing is restarted by hand', async () => {
  const waits = await createTwoWaits('lost');
  const [one, other] = [await waits.begin(), await waits.begin()];
  const yearly = await createYearly();
  await nextSweep();

  await restartTemporal(async () => {
    await rm(dataDir, { recursive: true });
  });
  await one.track('first');
  // Perhaps before the first sweep.
  await one.isAt('Second');
  await waitFor(
    'the schedule of the sweep',
    () => hasSchedule(sweepIdOf(engine.taskQueue)),
    60_000,
  );
  await waitFor('the schedule of the workflow', () => hasSchedule(yearly), 60_000);
  const describe = () => client.workflow.getHandle(executionRunId(other.id)).describe();
  await waitFor(
    'the run of the other',
    () =>
      describe().then(
        () => true,
        () => false,
      ),
    60_000,
  );
  await other.track('first');
  await other.isAt('Second');
  expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
}, 300_000);

it('without its data, a campaign that was half sent is sent to all, once', async () => {
  const addresses = await insertContacts(engine, 60);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await waitFor('some mails', async () => (await campaignOf(engine, id)).sentCount >= 10, 60_000);
  await restartTemporal(async () => {
    await rm(dataDir, { recursive: true });
  });
  expect((await campaignOf(engine, id)).sentCount).toBeLessThan(60);
  await campaignIn(engine, id, 'SENT', 240_000);
  const { rows } = {
    rows: await engine.api.db.selectFrom('mailbox_message').select('recipient').execute(),
  };
  const received = rows.map(({ recipient }) => recipient).filter((to) => addresses.includes(to));
  expect(received.toSorted()).toEqual(addresses.toSorted());
}, 400_000);

it('with older data, runs follow the rows that have gone on since', async () => {
  const waits = await createTwoWaits('older');
  const [behind, ended] = [await waits.begin(), await waits.begin()];
  await nextSweep();
  await restartTemporal(() => cp(dataDir, backup, { recursive: true }));
  await behind.track('first');
  await behind.isAt('Second');
  await ended.track('first');
  await ended.isAt('Second');
  await ended.track('second');
  await ended.isAt(null);
  const young = await waits.begin();
  const yearly = await createYearly();
  await nextSweep();

  await restartTemporal(async () => {
    await rm(dataDir, { recursive: true });
    await cp(backup, dataDir, { recursive: true });
  });
  const runOf = ({ id }: { id: string }) =>
    client.workflow.getHandle(executionRunId(id)).describe();
  expect((await runOf(ended)).status.name).toBe('RUNNING');
  await expect(runOf(young)).rejects.toThrow();
  expect(await hasSchedule(yearly)).toBe(false);

  await waitFor(
    'the end of the run',
    async () => (await runOf(ended)).status.name !== 'RUNNING',
    90_000,
  );
  await waitFor(
    'the run of the youngest',
    () =>
      runOf(young).then(
        () => true,
        () => false,
      ),
    60_000,
  );
  await waitFor('the schedule of the workflow', () => hasSchedule(yearly), 60_000);
  await behind.track('second');
  await behind.isAt(null);
  await young.track('first');
  await young.isAt('Second');
}, 400_000);
