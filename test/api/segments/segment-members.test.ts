import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  filterTable,
  nameOf,
  now,
  plainContact,
  segmentIds,
  type TableContact,
} from '../../domain/filter/filter-table.ts';
import { useApi, type TestAnswer } from '../../support/api.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';

let project: { id: string; secretKey: string };
const api = await useApi();
const { cookie } = await api.signUp();
beforeEach(async () => {
  project = await api.createProject(cookie);
});

const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, body });

const contact = async (email: string, data: object = {}) =>
  (await call('POST', '/contacts', { email, data })).body.id as string;

const isPro = { field: 'data.plan', operator: 'equals', value: 'pro' };
const all = (...conditions: object[]) => ({ operator: 'AND', conditions });

async function createSegment(body: object): Promise<string> {
  const made = await call('POST', '/segments', { name: 'VIP Customers!', ...body });
  expect(made.status).toBe(201);
  return made.body.id;
}

const emailsOf = ({ body }: TestAnswer) => body.data.map(({ email }: { email: string }) => email);

const memberCountOf = async (id: string) => (await call('GET', `/segments/${id}`)).body.memberCount;

async function segmentEvents(): Promise<[name: string, email: string | undefined][]> {
  const { body } = await call('GET', '/events?limit=1000');
  return body.events
    .filter(({ name }: { name: string }) => name.startsWith('segment.'))
    .map((event: { name: string; contact: { email: string } }) => [event.name, event.contact.email])
    .toSorted();
}

describe('the contacts of a segment', () => {
  it('are those that meet its condition now, the newest first', async () => {
    const id = await createSegment({ filters: all(isPro) });
    for (const name of ['b', 'a', 'c']) await contact(`${name}@x.example`, { plan: 'pro' });
    await contact('d@x.example');
    const path = `/segments/${id}/contacts`;
    const { status, body } = await call('GET', path);
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: 3, page: 1, pageSize: 20, totalPages: 1 });
    expect(body.data[0]).toEqual({
      id: expect.any(String),
      email: 'c@x.example',
      subscribed: true,
      data: { plan: 'pro' },
      projectId: project.id,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const sorted = async (query: string) =>
      emailsOf(await call('GET', `${path}?${query}`)).join('');
    const inOrder = (letters: string) => Array.from(letters, (l) => `${l}@x.example`).join('');
    expect(await sorted('')).toBe(inOrder('cab'));
    expect(await sorted('dir=asc')).toBe(inOrder('bac'));
    expect(await sorted('sort=createdAt&dir=asc')).toBe(inOrder('bac'));
    expect(await sorted('sort=email')).toBe(inOrder('abc'));
    expect(await sorted('sort=email&dir=desc')).toBe(inOrder('cba'));
    expect(await sorted('pageSize=2&page=2')).toBe(inOrder('b'));
    expect(await sorted('pageSize=2&page=3')).toBe('');
    for (const [field, value] of Object.entries({
      pageSize: 101,
      sort: 'name',
      page: 0,
      dir: 'up',
    })) {
      const refused = await call('GET', `${path}?${field}=${value}`);
      expect([refused.status, refused.body.error.errors[0].field]).toEqual([422, field]);
    }
  });

  it('picked by hand are listed the newest member first', async () => {
    const id = await createSegment({ type: 'STATIC' });
    for (const name of ['a', 'b', 'c']) await contact(`${name}@x.example`);
    for (const name of ['c', 'a', 'b']) {
      await call('POST', `/segments/${id}/members`, { emails: [`${name}@x.example`] });
    }
    const sorted = async (query = '') =>
      emailsOf(await call('GET', `/segments/${id}/contacts${query}`)).map(
        (email: string) => email[0],
      );
    expect(await sorted()).toEqual(['b', 'a', 'c']);
    expect(await sorted('?dir=asc')).toEqual(['c', 'a', 'b']);
    expect(await sorted('?sort=createdAt')).toEqual(['c', 'b', 'a']);
    expect(await sorted('?sort=email')).toEqual(['a', 'b', 'c']);
  });

  it('leave it when they are deleted', async () => {
    const id = await createSegment({ type: 'STATIC' });
    const emails = ['a@x.example', 'b@x.example'];
    const body = { emails, createMissing: true };
    await call('POST', `/segments/${id}/members`, body);
    await dropContacts(api.db, sql<boolean>`email = ${'a@x.example'}`);
    expect(emailsOf(await call('GET', `/segments/${id}/contacts`))).toEqual(['b@x.example']);
    expect((await call('POST', `/segments/${id}/refresh`)).body).toEqual({ memberCount: 1 });
  });
});

describe('members picked by hand', () => {
  it('are added by address, and those unknown come back as they were written', async () => {
    await contact('a@x.example');
    const id = await createSegment({ type: 'STATIC', trackMembership: true });
    const add = (body: object) => call('POST', `/segments/${id}/members`, body);
    const emails = [' A@X.example', 'No@x.example', 'a@x.example', 'nonsense'];
    const notFound = ['No@x.example', 'nonsense'];
    expect((await add({ emails })).body).toEqual({ added: 1, created: 0, notFound });
    expect((await add({ emails })).body).toEqual({ added: 1, created: 0, notFound });
    expect(await memberCountOf(id)).toBe(1);
    const { body } = await add({ emails, createMissing: true });
    expect(body).toEqual({ added: 2, created: 1, notFound: ['nonsense'] });
    expect(await memberCountOf(id)).toBe(2);
    const made = (await call('GET', `/segments/${id}/contacts`)).body.data[0];
    expect(made).toMatchObject({ email: 'no@x.example', subscribed: true, data: null });
    expect(await segmentEvents()).toEqual([]);
  });

  it('are made with the given subscription; those that exist keep theirs', async () => {
    await contact('a@x.example');
    const id = await createSegment({ type: 'STATIC' });
    const body = { emails: ['a@x.example', 'b@x.example'], createMissing: true, subscribed: false };
    expect((await call('POST', `/segments/${id}/members`, body)).body.created).toBe(1);
    const { data } = (await call('GET', `/segments/${id}/contacts?sort=email`)).body;
    expect(data.map(({ subscribed }: { subscribed: boolean }) => subscribed)).toEqual([
      true,
      false,
    ]);
    expect((await call('GET', '/events')).body.events).toEqual([]);
  });

  it('are taken out by address', async () => {
    const id = await createSegment({ type: 'STATIC' });
    await contact('other@x.example');
    const emails = ['a@x.example', 'b@x.example'];
    await call('POST', `/segments/${id}/members`, { emails, createMissing: true });
    const remove = (...given: string[]) =>
      call('DELETE', `/segments/${id}/members`, { emails: given });
    const { status, body } = await remove('A@x.example', 'other@x.example', 'no@x.example', '?');
    expect([status, body]).toEqual([200, { removed: 2 }]);
    expect(await memberCountOf(id)).toBe(1);
    expect(emailsOf(await call('GET', `/segments/${id}/contacts`))).toEqual(['b@x.example']);
    expect(await segmentEvents()).toEqual([]);
  });

  it('are one each when many requests add and make them at once', async () => {
    const id = await createSegment({ type: 'STATIC' });
    const emails = Array.from({ length: 50 }, (_, index) => `c${index}@x.example`);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        call('POST', `/segments/${id}/members`, {
          emails: index % 2 ? emails : emails.toReversed(),
          createMissing: true,
        }),
      ),
    );
    expect(answers.map(({ status, body }) => [status, body.added])).toEqual(
      answers.map(() => [200, 50]),
    );
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(50);
    expect(await memberCountOf(id)).toBe(50);
  });

  it('are no business of a dynamic segment, and 500 at most', async () => {
    const dynamic = await createSegment({ filters: all(isPro) });
    for (const method of ['POST', 'DELETE']) {
      const refused = await call(method, `/segments/${dynamic}/members`, {
        emails: ['a@x.example'],
      });
      expect([refused.status, refused.body.error.code]).toEqual([400, 'SEGMENT_NOT_STATIC']);
      for (const count of [0, 501]) {
        const emails = Array.from({ length: count }, () => 'a@x.example');
        const many = await call(method, `/segments/${dynamic}/members`, { emails });
        expect([many.status, many.body.error.errors[0].field]).toEqual([422, 'emails']);
      }
    }
  });
});

describe('a computation', () => {
  const tracked = () => createSegment({ filters: all(isPro), trackMembership: true });
  const compute = (id: string) => call('POST', `/segments/${id}/compute`);

  it('adds all members first, with an entry event for each', async () => {
    const id = await tracked();
    for (const name of ['a', 'b', 'c']) await contact(`${name}@x.example`, { plan: 'pro' });
    await contact('d@x.example');
    const { status, body } = await compute(id);
    expect([status, body]).toEqual([200, { added: 3, removed: 0, total: 3 }]);
    const entry = 'segment.vip-customers.entry';
    expect(await segmentEvents()).toEqual(
      ['a', 'b', 'c'].map((name) => [entry, `${name}@x.example`]),
    );
    const { events } = (await call('GET', `/events?eventName=${entry}`)).body;
    expect(events[0].data).toEqual({ segmentId: id, segmentName: 'VIP Customers!' });
    expect(await memberCountOf(id)).toBe(3);
  });

  it('records who came and who went, once', async () => {
    const id = await tracked();
    for (const name of ['a', 'b', 'c']) await contact(`${name}@x.example`, { plan: 'pro' });
    await compute(id);
    await contact('a@x.example', { plan: 'free' });
    await contact('d@x.example', { plan: 'pro' });
    await call('PATCH', `/segments/${id}`, { name: 'Big Spenders' });
    expect((await compute(id)).body).toEqual({ added: 1, removed: 1, total: 3 });
    expect((await segmentEvents()).slice(0, 2)).toEqual([
      ['segment.big-spenders.entry', 'd@x.example'],
      ['segment.big-spenders.exit', 'a@x.example'],
    ]);
    expect((await compute(id)).body).toEqual({ added: 0, removed: 0, total: 3 });
    expect(await segmentEvents()).toHaveLength(5);
  });

  it('follows a new condition', async () => {
    const id = await tracked();
    await contact('a@x.example', { plan: 'pro' });
    await contact('b@x.example', { plan: 'team' });
    await compute(id);
    await call('PATCH', `/segments/${id}`, { filters: all({ ...isPro, value: 'team' }) });
    expect(await segmentEvents()).toHaveLength(1);
    expect((await compute(id)).body).toEqual({ added: 1, removed: 1, total: 1 });
  });

  it('fires each event once when ten run at once', async () => {
    const id = await tracked();
    for (let index = 0; index < 8; index++) await contact(`c${index}@x.example`, { plan: 'pro' });
    const answers = await Promise.all(Array.from({ length: 10 }, () => compute(id)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers.reduce((sum, { body }) => sum + body.added, 0)).toBe(8);
    expect(await segmentEvents()).toHaveLength(8);
  });

  it('is not what a refresh does: that only counts', async () => {
    const id = await tracked();
    await contact('a@x.example', { plan: 'pro' });
    expect((await call('POST', `/segments/${id}/refresh`)).body).toEqual({ memberCount: 1 });
    expect(await memberCountOf(id)).toBe(1);
    expect(await segmentEvents()).toEqual([]);
    expect((await compute(id)).body.added).toBe(1);
  });

  it('is for tracked segments, and nothing to do for members picked by hand', async () => {
    const untracked = await createSegment({ filters: all(isPro) });
    const refused = await compute(untracked);
    expect([refused.status, refused.body.error.code]).toEqual([400, 'SEGMENT_NOT_TRACKED']);
    const picked = await createSegment({ type: 'STATIC' });
    await call('POST', `/segments/${picked}/members`, {
      emails: ['a@x.example'],
      createMissing: true,
    });
    expect((await compute(picked)).body).toEqual({ added: 0, removed: 0, total: 1 });
  });

  it('starts from nothing after tracking was switched off, which says nothing', async () => {
    const id = await tracked();
    const contactId = await contact('a@x.example', { plan: 'pro' });
    await contact('b@x.example', { plan: 'pro' });
    await compute(id);
    await call('PATCH', `/segments/${id}`, { trackMembership: false });
    expect(await memberCountOf(id)).toBe(2);
    expect(await segmentEvents()).toHaveLength(2);
    await call('PATCH', `/segments/${id}`, { trackMembership: true });
    expect((await compute(id)).body).toEqual({ added: 2, removed: 0, total: 2 });
    await dropContacts(api.db, sql<boolean>`contact.id = ${contactId}`);
    expect((await compute(id)).body).toEqual({ added: 0, removed: 0, total: 1 });
    expect((await segmentEvents()).filter(([name]) => name.endsWith('exit'))).toEqual([]);
  });

  it('keeps members picked by hand when their segment is no longer tracked', async () => {
    const id = await createSegment({ type: 'STATIC', trackMembership: true });
    await call('POST', `/segments/${id}/members`, { emails: ['a@x.example'], createMissing: true });
    await call('PATCH', `/segments/${id}`, { trackMembership: false });
    expect((await compute(id)).body.total).toBe(1);
  });

  it('hands the executions it starts to the dispatcher', async () => {
    const id = await tracked();
    const made = await call('POST', '/workflows', {
      name: 'W',
      eventName: 'segment.vip-customers.entry',
    });
    const path = `/workflows/${made.body.id}`;
    await call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
    expect((await call('PATCH', path, { enabled: true })).status).toBe(200);
    await contact('a@x.example', { plan: 'pro' });
    api.dispatched.length = 0;
    await compute(id);
    const executions = await api.db
      .selectFrom('execution')
      .select(['id', 'context'])
      .where('workflow_id', '=', made.body.id)
      .execute();
    expect(executions).toMatchObject([{ context: { segmentId: id } }]);
    expect(api.dispatched).toEqual([`execution-${executions[0]?.id}`]);
  });
});

describe('a segment of one filter', () => {
  const storeContact = async (given: TableContact) => {
    const { email, subscribed, createdAt, updatedAt, data, events, activities, segments } = {
      ...plainContact,
      ...given,
    };
    const id = randomUUID();
    await api.db
      .insertInto('contact')
      .values({
        id,
        project_id: project.id,
        email,
        subscribed,
        created_at: createdAt,
        updated_at: updatedAt,
        data: data && Object.keys(data).length > 0 ? JSON.stringify(data) : null,
      })
      .execute();
    for (const [name, at] of events) {
      await sql`insert into event (project_id, contact_id, name, created_at)
        values (${project.id}, ${id}, ${name}, ${at})`.execute(api.db);
    }
    for (const [activity, at] of activities) {
      await writeMail(api.db, (tx) =>
        sql`insert into email (project_id, contact_id, to_email, subject, from_email,
          message_class, source_type, ${sql.ref(`${activity}_at`)})
        values (${project.id}, ${id}, ${email}, 's', 'b@x.example', 'MARKETING', 'CAMPAIGN',
          ${at})`.execute(tx),
      );
    }
    if (segments.length > 0) {
      await call('POST', `/segments/${segmentIds.vip}/members`, { emails: [email] });
    }
    return id;
  };

  it('holds the contact of each row of the truth table, or does not', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now });
    try {
      const segment = { project_id: project.id, name: 'S' };
      const isPlanPro = JSON.stringify({ logic: 'AND', groups: [{ filters: [isPro] }] });
      await api.db
        .insertInto('segment')
        .values([
          { ...segment, id: segmentIds.vip, type: 'STATIC' },
          { ...segment, id: segmentIds.pro, type: 'DYNAMIC', condition: isPlanPro },
        ])
        .execute();
      const wrong: string[] = [];
      // A new condition cannot name a deleted segment.
      const rows = filterTable.filter(({ filter }) => !filter.field.endsWith(segmentIds.deleted));
      for (const row of rows) {
        const id = await storeContact(row.contact);
        const made = await call('POST', '/segments', { name: 'S', filters: all(row.filter) });
        const listed = emailsOf(await call('GET', `/segments/${made.body.id}/contacts`)).length;
        const answers = [made.body.memberCount, listed];
        if (answers.some((answer) => answer !== Number(row.matches))) wrong.push(nameOf(row));
        await dropContacts(api.db, sql<boolean>`contact.id = ${id}`);
      }
      expect(wrong).toEqual([]);
      expect(rows.length).toBeGreaterThan(200);
    } finally {
      vi.useRealTimers();
    }
  }, 60_000);
});

describe('GET /contacts/{id}/segments', () => {
  it('lists the segments that the contact is in now, by name', async () => {
    const id = await contact('ada@x.example', { plan: 'pro' });
    const other = await contact('bob@x.example');
    const pro = await createSegment({ name: 'Pro', filters: all(isPro) });
    const chosen = await createSegment({ name: 'Chosen', type: 'STATIC' });
    await createSegment({ name: 'Nobody', type: 'STATIC' });
    const inside = { field: `segment.${pro}`, operator: 'memberOfSegment' };
    const nested = await createSegment({ name: 'Also', filters: all(inside) });
    await call('POST', `/segments/${chosen}/members`, { emails: ['ada@x.example'] });
    const { status, body } = await call('GET', `/contacts/${id}/segments`);
    expect([status, body]).toEqual([
      200,
      [
        { id: nested, name: 'Also', type: 'DYNAMIC' },
        { id: chosen, name: 'Chosen', type: 'STATIC' },
        { id: pro, name: 'Pro', type: 'DYNAMIC' },
      ],
    ]);
    expect((await call('GET', `/contacts/${other}/segments`)).body).toEqual([]);
    await call('PATCH', `/contacts/${id}`, { data: { plan: 'free' } });
    const { body: left } = await call('GET', `/contacts/${id}/segments`);
    expect(left.map(({ name }: { name: string }) => name)).toEqual(['Chosen']);
  });

  it('evaluates many segments, also those with a condition on mail and events', async () => {
    const id = await contact('ada@x.example', { n: 60 });
    for (let n = 0; n < 60; n++) {
      const filters = all({ field: 'data.n', operator: 'greaterThan', value: n + 29 });
      await createSegment({ name: `s${String(n).padStart(2, '0')}`, filters });
    }
    const never = { field: 'event.bought', operator: 'notTriggered' };
    await createSegment({ name: 'never', filters: all(never) });
    const { body } = await call('GET', `/contacts/${id}/segments`);
    expect(body.map(({ name }: { name: string }) => name)).toEqual([
      'never',
      ...Array.from({ length: 31 }, (_, n) => `s${String(n).padStart(2, '0')}`),
    ]);
  });

  it('knows no contact of another project', async () => {
    const id = await contact('ada@x.example');
    const foreign = await api.createProject(cookie);
    const answer = await api.request('GET', `/contacts/${id}/segments`, { key: foreign.secretKey });
    expect([answer.status, answer.body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND']);
  });
});
