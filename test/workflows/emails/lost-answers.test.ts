import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { deliveryRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { useTcpProxy } from '../../support/fakes/tcp-proxy.ts';
import { databaseBehind } from '../../support/servers.ts';
import { atEnd } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Faults between the claim of a batch and its handover, before any mail has left. */

const sink = await useSmtpSink();
const smtp = { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(sink.port) };
const engine = await useEngine(smtp, { worker: false });
afterEach(() => engine.stopWorker());

async function send(count: number, given: object = {}): Promise<string[]> {
  const to = Array.from({ length: count }, () => `${randomUUID()}@people.test`);
  const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
  expect((await engine.call('POST', '/v1/send', { ...mail, ...given, to })).status).toBe(200);
  return to;
}

function rowsTo(to: readonly string[]) {
  return engine.api.db
    .selectFrom('email')
    .select(['to_email', 'status', 'attempts', 'error'])
    .where('to_email', 'in', to)
    .execute();
}

async function arrivedOnce(to: readonly string[]): Promise<void> {
  await waitFor('all mail to be recorded', async () =>
    (await rowsTo(to)).every(({ status }) => status === 'SENT'),
  );
  expect(to.map((address) => sink.countTo(address))).toEqual(to.map(() => 1));
}

describe('a batch that was claimed', () => {
  it('is due again at once when its files cannot be read', async () => {
    const { db } = engine.api;
    const attachments = [{ filename: 'a.txt', content: 'aGk', contentType: 'text/plain' }];
    const to = await send(5, { attachments });
    await sql`alter table attachment rename to attachment_away`.execute(db);
    await engine.startWorker();
    const delivery = engine.temporal.client.workflow.getHandle(deliveryRunId(engine.project.id));
    await waitFor('a second attempt', async () => {
      const { raw } = await delivery.describe();
      return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1);
    });
    await sql`alter table attachment_away rename to attachment`.execute(db);
    await arrivedOnce(to);
    // A message that was not handed over does not count as an attempt.
    expect((await rowsTo(to)).map(({ attempts }) => attempts)).toEqual(to.map(() => 1));
  });

  it('is due again when the answer to the claim was lost', async () => {
    const { db } = engine.api;
    const { databaseUrl } = engine.api.services.config;
    const line = await useTcpProxy(new URL(databaseUrl).host);
    const worker = await useWorkerProcess(engine, {
      ...smtp,
      DATABASE_URL: databaseBehind(line.address, databaseUrl),
    });
    // Holds claims until they are released.
    await sql`create function stand_still() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(7); return new; end'`.execute(db);
    await sql`create trigger stand_still before update on email for each row
      when (new.status = 'SENDING') execute function stand_still()`.execute(db);
    atEnd(() => sql`drop trigger stand_still on email`.execute(db));
    let to: string[] = [];
    await db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(7)`.execute(tx);
      to = await send(5);
      await waitFor('the claim', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event = 'advisory'`.execute(db);
        return rows.length > 0;
      });
      line.mode = 'deaf';
    });
    await waitFor('the commit', async () =>
      (await rowsTo(to)).some(({ status }) => status === 'SENDING'),
    );
    line.mode = 'open';
    line.cut();
    await arrivedOnce(to);
    expect(worker.isRunning()).toBe(true);
  }, 60_000);

  it('leaves without the message that cannot be written', async () => {
    const to = await send(10);
    const [damaged, ...others] = to;
    await engine.api.db
      .updateTable('email')
      .set({ headers: '{"no": "list"}' })
      .where('to_email', '=', damaged!)
      .execute();
    await engine.startWorker();
    await sweepNow(engine);
    await arrivedOnce(others);
    // It counts as an attempt, and the last attempt fails with this error.
    const [row] = await waitFor('the damaged one', async () => {
      const rows = await rowsTo([damaged!]);
      return rows[0]?.status === 'PENDING' && rows;
    });
    expect(row?.attempts).toBeGreaterThan(0);
    expect(row?.error).toEqual(expect.any(String));
    expect(sink.countTo(damaged!)).toBe(0);
  });
});
