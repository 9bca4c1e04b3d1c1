import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { createContact, createWorkflow } from '../support/histories/executions.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes/processes.ts';
import { patient, restarted } from '../support/processes/restarted.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';

/** Kills the API and the worker while many events start executions and fill their digests. */

const clients = 20;
const eventsOfClient = 25;

it('has each of 500 events by 20 clients in exactly one digest', { timeout: 300_000 }, async () => {
  const engine = await useEngine({}, { worker: false });
  const { db } = engine.api;
  const worker = restarted(() => startWorkerProcess(engine));
  const api = restarted(() => startApiProcess(engine));
  try {
    await Promise.all([worker.start(), api.start()]);
    const eventName = randomUUID();
    const workflow = await createWorkflow(engine, {
      eventName,
      reentry: { mode: 'after_end' },
      steps: [
        {
          type: 'DIGEST',
          name: 'Digest',
          config: { eventName, for: { amount: 1, unit: 'hours' }, max: 3 },
        },
      ],
    });
    const email = newAddress();
    await createContact(engine, email);
    const call = patient(engine, () => api.get());
    const tracked = Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        for (let n = 0; n < eventsOfClient; n++) {
          await call('POST', '/v1/track', { email, event: eventName, data: { client, n } });
        }
      }),
    );
    await Promise.all([worker.killAndStart(), api.killAndStart()]);
    await worker.killAndStart();
    await api.killAndStart();
    await tracked;
    const path = `/workflows/${workflow.id}`;
    await waitFor(
      'the last digest, which stays open or is closed',
      async () => {
        const { rows } = await sql<{ left: number }>`
          select count(*)::int as left from event where name = ${eventName}
            and not exists (select from digest_event where event_id = event.id)`.execute(db);
        return rows[0]?.left === 0;
      },
      120_000,
    );
    await call('POST', `${path}/steps/${workflow.steps['Digest']}/move-waits`, {
      until: '2020-01-01T00:00:00Z',
    });
    await waitFor(
      'the end of all executions',
      async () => {
        const { body } = await engine.call('GET', `${path}/stats`);
        return body.data.executions.active === 0;
      },
      120_000,
    );
    const { rows } = await sql<{ events: number; taken: number; counted: number; small: number }>`
      select (select count(*)::int from event where name = ${eventName}) as events,
          (select count(*)::int from digest_event join event on event.id = event_id
            where name = ${eventName}) as taken,
          sum((context -> 'digest' ->> 'count')::int)::int as counted,
          count(*) filter (where (context -> 'digest' ->> 'count')::int < 3)::int as small
        from execution where workflow_id = ${workflow.id}`.execute(db);
    const { events, small, ...all } = rows[0]!;
    expect(events).toBeGreaterThanOrEqual(clients * eventsOfClient);
    expect(all).toEqual({ taken: events, counted: events });
    // Only the one that was moved closed before its maximum.
    expect(small).toBeLessThanOrEqual(1);
  } finally {
    await Promise.all([worker.stop(), api.stop()]);
  }
});
