import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { encodeCursor } from '../../../domain/cursor.ts';
import { refusal, useShop } from '../../support/projects/shop.ts';
import { dropContacts } from '../../support/mail-tables.ts';

const shop = await useShop();

type Item = { id: string; email: string; createdAt: string };

const at = (key: string) => async (query: string) =>
  shop.api.request('GET', `/contacts${query}`, { key });

/** Creates a project with contacts in order of creation; some have the same time. */
async function withContacts(emails: readonly string[], perMoment = 3) {
  const { cookie } = await shop.api.signUp();
  const { id, secretKey } = await shop.api.createProject(cookie);
  const rows = emails.map((email, index) => ({
    project_id: id,
    email,
    subscribed: index % 2 === 0,
    created_at: new Date(Date.UTC(2026, 0, 1) + Math.floor(index / perMoment) * 1000),
  }));
  await shop.api.db.insertInto('contact').values(rows).execute();
  return { id, list: at(secretKey) };
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `u${index}@x.test`);

/** Reads all pages of a list. `between` may run between two of them. */
async function pagesOf(
  list: (query: string) => Promise<{ body: { data: Item[]; cursor?: string; hasMore: boolean } }>,
  query: string,
  between: () => Promise<unknown> = async () => {},
) {
  const pages = [];
  for (let cursor = ''; ;) {
    const { body } = await list(`?${query}${cursor}`);
    pages.push(body);
    expect(body.hasMore).toBe(body.cursor !== undefined);
    if (body.cursor === undefined) return pages;
    cursor = `&cursor=${body.cursor}`;
    await between();
  }
}

describe('GET /contacts', () => {
  it('is empty without contacts', async () => {
    const { list } = await withContacts(['a@x.test']);
    const { status, body } = await list('?search=nobody');
    expect([status, body]).toEqual([200, { data: [], hasMore: false, total: 0 }]);
  });

  it('shows every contact once, newest first, while others are made', async () => {
    const { id, list } = await withContacts(numbered(45));
    const pages = await pagesOf(list, 'limit=20', () =>
      shop.api.db
        .insertInto('contact')
        .values({ project_id: id, email: `${randomUUID()}@new.test`, subscribed: true })
        .execute(),
    );
    expect(pages.map(({ data }) => data.length)).toEqual([20, 20, 5]);
    expect(pages.map((page) => (page as { total?: number }).total)).toEqual([45, 0, 0]);
    expect(pages[2]).not.toHaveProperty('cursor');
    const shown = pages.flatMap(({ data }) => data);
    expect(new Set(shown.map((item) => item.id)).size).toBe(45);
    const sorted = shown.toSorted((a, b) =>
      a.createdAt === b.createdAt ? (a.id < b.id ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1,
    );
    expect(shown).toEqual(sorted);
  });

  it('goes both ways by creation and by address', async () => {
    const { list } = await withContacts(numbered(25));
    const emails = async (query: string) =>
      (await pagesOf(list, `limit=7&${query}`)).flatMap(({ data }) => data.map((c) => c.email));
    const newest = await emails('');
    expect(await emails('dir=asc')).toEqual(newest.toReversed());
    const byAddress = numbered(25).toSorted();
    expect(await emails('sort=email')).toEqual(byAddress);
    expect(await emails('sort=email&dir=desc')).toEqual(byAddress.toReversed());
    expect(await emails('sort=createdAt&dir=desc')).toEqual(newest);
  });

  it('goes on after a contact that was deleted meanwhile, and after any contact’s id', async () => {
    const { id, list } = await withContacts(numbered(9));
    for (const query of ['?limit=4', '?limit=4&sort=email']) {
      const { body: first } = await list(query);
      const { body: second } = await list(`${query}&cursor=${first.cursor}`);
      const last = first.data.at(-1) as Item;
      const byId = await list(`${query}&cursor=${last.id.toUpperCase()}`);
      expect(byId.body).toEqual(second);
      await dropContacts(shop.api.db, sql<boolean>`contact.id = ${last.id}`);
      expect((await list(`${query}&cursor=${first.cursor}`)).body).toEqual(second);
      expect(refusal(await list(`${query}&cursor=${last.id}`))).toEqual(noCursor);
    }
    expect(id).toBeTypeOf('string');
  });

  it('finds a part of the address in any case; % and _ and \\ are plain characters', async () => {
    const { list } = await withContacts(['ada@x.test', 'a%da@x.test', 'a_b@x.test', 'bo@y.test']);
    const found = async (search: string) => {
      const { body } = await list(`?sort=email&search=${encodeURIComponent(search)}`);
      expect(body.total).toBe(body.data.length);
      return body.data.map(({ email }: Item) => email);
    };
    expect(await found('ADA')).toEqual(['ada@x.test']);
    expect(await found('%')).toEqual(['a%da@x.test']);
    expect(await found('_')).toEqual(['a_b@x.test']);
    expect(await found('\\')).toEqual([]);
    expect(await found('@Y.')).toEqual(['bo@y.test']);
    expect(await found('')).toHaveLength(4);
    expect(await found("'; drop table contact; --")).toEqual([]);
  });

  it('finds a whole address in any case, with spaces around it', async () => {
    const { list } = await withContacts(['ada@x.test', 'bada@x.test', 'ada@x.tests']);
    const { body } = await list(`?email=${encodeURIComponent(' ADA@x.test ')}`);
    expect(body.data.map(({ email }: Item) => email)).toEqual(['ada@x.test']);
    expect([body.total, body.hasMore]).toEqual([1, false]);
    const excluded = await list('?email=ada@x.test&subscribed=false');
    expect(excluded.body.data).toEqual([]);
    expect(refusal(await list('?email=ada'))).toEqual([
      422,
      'VALIDATION_ERROR',
      'email invalid_string',
    ]);
  });

  it('shows only those who are, or are not, subscribed; with a search, too', async () => {
    const { list } = await withContacts(numbered(21));
    const of = async (query: string) => {
      const pages = await pagesOf(list, `limit=4&${query}`);
      const [first] = pages as unknown as { total: number }[];
      const shown = pages.flatMap(({ data }) => data) as unknown as { subscribed: boolean }[];
      expect(first!.total).toBe(shown.length);
      return [shown.length, new Set(shown.map(({ subscribed }) => subscribed))];
    };
    expect(await of('subscribed=true')).toEqual([11, new Set([true])]);
    expect(await of('subscribed=false')).toEqual([10, new Set([false])]);
    expect(await of('subscribed=false&search=u1')).toEqual([6, new Set([false])]);
  });

  it.each([
    ['limit=0', 'limit too_small'],
    ['limit=101', 'limit too_big'],
    ['limit=x', 'limit invalid_type'],
    ['subscribed=yes', 'subscribed invalid_enum_value'],
    ['sort=name', 'sort invalid_enum_value'],
    ['dir=up', 'dir invalid_enum_value'],
    [`search=${'x'.repeat(256)}`, 'search too_big'],
    ['search=%00', 'search invalid_string'],
    ['cursor=zz', 'cursor invalid_string'],
    ['cursor=', 'cursor invalid_string'],
    [`cursor=${randomUUID()}`, 'cursor invalid_string'],
  ])('refuses %s', async (query, fault) => {
    const { list } = await withContacts(['a@x.test']);
    expect(refusal(await list(`?${query}`))).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('refuses a cursor of the other order, and one of another list', async () => {
    const { list } = await withContacts(numbered(5));
    const { body } = await list('?limit=2&sort=email');
    expect(refusal(await list(`?cursor=${body.cursor}`))).toEqual(noCursor);
    const other = encodeCursor({ order: 'emails.createdAt', value: 'time' }, someWhere);
    expect(refusal(await list(`?cursor=${other}`))).toEqual(noCursor);
  });

  it('never shows another project’s contacts, whatever cursor it is given', async () => {
    const mine = await withContacts(numbered(5));
    const theirs = await withContacts(numbered(5).map((email) => `their-${email}`));
    const { body } = await theirs.list('?limit=2');
    const answer = await mine.list(`?cursor=${body.cursor}`);
    expect(answer.status).toBe(200);
    for (const item of answer.body.data) expect(item).toMatchObject({ projectId: mine.id });
    const [item] = body.data as Item[];
    expect(refusal(await mine.list(`?cursor=${item!.id}`))).toEqual(noCursor);
  });

  it('accepts made-up cursors', async () => {
    const { list } = await withContacts(numbered(3));
    for (const [order, value] of [
      ['contacts.email', "'; drop table contact; --"],
      ['contacts.email', 'é\u{1f600}'],
      ['contacts.email', ''],
      ['contacts.createdAt', '9999-12-31T23:59:59.999Z'],
      ['contacts.createdAt', '1000-01-01T00:00:00.000Z'],
    ] as const) {
      const cursor = encodeCursor({ order, value: 'text' }, { ...someWhere, value });
      const { status } = await list(`?sort=${order.slice(9)}&cursor=${cursor}`);
      expect([value, status]).toEqual([value, 200]);
    }
    const { rows } = await sql`select 1 from contact limit 1`.execute(shop.api.db);
    expect(rows).toHaveLength(1);
  });
});

const noCursor = [422, 'VALIDATION_ERROR', 'cursor invalid_string'];
const someWhere = { value: '2026-01-01T00:00:00.000Z', id: randomUUID() };
