import { ScheduleNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { sweepIdOf } from '../../domain/runs/runs.ts';
import { connectTemporal } from '../../workflows/client/connection.ts';
import { useEngine } from '../support/engine.ts';
import { createContact, createWorkflow } from '../support/histories/executions.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { newAddress } from '../support/projects/shop.ts';
import { atEnd, use, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/** Temporal is thrown away under running processes, and begins anew. */

const [port, uiPort] = await Promise.all(
  [0, 0].map(async () => {
    const claimed = await claimFreePort();
    atEnd(claimed.release);
    return claimed.port;
  }),
);
const start = async () =>
  startTemporal({ dataDir: await useFolder(), port: port!, uiPort: uiPort!, log: () => {} });
let server = await start();
atEnd(() => server.stop());
const engine = await useEngine({}, { worker: false });
const { address } = server;
const none = { apiKey: null, tlsCert: null, tlsKey: null, tlsCa: null };
const temporal = use(connectTemporal({ address, namespace: 'default', ...none }));
const worker = await useWorkerProcess(engine, { TEMPORAL_ADDRESS: address });
const api = await useApiProcess(engine, { TEMPORAL_ADDRESS: address });

const hasSchedule = () =>
  temporal.client.schedule
    .getHandle(sweepIdOf(engine.taskQueue))
    .describe()
    .then(
      () => true,
      (error: unknown) => {
        if (error instanceof ScheduleNotFoundError) return false;
        throw error;
      },
    );

it('without its data, the sweep is scheduled and lost runs go on, and nothing is restarted by hand', async () => {
  const { id } = await createWorkflow(engine, {
    eventName: 'waits',
    steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked' } }],
  });
  const email = newAddress();
  await createContact(engine, email);
  const track = async (event: string) =>
    expect((await api.call('POST', '/v1/track', { email, event })).status).toBe(200);
  const executionIn = (status: string, timeoutMs?: number) =>
    waitFor(
      `an execution ${status}`,
      async () => {
        const { body } = await engine.call('GET', `/workflows/${id}/executions?status=${status}`);
        return body.executions[0];
      },
      timeoutMs,
    );
  await track('waits');
  await executionIn('WAITING');
  await waitFor('the schedule', hasSchedule);

  await server.stop();
  server = await start();
  await waitFor('Temporal', () => temporal.answers());
  expect(await hasSchedule()).toBe(false);
  await track('clicked');
  // Without the sweep, which is not there yet.
  await executionIn('COMPLETED', 15_000);
  await waitFor('the schedule', hasSchedule, 60_000);
  expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
}, 180_000);
