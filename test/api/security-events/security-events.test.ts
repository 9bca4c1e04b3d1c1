import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: '' });
const { db } = api;
const ada = await api.signUp();
const newProject = () => api.createProject(ada.cookie);

interface Entry {
  id: string;
  event: string;
  at: string;
  actor: { type: string; id: string; name: string | null } | null;
  target: { type: string; id: string } | null;
  changes: { field: string; before: unknown; after: unknown }[] | null;
  details: Record<string, unknown>;
  count: number;
}
type Project = Awaited<ReturnType<typeof newProject>>;

const ask = (method: string, path: string, { secretKey: key }: Project, body?: unknown) =>
  api.request(method, path, { key, body });
const listed = async (of: Project, query = '') =>
  (await ask('GET', `/security-events?${query}`, of)).body.data as Entry[];
const names = async (of: Project, query = '') =>
  (await listed(of, query)).map(({ event }) => event);
const exported = async (of: Project, query = '') => {
  const { body } = await ask('GET', `/security-events/export?${query}`, of);
  return (body as string)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
};
const setSecret = (of: Project, name: string) =>
  ask('PUT', `/secrets/${name}`, of, { value: randomUUID() });

describe('the security events of a project', () => {
  it('show who changed which fields, without the values of headers', async () => {
    const project = await newProject();
    const path = '/event-subscriptions';
    const first = { url: 'https://old.example/in', events: ['a'], headers: { 'X-Key': 'one' } };
    const { body: made } = await ask('POST', path, project, first);
    const changed = { url: 'https://new.example/in', headers: { 'X-Key': 'two' }, events: ['a'] };
    await ask('PATCH', `${path}/${made.id}`, project, changed);
    const [entry] = await listed(project);
    expect(entry).toMatchObject({
      event: 'event_subscription.changed',
      actor: { type: 'key', id: 'secret', name: 'Secret key' },
      ip: '127.0.0.1',
      target: { type: 'event_subscription', id: made.id },
      changes: [
        { field: 'url', before: first.url, after: changed.url },
        { field: 'headers', before: '•••', after: '•••' },
      ],
      count: 1,
    });
  });

  it('are found by name, prefix, actor, target and time', async () => {
    const project = await newProject();
    await setSecret(project, 'A');
    await ask('PUT', '/send-policy', project, { timeZone: 'Europe/Berlin' });
    await ask('DELETE', '/secrets/A', project);
    expect(await names(project, 'event=secret.*')).toEqual(['secret.deleted', 'secret.set']);
    expect(await names(project, 'event=secret.set,project.*')).toEqual([
      'secret.set',
      'project.created',
    ]);
    expect(await names(project, 'event=secret')).toEqual([]);
    expect(await names(project, `actorId=${ada.userId}`)).toEqual(['project.created']);
    expect(await names(project, 'actorId=secret&event=send_policy.*')).toHaveLength(1);
    expect(await names(project, 'targetId=A')).toEqual(['secret.deleted', 'secret.set']);
    const [newest] = await listed(project);
    expect(await names(project, `from=${newest!.at}&event=secret.*`)).toEqual(['secret.deleted']);
    expect(await names(project, `to=${newest!.at}&event=secret.*`)).toEqual(['secret.set']);
    const refused = await ask('GET', '/security-events?event=A;B&actorId=x', project);
    expect(refused.body.error.errors.map(({ field }: { field: string }) => field)).toEqual([
      'event',
      'actorId',
    ]);
  });

  it('are exported oldest first, with the ids of the list', async () => {
    const project = await newProject();
    await sql`insert into security_event (event, project_id, created_at)
      select 'secret.set', ${project.id}::uuid, now() - n * interval '1 s'
        from generate_series(1, 1100) n`.execute(db);
    const all = await exported(project);
    expect(all).toHaveLength(1101);
    const pages: Entry[] = [];
    for (let cursor = ''; ;) {
      const { body } = await ask('GET', `/security-events?limit=100${cursor}`, project);
      pages.push(...body.data);
      if (!body.hasMore) break;
      cursor = `&cursor=${body.cursor}`;
    }
    expect(all.map(({ id }) => id)).toEqual(pages.map(({ id }) => id).toReversed());
    expect(await exported(project, 'event=project.created')).toHaveLength(1);
  });

  it('keep the first member although 10,500 secrets were set later', async () => {
    const project = await newProject();
    const { email, userId } = await api.signUp();
    await ask('POST', `/projects/${project.id}/members`, project, { email });
    await sql`insert into security_event (event, project_id)
      select 'secret.set', ${project.id}::uuid from generate_series(1, 10500)`.execute(db);
    expect(await listed(project, 'event=member.added')).toMatchObject([
      { target: { type: 'user', id: userId } },
    ]);
    const { body } = await ask('GET', '/security-events', project);
    expect(body.total).toBe(10_000);
  });

  it('count equal events within a minute in one entry, and keep others apart', async () => {
    const project = await newProject();
    for (const name of ['A', 'A', 'B', 'A']) await setSecret(project, name);
    const entries = await listed(project, 'event=secret.set');
    expect(entries.map(({ target, count }) => [target!.id, count])).toEqual([
      ['B', 1],
      ['A', 3],
    ]);
    await sql`update security_event set created_at = created_at - interval '1 minute'
      where project_id = ${project.id}`.execute(db);
    await setSecret(project, 'A');
    expect(await listed(project, 'targetId=A')).toHaveLength(2);
  });

  it('has no entry of a refused change', async () => {
    const project = await newProject();
    await ask('PUT', '/secrets/A', project, {});
    await ask('DELETE', '/secrets/A', project);
    await ask('PUT', '/send-policy', project, { timeZone: 'Nowhere' });
    expect(await names(project)).toEqual(['project.created']);
  });

  it('are shown to administrators and keys with audit:read only, and to no other project', async () => {
    const [project, other] = [await newProject(), await newProject()];
    const member = await api.signUp();
    await ask('POST', `/projects/${project.id}/members`, project, { email: member.email });
    const headers = { 'X-Project-Id': project.id };
    const asMember = { cookie: member.cookie, headers };
    for (const path of ['/security-events', '/security-events/export']) {
      const refused = await api.request('GET', path, asMember);
      expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_ROLE']);
      const audit = await insertNamedKey(db, project.id, { name: 'Audit', scopes: ['audit:read'] });
      expect((await api.request('GET', path, { key: audit.key })).status).toBe(200);
      const plain = await insertNamedKey(db, project.id, { name: 'Plain', scopes: ['keys:read'] });
      const lacking = await api.request('GET', path, { key: plain.key });
      expect(lacking.body.error).toMatchObject({
        code: 'INSUFFICIENT_SCOPE',
        details: { needed: 'audit:read' },
      });
    }
    expect(await names(other)).toEqual(['project.created']);
    const { body } = await ask('GET', '/security-events?limit=1', project);
    const cursor = encodeURIComponent(body.cursor);
    expect(await names(other, `cursor=${cursor}`)).not.toContain('member.added');
  });
});
