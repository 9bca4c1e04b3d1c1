import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { holdBackCommits } from '../../support/held-insert.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A worker that is killed while it announces the end of a named key. */

const sender = { PLATFORM_FROM_ADDRESS: 'team@everpost.test' };
const engine = await useEngine({}, { worker: false });
const { db } = engine.api;

async function newKey() {
  const expiresAt = new Date(Date.now() + 7 * 86_400_000 + 100).toISOString();
  const given = { name: 'Shop', scopes: ['*'], expiresAt };
  const { status, body } = await engine.call('POST', '/api-keys', given);
  expect(status).toBe(201);
  return body.id as string;
}

const eventsOf = async (keyId: string) =>
  (await sql`select from event where data ->> 'keyId' = ${keyId}`.execute(db)).rows.length;
const rowsOf = async (table: string) =>
  (await sql`select from ${sql.table(table)} where subject like '%expires in 7 days'`.execute(db))
    .rows.length;
/** Mails in the mailbox and on the way to it. */
const mails = async () => (await rowsOf('mailbox_message')) + (await rowsOf('system_mail'));

/** Starts a sweep, and does not wait for it. */
const startSweep = () =>
  engine.temporal.client.workflow.start('sweep', {
    taskQueue: engine.taskQueue,
    workflowId: `sweep-${randomUUID()}`,
    args: [],
  });

it.each([
  ['before the commit', true],
  ['after the commit, before it knows', false],
])(
  'killed %s, it loses and repeats nothing',
  async (_, isLost) => {
    const before = await mails();
    const keyId = await newKey();
    const held = await holdBackCommits(db, 'event');
    const worker = await useWorkerProcess(engine, sender);
    const sweep = await startSweep();
    await held.isReached();
    await worker.kill();
    if (isLost) await held.endWaiting();
    await held.release();
    const next = await useWorkerProcess(engine, sender);
    await waitFor('the event', async () => (await eventsOf(keyId)) > 0, 180_000);
    await sweep.result();
    await (await startSweep()).result();
    await waitFor('the mail', async () => (await rowsOf('system_mail')) === 0);
    await next.stop();
    expect([await eventsOf(keyId), (await mails()) - before]).toEqual([1, 1]);
  },
  360_000,
);
