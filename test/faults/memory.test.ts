import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';
import { writeMail } from '../support/mail-tables.ts';

/** Limits the memory that the mail of one request may need in a process. */

const engine = await useEngine({}, { worker: false });

/** More than each process needs, and much less than the bodies of these tests. */
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
    await writeMail(db, (tx) =>
      sql`
      insert into email (project_id, contact_id, to_email, subject, body, from_email,
          message_class, source_type)
        select ${engine.project.id}, ${contactId}, 'large@people.test', 'Large',
            repeat('<p>large</p> ', ${Math.ceil((20 * megabyte) / 13)}::int), ${`a@${engine.domain}`},
            'TRANSACTIONAL', 'TRANSACTIONAL'
          from generate_series(1, ${count}::int)`.execute(tx),
    );
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

describe('lists of the largest rows', () => {
  /** Reads a response without storing it. Returns its status and its bytes. */
  async function measure(api: { url: string }, path: string) {
    const headers = { Authorization: `Bearer ${engine.project.secretKey}` };
    const response = await fetch(`${api.url}${path}`, { headers });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return { status: response.status, bytes };
  }

  it('are written by an API with little memory, several at once', async () => {
    const { db } = engine.api;
    const projectId = engine.project.id;
    await sql`
      insert into template (project_id, name, subject, body, type)
        select ${projectId}, 'Large', 'Large', repeat('<p>large</p> ', 161000), 'MARKETING'
          from generate_series(1, 100)`.execute(db);
    await sql`
      insert into event (project_id, name, data)
        select ${projectId}, 'large', jsonb_build_object('text', repeat('large ', 10800))
          from generate_series(1, 1000)`.execute(db);
    const { rows } = await sql<{ id: string }>`
      with made as (
        insert into workflow (project_id, name, trigger_type) values (${projectId}, 'Large', 'MANUAL')
          returning id
      ), step as (
        select gen_random_uuid() as id
      ), version as (
        insert into workflow_version (workflow_id, version, project_id, graph)
          select made.id, 1, ${projectId}, jsonb_build_object('transitions', '[]'::jsonb, 'steps',
              (select jsonb_agg(jsonb_build_object('id', case at when 1 then step.id
                  else gen_random_uuid() end, 'type', 'DELAY', 'name', 'Step', 'config',
                  jsonb_build_object('text', repeat('large ', 1600)), 'templateId', null))
                from generate_series(1, 100) at))
            from made, step
      ), people as (
        insert into contact (project_id, email, subscribed)
          select ${projectId}, gen_random_uuid() || '@people.test', true from generate_series(1, 100)
          returning id
      )
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
          status, current_step_id, completed_at)
        select ${projectId}, made.id, 1, 'Large', people.id, 'COMPLETED', step.id, now()
          from made, step, people
        returning workflow_id as id`.execute(db);
    const api = await useApiProcess(engine, smallHeap);
    const paths = {
      '/templates?pageSize=100': 100 * 2 * megabyte,
      '/events?limit=1000': 60 * megabyte,
      [`/workflows/${rows[0]!.id}/executions?pageSize=100`]: 30_000,
    };
    for (const [path, bytesMin] of Object.entries(paths)) {
      const lists = await Promise.all([1, 2, 3].map(() => measure(api, path)));
      expect(lists.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const { bytes } of lists) expect(bytes).toBeGreaterThan(bytesMin - megabyte);
    }
    expect(api.isRunning()).toBe(true);
  }, 300_000);
});
