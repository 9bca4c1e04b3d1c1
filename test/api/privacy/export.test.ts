import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';
import { atEnd } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Exports whose clients do not read the response, beside requests of others. */

// A quarter of the connections is three.
const api = await useApi({ DATABASE_POOL_MAX: '12', DATABASE_CONNECTION_TIMEOUT_MS: '2000' });
const { cookie } = await api.signUp();

/** Creates a project with a contact whose export is larger than all buffers of a connection. */
async function createProject() {
  const { id, secretKey: key } = await api.createProject(cookie);
  const made = await api.request('POST', '/contacts', { key, body: { email: 'ada@people.test' } });
  const contactId = made.body.id as string;
  await sql`insert into event (project_id, contact_id, name, data)
    select ${id}, ${contactId}, 'seen', jsonb_build_object('text', repeat('x', 60000))
      from generate_series(1, 400)`.execute(api.db);
  return { key, path: `/contacts/${contactId}/export` };
}
type Project = Awaited<ReturnType<typeof createProject>>;

/** Begins an export whose response the client does not read. */
function leaveUnread({ key, path }: Project) {
  const headers = { Authorization: `Bearer ${key}` };
  const client = get(`${api.url}${path}`, { headers, agent: false });
  client.on('error', () => {});
  atEnd(() => client.destroy());
  return once(client, 'response').then(([response]) => response as IncomingMessage);
}

const countOpen = async () => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`.execute(api.db);
  return rows[0]!.count;
};

describe('exports whose response is not read', () => {
  it('leave the connections to others, and end after five seconds', async () => {
    const projects = await Promise.all([createProject(), createProject(), createProject()]);
    const unread = projects.flatMap((project) =>
      Array.from({ length: 6 }, () => leaveUnread(project)),
    );
    await waitFor('exports', async () => (await countOpen()) === 3);
    const { secretKey: key } = await api.createProject(cookie);
    for (let time = 0; time < 5; time += 1) {
      const began = performance.now();
      const body = { email: 'bob@people.test', event: 'clicked' };
      expect((await api.request('POST', '/v1/track', { key, body })).status).toBe(200);
      expect((await api.request('GET', '/contacts', { key })).status).toBe(200);
      expect(performance.now() - began).toBeLessThan(1_500);
      expect(await countOpen()).toBeLessThanOrEqual(3);
    }
    await waitFor('the end', async () => (await countOpen()) === 0, 40_000);
    // Exports that have waited for too long were refused.
    const begun = (await Promise.all(unread)).filter(({ statusCode }) => statusCode === 200);
    expect(begun.length).toBeGreaterThanOrEqual(3);
    begun[0]!.resume();
    await expect(once(begun[0]!, 'end')).rejects.toThrow('aborted');
  }, 60_000);

  it('delay the next one of their project, which is whole', async () => {
    const project = await createProject();
    await Promise.all([leaveUnread(project), leaveUnread(project)]);
    await waitFor('exports', async () => (await countOpen()) === 2);
    const whole = await api.request('GET', project.path, { key: project.key });
    expect([whole.status, whole.body.events.length]).toEqual([200, 400]);
    await waitFor('the end', async () => (await countOpen()) === 0);
  }, 40_000);
});

it('an export that is asked for by HEAD, or left, holds nothing', async () => {
  const project = await createProject();
  const head = await api.request('HEAD', project.path, { key: project.key });
  expect(head.status).toBe(200);
  const response = await leaveUnread(project);
  response.destroy();
  await waitFor('the end', async () => (await countOpen()) === 0, 4_000);
});

it('an export without a connection within ten seconds gets an error', async () => {
  const { services } = api;
  const slots = await Promise.all(
    [1, 2, 3].map((name) => services.exports.enter(`project ${name}`, () => {})),
  );
  const project = await createProject();
  const refused = await api.request('GET', project.path, { key: project.key });
  expect(codeOf(refused)).toEqual([503, 'SERVICE_UNAVAILABLE']);
  for (const slot of slots) services.exports.leave(slot);
  expect((await api.request('GET', project.path, { key: project.key })).status).toBe(200);
}, 30_000);

it('has the whole consent log, also more lines than one page of the log', async () => {
  const { id: projectId, secretKey: key } = await api.createProject(cookie);
  const body = { email: 'ada@people.test', subscribed: true };
  const { id } = (await api.request('POST', '/contacts', { key, body })).body;
  await sql`insert into consent (contact_id, project_id, action, source, text)
    select ${id}, ${projectId}, 'granted', 'public_page', 'text ' || place
      from generate_series(1, 1200) place`.execute(api.db);
  const { consent } = (await api.request('GET', `/contacts/${id}/export`, { key })).body;
  const texts = consent.map(({ text }: { text: string | null }) => text);
  expect(texts).toEqual([null, ...Array.from({ length: 1200 }, (_, index) => `text ${index + 1}`)]);
});
