import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/activity';
import { sql } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Mailer } from '../../../providers/mail/mailer.ts';
import { useEngine } from '../../support/engine.ts';
import { deliverDue, insertDueEmail } from '../../support/projects/mails.ts';
import { waitFor } from '../../support/wait-for.ts';

/** One batch of mail: its time limits, and its use of memory. */

const engine = await useEngine({}, { worker: false });
afterEach(() => vi.useRealTimers());

/** Moves the clock; timers and the database keep their time. */
const passTime = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
};

async function insertDue(count: number, fileBytes = 0): Promise<string[]> {
  const { db } = engine.api;
  const { id: contactId } = await db
    .insertInto('contact')
    .values({
      project_id: engine.project.id,
      email: `${randomUUID()}@people.test`,
      subscribed: true,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const attachments = JSON.stringify(fileBytes > 0 ? [{ bytes: fileBytes }] : []);
  const fields = { to_email: 'ada@people.test', attachments };
  return Promise.all(
    Array.from({ length: count }, () => insertDueEmail(engine, contactId, fields)),
  );
}

/** The number of times that a claim could not be ended. */
let failures = 0;

const deliver = (change: Partial<Mailer>, stop?: AbortSignal) =>
  deliverWith({ ...engine.services.mailer, ...change }, stop);

const deliverWith = (mailer: Mailer, stop?: AbortSignal) =>
  deliverDue(engine, { mailer, log: { warn: () => void (failures += 1) } }, stop);

const rowsOf = (ids: readonly string[]) =>
  engine.api.db
    .selectFrom('email')
    .select(['status', 'attempts'])
    .where('id', 'in', ids)
    .orderBy('status')
    .execute();

/** Makes recording of outcomes fail, until the returned function is called. */
async function keepFromRecording(): Promise<() => Promise<unknown>> {
  const { db } = engine.api;
  await sql`create or replace function fail() returns trigger language plpgsql as
    $$begin raise exception 'away'; end$$`.execute(db);
  await sql`create trigger away before update on email for each row
    when (new.status <> 'SENDING') execute function fail()`.execute(db);
  return () => sql`drop trigger away on email`.execute(db);
}

describe('the outcome of a mail that has left', () => {
  it('is recorded however long the database was away', async () => {
    const ids = await insertDue(1);
    const undo = await keepFromRecording();
    const before = failures;
    const delivered = deliver({});
    delivered.catch(() => {});
    await waitFor('a first try', () => failures > before);
    passTime(3_600_000);
    await waitFor('two more', () => failures > before + 2);
    await undo();
    expect(await delivered).toBe(1);
    expect(await rowsOf(ids)).toEqual([{ status: 'DELIVERED', attempts: 1 }]);
  });

  it('is given up by a worker that shuts down, half a minute later', async () => {
    const ids = await insertDue(1);
    const undo = await keepFromRecording();
    const before = failures;
    const stop = new AbortController();
    const delivered = deliver({}, stop.signal);
    delivered.catch(() => {});
    await waitFor('a first try', () => failures > before);
    stop.abort(new CancelledFailure('WORKER_SHUTDOWN'));
    await waitFor('two more', () => failures > before + 2);
    passTime(31_000);
    await expect(delivered).rejects.toThrow('away');
    await undo();
    expect(await rowsOf(ids)).toEqual([{ status: 'SENDING', attempts: 1 }]);
  });
});

describe('a claim', () => {
  it('hands over nothing more when its lease is nearly over, and the rest is due again', async () => {
    const ids = await insertDue(3);
    const { mailer } = engine.services;
    await deliver({
      maxConcurrency: 1,
      send(message) {
        passTime(61_000);
        return mailer.send(message);
      },
    });
    expect(await rowsOf(ids)).toEqual([
      { status: 'DELIVERED', attempts: 1 },
      { status: 'PENDING', attempts: 0 },
      { status: 'PENDING', attempts: 0 },
    ]);
    vi.useRealTimers();
    await deliver({});
    expect((await rowsOf(ids)).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  it('shares the connections of the provider with all others of the process', async () => {
    const ids = await insertDue(60);
    const { mailer } = engine.services;
    let now = 0;
    let most = 0;
    const narrow: Mailer = {
      ...mailer,
      maxConcurrency: 3,
      async send(message) {
        most = Math.max(most, ++now);
        await sleep(5);
        now -= 1;
        return mailer.send(message);
      },
    };
    await Promise.all([deliverWith(narrow), deliverWith(narrow)]);
    expect(most).toBe(3);
    expect((await rowsOf(ids)).every(({ status }) => status === 'DELIVERED')).toBe(true);
  });

  it('has the files of two of the largest mails of a project in memory at once, and no more', async () => {
    const ids = await insertDue(12, 10 * 1024 * 1024);
    const { mailer } = engine.services;
    let now = 0;
    let most = 0;
    await deliver({
      maxConcurrency: 16,
      async send(message) {
        most = Math.max(most, ++now);
        await sleep(20);
        now -= 1;
        return mailer.send(message);
      },
    });
    expect(most).toBe(2);
    expect((await rowsOf(ids)).every(({ status }) => status === 'DELIVERED')).toBe(true);
  });
});
