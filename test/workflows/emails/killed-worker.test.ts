import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { headerLine, readJournal } from '../../../providers/journal/lines.ts';
import { useEngine } from '../../support/engine.ts';
import { useCountingSink } from '../../support/fakes/counting-sink.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A campaign whose worker is killed, with the journal of that worker in different states. */

const sink = await useCountingSink();
sink.faults.slowMs = 2;
const smtp = {
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  DELIVERY_SETTLE_MINUTES: '0',
};
const engine = await useEngine(smtp, { worker: false });
const { db } = engine.api;
const recipients = 3_000;

let dir: string;
beforeEach(async () => {
  dir = await useFolder();
  await deleteContacts(engine);
});

const worker = (more: Record<string, string> = {}) =>
  useWorkerProcess(engine, { ...smtp, JOURNAL_DIR: dir, ...more });

/** Sends a campaign. Resolves when a third of it has arrived. */
async function sendThird(): Promise<string> {
  await insertContacts(engine, recipients);
  const id = await createCampaign(engine);
  const before = sink.taken;
  await act(engine, id, 'send');
  const end = Date.now() + 60_000;
  while (sink.taken < before + recipients / 3) {
    if (Date.now() > end) throw new Error('The campaign is not sent.');
    await sleep(1);
  }
  return id;
}

/** Ends the claims of the killed worker, instead of waiting for two minutes. */
async function runOutClaims(): Promise<void> {
  await sql`update campaign_chunk set lease_until = now() - interval '1 hour'
    where attempt_id is not null`.execute(db);
}

/** Waits for the end of the campaign. Returns how many of its messages are unknown. */
async function unknownOf(id: string): Promise<number> {
  await waitFor(
    'the end of the campaign',
    async () => {
      await sweepNow(engine);
      const { rows } = await sql`select from email
        where campaign_id = ${id} and status in ('PENDING', 'SENDING') limit 1`.execute(db);
      return rows.length === 0;
    },
    90_000,
  );
  await campaignIn(engine, id, 'SENT', 60_000);
  const rows = await db
    .selectFrom('email')
    .select(['id', 'status', 'error'])
    .where('campaign_id', '=', id)
    .execute();
  expect(rows).toHaveLength(recipients);
  const arrived = (emailId: string) => sink.emails.get(emailId) ?? 0;
  expect(rows.filter((row) => arrived(row.id) > 1)).toEqual([]);
  const unknown = rows.filter(({ error }) => error === 'delivery_unknown');
  expect(rows.length - unknown.length).toBe(
    rows.filter((row) => row.status === 'SENT' && arrived(row.id) === 1).length,
  );
  return unknown.length;
}

const openFiles = async () => (await readdir(dir)).filter((name) => name.endsWith('.open'));

async function changeFile(change: (path: string) => Promise<void>): Promise<void> {
  const [name = ''] = await openFiles();
  await change(join(dir, name));
}

describe('a campaign whose worker is killed', () => {
  it('leaves a few messages unknown, and sends the others at once', async () => {
    const first = await worker();
    const id = await sendThird();
    await first.kill();
    const [file] = await openFiles();
    await worker();
    const startedAt = Date.now();
    await waitFor('the take-over', async () => !(await openFiles()).includes(file!), 30_000);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    // At most one for each of 20 connections.
    expect(await unknownOf(id)).toBeLessThanOrEqual(20);
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from email
        where campaign_id = ${id} and trace @> '[{"state": "released"}]'`.execute(db);
    expect(rows[0]?.count).toBeGreaterThan(0);
  }, 180_000);

  it('does so with another worker beside it', async () => {
    const first = await worker();
    const id = await sendThird();
    await worker();
    await first.kill();
    expect(await unknownOf(id)).toBeLessThanOrEqual(20);
  }, 180_000);

  it('leaves all claimed messages unknown without a journal', async () => {
    const first = await worker({ JOURNAL_DIR: '' });
    const id = await sendThird();
    await first.kill();
    expect(await readdir(dir)).toEqual([]);
    await runOutClaims();
    await worker({ JOURNAL_DIR: '' });
    expect(await unknownOf(id)).toBeGreaterThan(20);
  }, 180_000);

  it.each([
    {
      state: 'was cut in half',
      change: async (path: string) =>
        truncate(path, Math.floor((await readFile(path)).indexOf(0) / 2)),
    },
    {
      state: 'is of another start of the machine',
      async change(path: string) {
        const file = await readFile(path);
        const { header } = readJournal(file);
        const before = Buffer.from(headerLine({ ...header!, boot: 'before' }, 0), 'latin1');
        await writeFile(path, Buffer.concat([before, file.subarray(file.indexOf('\n') + 1)]));
      },
    },
  ])(
    'sends nothing twice when its journal $state',
    async ({ change }) => {
      const first = await worker();
      const id = await sendThird();
      await first.kill();
      await changeFile(change);
      await worker();
      await waitFor(
        'the take-over',
        async () => (await readdir(dir)).some((name) => name.endsWith('.done')),
        30_000,
      );
      await runOutClaims();
      expect(await unknownOf(id)).toBeGreaterThan(0);
    },
    180_000,
  );
});

describe('a campaign whose worker is stopped for a while beside another', () => {
  it('keeps its claims, and sends each message once', async () => {
    const stopped = await worker();
    const id = await sendThird();
    const [own] = await openFiles();
    stopped.signal('SIGSTOP');
    await worker();
    await sleep(20_000);
    // Its file is still its own.
    expect(await openFiles()).toContain(own);
    stopped.signal('SIGCONT');
    expect(await unknownOf(id)).toBe(0);
  }, 180_000);
});
