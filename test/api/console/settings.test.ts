import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { addAuthenticator } from '../../support/second-factor.ts';
import { newVisitor } from '../../support/visitor.ts';

const api = await useApi();

async function newProject() {
  const owner = await api.signUp();
  const { id } = await api.createProject(owner.cookie);
  return { owner, id, page: `/console/${id}/settings` };
}

/** Adds a member to a project. Returns their session cookie. */
async function addMember(id: string, ownerCookie: string, role: string): Promise<string> {
  const member = await api.signUp();
  const body = { email: member.email, role };
  const added = await api.request('POST', `/projects/${id}/members`, { cookie: ownerCookie, body });
  expect(added.status).toBeLessThan(300);
  return member.cookie;
}

it('requires a second factor of all members, and leads them to it and back', async () => {
  const { owner, id, page } = await newProject();
  const memberCookie = await addMember(id, owner.cookie, 'MEMBER');
  const visitor = newVisitor(api, owner.cookie);
  expect((await visitor.open(page)).html).toContain('not required');
  const refused = await visitor.submit(`${page}/second-factor`, { require: 'true' });
  expect([refused.status, refused.html.includes('Add an authenticator app')]).toEqual([403, true]);
  const app = await addAuthenticator(api, owner.cookie);
  const strong = newVisitor(api, app.cookie);
  await strong.open(page);
  const required = await strong.submit(`${page}/second-factor`, { require: 'true' });
  expect(required.location).toBe(`${page}?done=policySaved`);
  expect((await strong.open(page)).html).toContain('No longer require it');
  const weak = newVisitor(api, memberCookie);
  const kept = await weak.open(`/console/${id}/failures`);
  expect([kept.status, kept.html.includes('Your account')]).toEqual([403, true]);
  const memberApp = await addAuthenticator(api, memberCookie);
  const session = newVisitor(api, memberApp.cookie);
  expect((await session.open(`/console/${id}/failures`)).status).toBe(200);
});

it('asks a member who has a factor for it, and goes on to the page', async () => {
  const { owner, id } = await newProject();
  const app = await addAuthenticator(api, owner.cookie);
  const body = { requireSecondFactor: true };
  const path = `/users/@me/projects/${id}/sign-in-policy`;
  expect((await api.request('PUT', path, { cookie: app.cookie, body })).status).toBe(200);
  await api.db.updateTable('session').set({ second_factor: null }).execute();
  const visitor = newVisitor(api, app.cookie);
  const page = `/console/${id}/failures`;
  expect((await visitor.open(page)).html).toContain('without your second factor');
  const asked = await visitor.open('/console/auth/second-factor');
  expect(asked.html).toContain(`name="next" value="${page}"`);
  const fields = { code: app.code(), next: page };
  expect((await visitor.submit('/console/second-factor', fields)).location).toBe(page);
  expect((await visitor.open(page)).status).toBe(200);
});

it('lets only the owner change it, and members not see it', async () => {
  const { owner, id, page } = await newProject();
  const admin = newVisitor(api, await addMember(id, owner.cookie, 'ADMIN'));
  expect((await admin.open(page)).html).toContain('Only the owner can change this');
  const refused = await admin.submit(`${page}/second-factor`, { require: 'true' });
  expect([refused.status, refused.html.includes('INSUFFICIENT_ROLE')]).toEqual([403, true]);
  const member = newVisitor(api, await addMember(id, owner.cookie, 'MEMBER'));
  const { status, html } = await member.open(page);
  expect([status, html.includes('Only admins and the owner')]).toEqual([200, true]);
});

it('changes the hold-out and the parameters of links', async () => {
  const { owner, page } = await newProject();
  const visitor = newVisitor(api, owner.cookie);
  expect((await visitor.open(page)).html).toContain(`${page}/mail`);
  await visitor.open(`${page}/mail`);
  const held = await visitor.submit(`${page}/mail/holdout`, { percent: '2.5' });
  expect(held.location).toBe(`${page}/mail?done=policySaved`);
  const fields = { source: 'news', medium: ' ', campaign: '{campaign}', hosts: 'a.test b.test' };
  await visitor.submit(`${page}/mail/links`, fields);
  const { html } = await visitor.open(`${page}/mail`);
  expect(html).toContain('value="2.5"');
  expect(html).toContain('name="source" value="news"');
  expect(html).toContain('name="medium" value=""');
  expect(html).toContain('value="a.test b.test"');
  const refused = await visitor.submit(`${page}/mail/links`, { source: '{nope}' });
  expect([refused.status, refused.html.includes('There is no placeholder {nope}.')]).toEqual([
    422,
    true,
  ]);
});

it('shows a member the settings of marketing mail without forms', async () => {
  const { owner, id, page } = await newProject();
  const visitor = newVisitor(api, await addMember(id, owner.cookie, 'MEMBER'));
  const { html } = await visitor.open(`${page}/mail`);
  expect(html).toContain('Only admins and the owner can change this.');
  expect(html).not.toContain('name="percent"');
  expect((await visitor.submit(`${page}/mail/holdout`, { percent: '5' })).status).toBe(403);
});
