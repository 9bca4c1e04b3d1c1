import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';

/** What the mail of one request may cost the processes that handle it. */

const engine = await useEngine({}, { worker: false });

/** More than either process needs, and much less than the bodies of these tests. */
const smallHeap = { NODE_OPTIONS: '--max-old-space-size=448' };
const rates = {
  EMAIL_RATE_LIMIT_PER_SECOND: '1000',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '1000',
};
const megabyte = 1024 * 1024;

describe('twenty mails of 20 MB, as they were accepted once', () => {
  const count = 20;
  let contactId: string;
  beforeAll(async () => {
    const { db } = engine.api;
    const made = await engine.call('POST', '/contacts', { email: newAddress() });
    contactId = made.body.id;
    await sql`
      insert into email (project_id, contact_id, to_email, subject, body, from_email,
          message_class, source_type)
        select ${engine.project.id}, ${contactId}, 'large@people.test', 'Large',
            repeat('<p>large</p> ', ${Math.ceil((20 * megabyte) / 13)}::int), ${`a@${engine.domain}`},
            'TRANSACTIONAL', 'TRANSACTIONAL'
          from generate_series(1, ${count}::int)`.execute(db);
  }, 120_000);

  it('are listed by an API with little memory', async () => {
    const api = await useApiProcess(engine, smallHeap);
    const list = await api.call('GET', '/emails?limit=100');
    expect([list.status, list.body.data.length]).toEqual([200, count]);
    const [email] = list.body.data;
    const one = await api.call('GET', `/emails/${email.id}`);
    expect(one.body.body.length).toBeGreaterThan(19 * megabyte);
    expect(api.isRunning()).toBe(true);
  }, 120_000);

  it('leave through a worker with little memory', async () => {
    const worker = await useWorkerProcess(engine, { ...smallHeap, ...rates });
    // Signals the delivery run.
    const body = '<p>Hi</p>';
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body, to: newAddress() };
    expect((await engine.call('POST', '/v1/send', mail)).status).toBe(200);
    const statuses = async () => {
      const { rows } = await sql<{ status: string }>`
        select distinct status from email`.execute(engine.api.db);
      return rows.map(({ status }) => status);
    };
    await waitFor(
      'all mail, or the end of the worker',
      async () => !worker.isRunning() || (await statuses()).join() === 'DELIVERED',
      240_000,
    );
    expect(worker.lines.join('\n')).not.toContain('heap out of memory');
    expect([worker.isRunning(), await statuses()]).toEqual([true, ['DELIVERED']]);
  }, 300_000);
});
