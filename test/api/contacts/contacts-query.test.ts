import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { useShop } from '../../support/projects/shop.ts';

/** Contacts that a condition selects: as a list, and as CSV. */

const shop = await useShop();

const plan = (value: string) => ({
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value }] }],
});

async function withContacts(
  contacts: readonly { email: string; subscribed?: boolean; data?: object }[],
) {
  const { cookie } = await shop.api.signUp();
  const { id, secretKey } = await shop.api.createProject(cookie);
  const call = (method: string, path: string, body?: unknown, headers = {}) =>
    shop.api.request(method, path, { key: secretKey, body, headers });
  for (const contact of contacts) {
    expect((await call('POST', '/contacts', contact)).status).toBe(201);
  }
  const query = (body: object, headers = {}) => call('POST', '/contacts/query', body, headers);
  return { id, secretKey, call, query };
}

const people = [
  { email: 'ada@a.test', data: { plan: 'pro', seats: 4 } },
  { email: 'bob@a.test', data: { plan: 'pro' }, subscribed: false },
  { email: 'cy@b.test', data: { plan: 'free' } },
  { email: 'di@b.test', data: { plan: 'pro' } },
];
const emailsOf = (body: { data: { email: string }[] }) => body.data.map(({ email }) => email);

describe('POST /contacts/query', () => {
  it('lists contacts that meet all of condition, search and subscribed, newest first', async () => {
    const { query } = await withContacts(people);
    const listed = async (body: object) => {
      const { body: answer } = await query(body);
      expect(answer.total).toBe(answer.data.length);
      return emailsOf(answer);
    };
    expect(await listed({})).toEqual(['di@b.test', 'cy@b.test', 'bob@a.test', 'ada@a.test']);
    expect(await listed({ condition: plan('pro') })).toEqual([
      'di@b.test',
      'bob@a.test',
      'ada@a.test',
    ]);
    expect(await listed({ condition: plan('pro'), search: 'A.TEST', subscribed: true })).toEqual([
      'ada@a.test',
    ]);
    const flat = [{ field: 'plan', operator: 'equals', value: 'pro' }];
    expect(await listed({ filters: { operator: 'AND', conditions: flat }, sort: 'email' })).toEqual(
      ['ada@a.test', 'bob@a.test', 'di@b.test'],
    );
    expect(await listed({ condition: null, subscribed: false })).toEqual(['bob@a.test']);
  });

  it.each(['createdAt', 'email'])('goes on from a cursor, sorted by %s', async (sort) => {
    const { query } = await withContacts(people);
    for (const dir of ['asc', 'desc']) {
      const body = { condition: plan('pro'), sort, dir };
      const { body: whole } = await query(body);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const { body: page } = await query({ ...body, limit: 1, ...(cursor && { cursor }) });
        expect(page.total).toBe(cursor ? 0 : 3);
        seen.push(...emailsOf(page));
        cursor = page.cursor;
      } while (cursor);
      expect(seen).toEqual(emailsOf(whole));
    }
  });

  it('refuses a cursor of another selection or order', async () => {
    const { query } = await withContacts(people);
    const { body } = await query({ condition: plan('pro'), limit: 1 });
    const { cursor } = body;
    for (const other of [
      { condition: plan('free') },
      { condition: plan('pro'), search: 'a' },
      { condition: plan('pro'), subscribed: true },
      { condition: plan('pro'), sort: 'email' },
      { condition: plan('pro'), dir: 'asc' },
      {},
    ]) {
      const { status, body: refused } = await query({ ...other, limit: 1, cursor });
      expect([status, refused.error.errors]).toEqual([
        422,
        [expect.objectContaining({ field: 'cursor', code: 'invalid_string' })],
      ]);
    }
    expect((await query({ condition: plan('pro'), limit: 2, cursor })).status).toBe(200);
  });

  it('refuses all that is wrong at once, and segments of others', async () => {
    const { query } = await withContacts([]);
    const { body: segment } = await shop.call('POST', '/segments', {
      name: 'Ours',
      type: 'STATIC',
    });
    const filters = [{ field: `segment.${segment.id}`, operator: 'memberOfSegment' }];
    const { status, body } = await query({
      condition: { logic: 'AND', groups: [{ filters }] },
      limit: 0,
      sort: 'name',
    });
    expect(status).toBe(422);
    const fields = body.error.errors.map((one: { field: string }) => one.field);
    expect(fields.toSorted()).toEqual(['condition.groups.0.filters.0.field', 'limit', 'sort']);
  });

  it('works in a disabled project, and ignores Idempotency-Key', async () => {
    const { id, query } = await withContacts(people.slice(0, 1));
    const headers = { 'idempotency-key': 'again' };
    expect((await query({}, headers)).body.total).toBe(1);
    const answer = await query({ search: 'nobody' }, headers);
    expect([answer.status, answer.body.total]).toEqual([200, 0]);
    await shop.api.db
      .updateTable('project')
      .set({ disabled_reason: 'MANUAL' })
      .where('id', '=', id)
      .execute();
    expect((await query({})).status).toBe(200);
  });
});

describe('POST /contacts/export', () => {
  const exported = (answer: { body: string }) => answer.body.split('\r\n');

  it('has a column for each field, and the contacts oldest first', async () => {
    const { call } = await withContacts(people);
    const answer = await call('POST', '/contacts/export', { condition: plan('pro') });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="contacts.csv"');
    const lines = exported(answer);
    expect(lines[0]).toBe('email,subscribed,data.plan,data.seats,createdAt,updatedAt');
    expect(lines.map((line) => line.split(',').slice(0, 4).join())).toEqual([
      'email,subscribed,data.plan,data.seats',
      'ada@a.test,true,pro,4',
      'bob@a.test,false,pro,',
      'di@b.test,true,pro,',
      '',
    ]);
    expect(lines[1]).toMatch(/,\d{4}-\d\d-\d\dT[\d:.]+Z,\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it('quotes cells, and makes formulas texts', async () => {
    const data = {
      a: '=1+1',
      b: '-2',
      c: -2,
      d: 'say "hi", you',
      e: 'two\nlines',
      f: ['x', 1],
      g: { k: true },
      h: '@cmd',
      i: '+49 30',
      j: '\tx',
    };
    const { call } = await withContacts([{ email: 'ada@a.test', data }]);
    const columns = Object.keys(data).map((key) => `data.${key}`);
    const answer = await call('POST', '/contacts/export', { columns });
    expect(answer.body).toBe(
      `${columns.join(',')}\r\n'=1+1,'-2,-2,"say ""hi"", you","two\nlines","[""x"",1]",` +
        `"{""k"":true}",'@cmd,'+49 30,'\tx\r\n`,
    );
  });

  it('has only the header if no contact is selected, and empty cells for unknown fields', async () => {
    const { call } = await withContacts(people.slice(0, 1));
    const none = await call('POST', '/contacts/export', { search: 'nobody', columns: ['email'] });
    expect(none.body).toBe('email\r\n');
    const unknown = await call('POST', '/contacts/export', { columns: ['email', 'data.nope'] });
    expect(unknown.body).toBe('email,data.nope\r\nada@a.test,\r\n');
  });

  it('exports more contacts than are read at once, each once', async () => {
    const { id, call } = await withContacts([]);
    const rows = Array.from({ length: 450 }, (_, index) => ({
      project_id: id,
      email: `u${index}@x.test`,
      subscribed: true,
    }));
    await shop.api.db.insertInto('contact').values(rows).execute();
    const lines = exported(await call('POST', '/contacts/export', { columns: ['email'] }));
    expect(new Set(lines.slice(1, -1)).size).toBe(450);
    expect(lines).toHaveLength(452);
  });

  it('shows one state of the data to a client that reads slowly', async () => {
    const { id, secretKey, call } = await withContacts([]);
    // More than the buffers between server and client hold, so that the last contacts are read
    // late.
    const rows = Array.from({ length: 2_000 }, (_, index) => ({
      project_id: id,
      email: `u${index}@x.test`,
      subscribed: true,
      data: JSON.stringify({ plan: 'old', note: 'x'.repeat(20_000) }),
      created_at: new Date(Date.now() - 3_600_000 + index),
    }));
    for (let at = 0; at < rows.length; at += 500) {
      await shop.api.db
        .insertInto('contact')
        .values(rows.slice(at, at + 500))
        .execute();
    }
    const answer = await fetch(`${shop.api.url}/contacts/export`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ columns: ['email', 'data.plan', 'data.note'] }),
    });
    const reader = answer.body!.getReader();
    const parts = [(await reader.read()).value!];
    const last = (await call('GET', '/contacts?search=u1999@x.test')).body.data[0];
    const gone = (await call('GET', '/contacts?search=u1998@x.test')).body.data[0];
    await call('PATCH', `/contacts/${last.id}`, { data: { plan: 'new' } });
    await call('DELETE', `/contacts/${gone.id}`);
    await call('POST', '/contacts', { email: 'late@x.test', data: { plan: 'new' } });
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
    }
    const lines = Buffer.concat(parts).toString().split('\r\n').slice(1, -1);
    const cells = lines.map((line) => line.split(',').slice(0, 2).join());
    expect(cells).toEqual(rows.map(({ email }) => `${email},old`));
    const after = await call('POST', '/contacts/export', { columns: ['email', 'data.plan'] });
    expect(exported(after).slice(-4)).toEqual([
      'u1997@x.test,old',
      'u1999@x.test,new',
      'late@x.test,new',
      '',
    ]);
  }, 60_000);

  it('is written into the security log; nothing else changes', async () => {
    const { call } = await withContacts(people.slice(0, 1));
    await call('POST', '/contacts/export', { columns: ['email'] });
    const { body } = await call('GET', '/security-events?event=contacts.exported');
    expect(body.data).toHaveLength(1);
  });

  it('refuses no columns, and too many', async () => {
    const { call } = await withContacts([]);
    for (const columns of [[], Array.from({ length: 101 }, (_, index) => `c${index}`)]) {
      const answer = await call('POST', '/contacts/export', { columns });
      expect(codeOf(answer)).toEqual([422, 'VALIDATION_ERROR']);
    }
  });
});
