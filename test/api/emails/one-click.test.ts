import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

const api = await useApi();
const { secretKey: key } = await api.createProject((await api.signUp()).cookie);

/** Posts a body to the link of a new contact. Returns the status and the recorded source. */
async function unsubscribe(type: string, body: string) {
  const email = `${randomUUID()}@x.example`;
  const made = await api.request('POST', '/contacts', { key, body: { email } });
  const contactId = made.body.id as string;
  const headers = { 'Content-Type': type };
  const { status } = await api.request('POST', `/unsubscribe/${contactId}`, { body, headers });
  const row = await api.db
    .selectFrom('event')
    .select(sql<string>`data ->> 'source'`.as('source'))
    .where('contact_id', '=', contactId)
    .executeTakeFirst();
  return [status, row?.source];
}

const urlencoded = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data; boundary=b';
const part = (disposition: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;

describe('the form of a mail program', () => {
  it.each([
    [urlencoded, 'List-Unsubscribe=One-Click'],
    [urlencoded, 'a=1&list-unsubscribe=one-click&b=2'],
    [urlencoded, 'List%2DUnsubscribe=One%2DClick\r\n'],
    ['text/plain', 'List-Unsubscribe=One-Click'],
    [multipart, `${part('name="List-Unsubscribe"', 'One-Click')}--b--\r\n`],
    [multipart, `${part('name="a"', '1')}${part('name=List-Unsubscribe', 'One-Click')}--b--`],
    ['multipart/form-data; boundary="b"', `${part('name="List-Unsubscribe"', 'One-Click')}--b--`],
  ])('is read as it is meant: %s %j', async (type, body) => {
    expect(await unsubscribe(type, body)).toEqual([200, 'one_click']);
  });

  it.each([
    [urlencoded, ''],
    [urlencoded, 'note=x "list-unsubscribe=one-click'],
    [urlencoded, 'List-Unsubscribe=One-Click-Not'],
    ['application/json', '{"list-unsubscribe=one-click":1}'],
    [multipart, `${part('name="note"', '"list-unsubscribe"\r\n\r\none-click')}--b--\r\n`],
    [multipart, `${part('name="List-Unsubscribe"; filename="a"', 'One-Click')}--b--\r\n`],
    ['multipart/form-data', 'List-Unsubscribe=One-Click'],
    [multipart, part('name="x"; filename="y"', 'breaks off')],
  ])('is none: %s %j; the contact is unsubscribed all the same', async (type, body) => {
    expect(await unsubscribe(type, body)).toEqual([200, 'public_page']);
  });
});

describe('a form that was made to be slow', () => {
  it.each([
    ['quotation marks', urlencoded, 'list-unsubscribe"'.repeat(900)],
    ['file names', multipart, part(`name="a"; ${'filename="'.repeat(1500)}`, 'x')],
    ['parts', multipart, '--b\r\n'.repeat(3000)],
    ['fields', urlencoded, 'a&'.repeat(8000)],
    ['percent signs', urlencoded, '%'.repeat(16_000)],
  ])('of %s is read at once', async (_, type, body) => {
    await unsubscribe(type, body);
    const startedAt = cpuMs();
    for (let n = 0; n < 5; n += 1) expect((await unsubscribe(type, body))[0]).toBe(200);
    // The limit is the cost of five form pages and ten requests.
    expect(cpuMs() - startedAt).toBeLessThan(2500);
  });

  it.each([
    ['quotation marks', urlencoded, 'list-unsubscribe"'.repeat(60_000)],
    ['file names', multipart, part(`name="a"; ${'filename="'.repeat(100_000)}`, 'x')],
  ])('of a megabyte of %s is not read', async (_, type, body) => {
    expect(await unsubscribe(type, body)).toEqual([413, undefined]);
  });
});

it('reads an import with a head of megabytes at once', async () => {
  const head = `name="file"; ${'filename="'.repeat(500_000)}`;
  const startedAt = cpuMs();
  const { status } = await api.request('POST', '/contacts/import', {
    key,
    headers: { 'Content-Type': multipart },
    body: `${part(head, 'email\na@x.example')}--b--\r\n`,
  });
  expect(status).toBeLessThan(500);
  expect(cpuMs() - startedAt).toBeLessThan(3000);
});
