import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { drawArm } from '../../domain/workflow/steps/split.ts';
import { useEngine } from '../support/engine.ts';
import { createWorkflow } from '../support/histories/executions.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { atEnd, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/** Each execution with a key is ended by the event of its own key, whatever dies meanwhile. */

const contacts = Number(process.env['FAULT_CONTACTS'] ?? 1_000);
const orders = ['1', '2', '3', '4', '5'];
const clients = 20;
/** How long a server is away, in milliseconds. */
const awayMs = 5_000;
/** The longest pause in which no execution ends, from the return of all parts on. */
const pauseMs = 90_000;

async function newPort(): Promise<number> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  return port;
}

describe('executions with keys', async () => {
  const folder = await useFolder();
  const [postgresPort, temporalPort, uiPort] = [await newPort(), await newPort(), await newPort()];
  const quiet = { log: () => {} };
  const startDatabase = () =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      port: postgresPort,
      disposable: true,
      ...quiet,
    });
  const startRuns = () =>
    startTemporal({ dataDir: join(folder, 'temporal'), port: temporalPort, uiPort, ...quiet });
  let postgres = await startDatabase();
  atEnd(() => postgres.stop());
  await migrateToLatest(postgres.url);
  let temporal = await startRuns();
  atEnd(() => temporal.stop());
  const settings = { DATABASE_URL: postgres.url, RATE_LIMIT_ENABLED: 'false' };
  const engine = await useEngine(settings, { worker: false, temporalAddress: temporal.address });
  const there = { ...settings, TEMPORAL_ADDRESS: temporal.address };
  const startWorker = () => useWorkerProcess(engine, there);
  const startApi = () => useApiProcess(engine, there);
  let api: Awaited<ReturnType<typeof startApi>>;
  let worker: Awaited<ReturnType<typeof startWorker>>;
  const { db } = engine.api;

  /** Takes each part away and brings it back. */
  const faults: [string, () => Promise<void>][] = [
    [
      'worker',
      async () => {
        await worker.kill();
        worker = await startWorker();
      },
    ],
    [
      'API',
      async () => {
        await api.kill();
        api = await startApi();
      },
    ],
    [
      'Temporal',
      async () => {
        await temporal.stop();
        await sleep(awayMs);
        temporal = await startRuns();
      },
    ],
    [
      'PostgreSQL',
      async () => {
        await postgres.stop();
        await sleep(awayMs);
        postgres = await startDatabase();
      },
    ],
  ];

  const arms = ['a', 'b'].map((id) => ({ id, name: id, weight: 50 }));

  /**
   * A workflow that starts once for each order, draws an arm, and waits until that order is paid.
   */
  const createJourney = (eventName: string) =>
    createWorkflow(engine, {
      eventName,
      executionKey: 'event.order',
      steps: [
        { type: 'SPLIT', name: 'Split', config: { arms } },
        {
          type: 'WAIT_FOR_EVENT',
          name: 'Paid?',
          config: {
            eventName: `${eventName} paid`,
            since: 'execution',
            where: [{ field: 'event.order', operator: 'equals', valueOf: 'context.order' }],
          },
        },
      ],
      ways: [
        ['TRIGGER', 'Split'],
        ['Split', 'Paid?', 'a'],
        ['Split', 'Paid?', 'b'],
      ],
    });

  /** Tracks an event until that is answered. A request without an answer may have been recorded. */
  async function track(email: string, event: string, data: object): Promise<void> {
    for (;;) {
      const answer = await api.call('POST', '/v1/track', { email, event, data }).catch(() => null);
      if (answer?.status === 200) return;
      await sleep(100);
    }
  }

  const emailOf = (event: string, contact: number) => `${event}-${contact}@people.test`;
  const payments = (event: string, contact: number) =>
    orders.map((order) => () => {
      const email = emailOf(event, contact);
      return track(email, `${event} paid`, { order, payment: `${email} ${order}` });
    });

  /** The executions of a workflow, with the event that has ended the wait of each. */
  async function executionsOf(workflow: { id: string; steps: Record<string, string> }) {
    const { rows } = await sql<{
      email: string;
      contactId: string;
      key: string;
      status: string;
      payment: string | null;
      arm: string | null;
      endedBy: string | null;
    }>`
      select contact.email, contact.id as "contactId", execution.key, execution.status,
          execution.context ->> 'payment' as payment, split.output ->> 'arm' as arm,
          event.data ->> 'payment' as "endedBy"
        from execution join contact on contact.id = execution.contact_id
        left join step_execution split
          on split.execution_id = execution.id and split.step_id = ${workflow.steps['Split']}
        left join step_execution paid
          on paid.execution_id = execution.id and paid.step_id = ${workflow.steps['Paid?']}
        left join event on event.id = paid.ending_event_id
        where execution.workflow_id = ${workflow.id}`.execute(db);
    return rows;
  }

  async function count(workflowId: string, status: string): Promise<number> {
    const { rows } = await sql<{ total: number }>`select count(*)::int as total from execution
      where workflow_id = ${workflowId} and status = ${status}`.execute(db);
    return rows[0]?.total ?? 0;
  }

  it(
    `end each by its own event, ${contacts} contacts with ${orders.length} keys, when all parts die in turn`,
    { timeout: 1_200_000 },
    async () => {
      [worker, api] = [await startWorker(), await startApi()];
      const event = 'shop';
      const workflow = await createJourney(event);
      let next = 0;
      let begun = 0;
      const client = async () => {
        for (let contact = next++; contact < contacts; contact = next++) {
          for (const order of orders) await track(emailOf(event, contact), event, { order });
          // Some are paid while their step begins, the others later and in another order.
          if (contact % 2 === 0) for (const pay of payments(event, contact)) await pay();
          begun += 1;
        }
      };
      const rest = Array.from({ length: contacts }, (_, contact) => contact).filter((n) => n % 2);
      const late = async () => {
        for (let contact = rest.pop(); contact !== undefined; contact = rest.pop()) {
          for (const pay of payments(event, contact).toReversed()) await pay();
        }
      };
      const inTurn = (work: () => Promise<void>) =>
        Promise.all(Array.from({ length: clients }, work));
      const all = inTurn(client).then(() => inTurn(late));
      for (const [index, [name, fault]] of faults.entries()) {
        const share = (index + 1) / (faults.length + 1);
        await waitFor(`the time to end ${name}`, () => begun >= contacts * share, 600_000);
        await fault();
      }
      await all;
      const total = contacts * orders.length;
      for (let ended = 0; ended < total;) {
        const before = ended;
        await waitFor(
          `another end than those of ${before} executions`,
          async () => (ended = await count(workflow.id, 'COMPLETED')) > before,
          pauseMs,
        );
      }
      const executions = await executionsOf(workflow);
      expect(executions.length).toBe(total);
      expect(new Set(executions.map(({ email, key }) => `${email} ${key}`)).size).toBe(total);
      for (const { email, contactId, key, payment, endedBy, arm } of executions) {
        const own = `${email} ${key}`;
        const { id: drawn } = drawArm(arms, workflow.steps['Split']!, contactId);
        expect([payment, endedBy, arm]).toEqual([own, own, drawn]);
      }
      const inA = new Set(executions.filter(({ arm }) => arm === 'a').map(({ email }) => email));
      // Within four standard deviations.
      expect(Math.abs(inA.size - contacts / 2)).toBeLessThanOrEqual(2 * Math.sqrt(contacts));
      expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
    },
  );

  it(
    'go on when the worker dies between the event and the end of their waits',
    { timeout: 240_000 },
    async () => {
      [worker, api] = [await startWorker(), await startApi()];
      const event = 'store';
      const workflow = await createJourney(event);
      const some = Array.from({ length: 10 }, (_, contact) => contact);
      for (const contact of some) {
        for (const order of orders) await track(emailOf(event, contact), event, { order });
      }
      const total = some.length * orders.length;
      await waitFor('all to wait', async () => (await count(workflow.id, 'WAITING')) === total);
      await worker.kill();
      // The last order is not paid.
      for (const contact of some) {
        for (const pay of payments(event, contact).slice(0, -1)) await pay();
      }
      const paid = some.length * (orders.length - 1);
      const { rows } = await sql<{ claimed: number }>`select count(event_id)::int as claimed
        from wait join execution on execution.id = wait.execution_id
        where execution.workflow_id = ${workflow.id}`.execute(db);
      expect(rows[0]?.claimed).toBe(paid);
      worker = await startWorker();
      await waitFor(
        'those that are paid',
        async () => (await count(workflow.id, 'COMPLETED')) === paid,
        90_000,
      );
      for (const { email, key, status, endedBy } of await executionsOf(workflow)) {
        const isPaid = key !== orders.at(-1);
        const expected = isPaid ? ['COMPLETED', `${email} ${key}`] : ['WAITING', null];
        expect([status, endedBy]).toEqual(expected);
      }
    },
  );
});
