import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { sessionSince } from '../../support/sessions.ts';
import { newVisitor, type ShownPage, type Visitor } from '../../support/visitor.ts';

/** The console's pages of named keys. */

const api = await useApi();
const ada = await api.signUp();
const project = await api.createProject(ada.cookie);
const at = `/console/${project.id}/keys`;
const bob = await api.signUp();
await api.db
  .insertInto('membership')
  .values({ project_id: project.id, user_id: bob.userId, role: 'MEMBER' })
  .execute();

const isValid = async (key: string) =>
  (await api.request('GET', '/api-keys/@me', { key })).status === 200;
const recordOf = async (id: string) =>
  (await api.request('GET', `/api-keys/${id}`, { key: project.secretKey })).body;

/** Returns the whole value of a key that a page shows, and the id of the key. */
function shownKey({ html }: ShownPage): { value: string; id: string } {
  const value = /[sp]k_[0-9a-f]{64}/.exec(html)?.[0] ?? '';
  const id = /\/keys\/([\w-]{36})\/change/.exec(html)?.[1] ?? '';
  return { value, id };
}

async function makeKey(visitor: Visitor, fields: Record<string, string> = {}) {
  await visitor.open(`${at}/new`);
  const given = { kind: 'secret', name: 'Shop', scopes: 'contacts:read', ...fields };
  return shownKey(await visitor.submit(`${at}/new`, given));
}

/** Returns what the rotation form of the page contains. */
async function rotationOf(visitor: Visitor, id: string) {
  const { html } = await visitor.open(`${at}/${id}/rotate`);
  return { updatedAt: /name="updatedAt" value="([^"]+)"/.exec(html)?.[1] ?? '' };
}

it('makes a key with what the form says, and shows its value once', async () => {
  const visitor = newVisitor(api, ada.cookie);
  const form = await visitor.open(`${at}/new`);
  expect(form.html).toContain('value="contacts:read" aria-label="contacts:read"');
  const { value, id } = await makeKey(visitor, {
    name: 'Shop backend',
    domains: 'shop.example\r\n news.example ',
    cidrs: '127.0.0.0/8\n',
    expiresAt: '2030-01-31T09:00',
  });
  expect(await isValid(value)).toBe(true);
  expect(await recordOf(id)).toMatchObject({
    name: 'Shop backend',
    kind: 'secret',
    scopes: ['contacts:read'],
    domains: ['shop.example', 'news.example'],
    cidrs: ['127.0.0.0/8'],
    expiresAt: '2030-01-31T09:00:00.000Z',
    createdBy: { type: 'user', name: ada.email },
  });
  for (const path of ['', `/${id}`]) {
    const { html } = await visitor.open(`${at}${path}`);
    expect(html).toContain(`sk_…${value.slice(-4)}`);
    expect(html).toContain('Shop backend');
    expect(html).not.toContain(value);
  }
});

it('makes a public key with its events', async () => {
  const visitor = newVisitor(api, ada.cookie);
  expect((await visitor.open(`${at}/new?kind=public`)).html).not.toContain('name="scopes"');
  const { value, id } = await makeKey(visitor, {
    kind: 'public',
    name: 'App',
    events: 'app.*\nsigned up',
  });
  expect(value).toMatch(/^pk_/);
  expect((await recordOf(id)).events).toEqual(['app.*', 'signed up']);
});

it('says which fields were wrong, and makes no key', async () => {
  const visitor = newVisitor(api, ada.cookie);
  await visitor.open(`${at}/new`);
  const fields = { kind: 'secret', name: '', cidrs: 'office', expiresAt: 'tomorrow' };
  const { status, html } = await visitor.submit(`${at}/new`, fields);
  expect(status).toBe(422);
  for (const field of ['name', 'scopes', 'cidrs.0', 'expiresAt']) {
    expect(html).toContain(`<code>${field}</code>`);
  }
});

it('changes only what was changed, also of a key that has expired', async () => {
  const visitor = newVisitor(api, ada.cookie);
  const { id } = await makeKey(visitor, { expiresAt: '2030-01-31T09:00:30.123' });
  const past = new Date(Date.now() - 60_000);
  await api.db.updateTable('api_key').set({ expires_at: past }).where('id', '=', id).execute();
  expect((await visitor.open(`${at}/${id}`)).html).toContain('expired');
  const { html } = await visitor.open(`${at}/${id}/change`);
  const expiresAt = /name="expiresAt"[^>]*value="([^"]+)"/.exec(html)?.[1] ?? '';
  const fields = { name: 'Renamed', scopes: 'contacts:read', expiresAt };
  const { location } = await visitor.submit(`${at}/${id}/change`, fields);
  expect(location).toBe(`${at}/${id}?done=changed`);
  expect(await recordOf(id)).toMatchObject({ name: 'Renamed', expiresAt: past.toISOString() });
  await visitor.submit(`${at}/${id}/change`, { ...fields, expiresAt: '' });
  expect(await recordOf(id)).toMatchObject({ scopes: ['contacts:read'], expiresAt: null });
});

it('rotates a key with an overlap, and only once when the browser repeats the form', async () => {
  const visitor = newVisitor(api, ada.cookie);
  const { value: old, id } = await makeKey(visitor);
  const form = { ...(await rotationOf(visitor, id)), overlapSeconds: '3600' };
  const { value } = shownKey(await visitor.submit(`${at}/${id}/rotate`, form));
  const repeated = await visitor.submit(`${at}/${id}/rotate`, form);
  expect([repeated.status, repeated.html.includes('was not rotated')]).toEqual([409, true]);
  expect([await isValid(old), await isValid(value)]).toEqual([true, true]);
  const again = { ...(await rotationOf(visitor, id)), overlapSeconds: '0' };
  const { value: last } = shownKey(await visitor.submit(`${at}/${id}/rotate`, again));
  expect([await isValid(old), await isValid(value), await isValid(last)]).toEqual([
    false,
    false,
    true,
  ]);
});

it('revokes a key, which is then among the revoked ones', async () => {
  const visitor = newVisitor(api, ada.cookie);
  const { value, id } = await makeKey(visitor, { name: 'Leaked' });
  await visitor.open(`${at}/${id}`);
  const { location } = await visitor.submit(`${at}/${id}/revoke`);
  expect(location).toBe(`${at}/${id}?done=revoked`);
  expect(await isValid(value)).toBe(false);
  expect((await visitor.open(at)).html).not.toContain('Leaked');
  expect((await visitor.open(`${at}?revoked=true`)).html).toContain('Leaked');
  const { html } = await visitor.open(`${at}/${id}`);
  expect([html.includes(ada.email), html.includes('Rotate')]).toEqual([true, false]);
});

it('a member sees the keys, and can change none', async () => {
  const [visitor, member] = [newVisitor(api, ada.cookie), newVisitor(api, bob.cookie)];
  const { id, value } = await makeKey(visitor, { name: 'Seen by all' });
  const list = await member.open(at);
  expect([list.html.includes('Seen by all'), list.html.includes('/keys/new')]).toEqual([
    true,
    false,
  ]);
  const one = await member.open(`${at}/${id}`);
  for (const act of ['change', 'rotate', 'revoke']) {
    expect(one.html).not.toContain(`/keys/${id}/${act}`);
    if (act !== 'revoke') expect((await member.open(`${at}/${id}/${act}`)).status).toBe(403);
    expect((await member.submit(`${at}/${id}/${act}`)).status).toBe(403);
  }
  expect((await member.open(`${at}/new`)).status).toBe(403);
  expect(await isValid(value)).toBe(true);
});

it('asks for a recent login before it shows a form, and leads back to the form', async () => {
  const carl = await api.signUp();
  const { id } = await api.createProject(carl.cookie);
  const visitor = newVisitor(api, await sessionSince(api, carl.userId, 121));
  const path = `/console/${id}/keys/new`;
  const asked = await visitor.open(path);
  expect([asked.status, asked.html.includes('name="scopes"')]).toEqual([403, false]);
  expect(asked.html).toContain(`name="next" value="${path}"`);
  const fields = { email: carl.email, password: 'a password', next: path };
  const { location } = await visitor.submit('/console/log-in', fields);
  expect(location).toBe(path);
  expect((await visitor.open(path)).html).toContain('name="scopes"');
});

it('refuses a form of another site', async () => {
  const visitor = newVisitor(api, ada.cookie);
  const fields = { kind: 'secret', name: 'Foreign', scopes: '*' };
  expect((await visitor.submit(`${at}/new`, fields)).status).toBe(403);
  expect((await visitor.open(at)).html).not.toContain('Foreign');
});

it('shows no key of another project', async () => {
  const carl = await api.signUp();
  const { id } = await makeKey(newVisitor(api, ada.cookie));
  const other = await api.createProject(carl.cookie);
  const visitor = newVisitor(api, carl.cookie);
  for (const path of [id, `${id}/change`, `${id}/rotate`]) {
    expect((await visitor.open(`/console/${other.id}/keys/${path}`)).status).toBe(404);
  }
  expect((await visitor.open(`${at}/${id}`)).status).toBe(404);
});
