import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { type PostgresServer, startPostgres } from '../../dev/servers/postgres.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { connectTemporal } from '../../workflows/client/connection.ts';
import { type Engine, useEngine } from '../support/engine.ts';
import { createContact, createTemplate, createWorkflow } from '../support/histories/executions.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { newAddress } from '../support/projects/shop.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import { outliveGrace, sweepNow } from '../support/sweep-now.ts';
import { waitFor } from '../support/wait-for.ts';
import { atEnd, use, useFolder } from '../support/use.ts';

/** Servers stop and return while Everpost runs. */

async function newPort(): Promise<number> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  return port;
}

/** Counts the rows of a table by status. */
async function countStatuses(engine: Engine, table: 'email' | 'execution') {
  const rows = await engine.api.db.selectFrom(table).select('status').execute();
  const counts: Record<string, number> = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('while Temporal is away', async () => {
  const dataDir = await useFolder();
  const [port, uiPort] = [await newPort(), await newPort()];
  const start = () => startTemporal({ dataDir, port, uiPort, log: () => {} });
  let server = await start();
  atEnd(() => server.stop());
  const engine = await useEngine({}, { worker: false });
  const { address } = server;
  const none = { apiKey: null, tlsCert: null, tlsKey: null, tlsCa: null };
  const temporal = use(connectTemporal({ address, namespace: 'default', ...none }));
  const there = { TEMPORAL_ADDRESS: address };
  const worker = await useWorkerProcess(engine, there);
  const api = await useApiProcess(engine, there);

  /** Sends a request to the API process, which must respond as usual. */
  async function promptly(method: string, path: string, body?: unknown) {
    const began = performance.now();
    const answer = await api.call(method, path, body);
    expect([path, answer.status]).toEqual([path, 200]);
    // A request that waited for Temporal would take five seconds, the timeout of a call.
    expect(performance.now() - began).toBeLessThan(4_500);
    return answer;
  }

  it('the API answers at once, and everything happens when it is back', async () => {
    const templateId = await createTemplate(engine);
    await createWorkflow(engine, {
      eventName: 'mailed',
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    const waiting = await createWorkflow(engine, {
      eventName: 'waits',
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked' } }],
    });
    const [clicker, cancelled] = [newAddress(), newAddress()];
    for (const email of [clicker, cancelled]) {
      await createContact(engine, email);
      await promptly('POST', '/v1/track', { email, event: 'waits' });
    }
    await waitFor(
      'two waiting',
      async () => (await countStatuses(engine, 'execution'))['WAITING'] === 2,
    );

    await server.stop();
    const [tracked, sent] = [
      Array.from({ length: 5 }, newAddress),
      Array.from({ length: 5 }, newAddress),
    ];
    for (const email of tracked) await promptly('POST', '/v1/track', { email, event: 'mailed' });
    for (const to of sent) {
      const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
      await promptly('POST', '/v1/send', { ...mail, to });
    }
    await promptly('POST', '/v1/track', { email: clicker, event: 'clicked' });
    const { body } = await promptly('GET', `/workflows/${waiting.id}/executions`);
    const { id } = body.executions.find(
      ({ contact }: { contact: { email: string } }) => contact.email === cancelled,
    );
    const deleted = await promptly('DELETE', `/workflows/${waiting.id}/executions/${id}`);
    expect(deleted.body).toMatchObject({ status: 'CANCELLED', exitReason: 'cancelled' });
    await outliveGrace(engine);

    server = await start();
    await waitFor('Temporal', () => temporal.answers());
    await sweepNow(engine, temporal.client);
    for (const email of [...tracked, ...sent]) {
      expect(await engine.mailsTo(email, 1)).toHaveLength(1);
    }
    await waitFor('all journeys to end', async () => {
      const { COMPLETED, CANCELLED } = await countStatuses(engine, 'execution');
      return COMPLETED === 6 && CANCELLED === 1;
    });
    await waitFor('the cancelled run to be closed', async () => {
      const run = await temporal.client.workflow.getHandle(`execution-${id}`).describe();
      return run.status.name === 'CANCELLED';
    });
    expect(await countStatuses(engine, 'email')).toEqual({ DELIVERED: 10 });
    expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
  }, 120_000);
});

describe('while PostgreSQL is away', () => {
  it('nothing is lost and nothing happens twice', async () => {
    const dataDir = await useFolder();
    const port = await newPort();
    const start = () =>
      startPostgres({ dataDir: join(dataDir, 'postgres'), port, log: () => {}, disposable: true });
    let server: PostgresServer = await start();
    atEnd(() => server.stop());
    await migrateToLatest(server.url);
    const sink = await useSmtpSink();
    const environment = {
      DATABASE_URL: server.url,
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(sink.port),
      EMAIL_RATE_LIMIT_PER_SECOND: '150',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '150',
    };
    const engine = await useEngine(environment, { worker: false });
    const templateId = await createTemplate(engine);
    await createWorkflow(engine, {
      eventName: 'travels',
      steps: [
        { type: 'SEND_EMAIL', name: 'First', templateId },
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never', timeout: 2 } },
        { type: 'SEND_EMAIL', name: 'Second', templateId },
      ],
    });
    const api = await useApiProcess(engine, environment);
    const travellers = Array.from({ length: 30 }, newAddress);
    const to = Array.from({ length: 800 }, newAddress);
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    for (let at = 0; at < to.length; at += 100) {
      const sent = await api.call('POST', '/v1/send', { ...mail, to: to.slice(at, at + 100) });
      expect(sent.status).toBe(200);
    }
    const worker = await useWorkerProcess(engine, environment);
    for (const email of travellers) {
      expect((await api.call('POST', '/v1/track', { email, event: 'travels' })).status).toBe(200);
    }
    await waitFor('mail under way', () => sink.messages.length > 50);

    await server.stop();
    expect(
      (await api.call('POST', '/v1/track', { email: newAddress(), event: 'lost' })).status,
    ).not.toBe(200);
    await sleep(5_000);
    server = await start();

    expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
    await waitFor(
      'all mail and all journeys',
      async () => {
        const { SENT, ...others } = await countStatuses(engine, 'email').catch(() => ({
          SENT: 0,
        }));
        return SENT === to.length + 2 * travellers.length && Object.keys(others).length === 0;
      },
      100_000,
    );
    await waitFor(
      'all journeys to end',
      async () => (await countStatuses(engine, 'execution'))['COMPLETED'] === travellers.length,
    );
    expect(to.filter((email) => sink.countTo(email) !== 1)).toEqual([]);
    expect(travellers.filter((email) => sink.countTo(email) !== 2)).toEqual([]);
    expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
  }, 180_000);
});
