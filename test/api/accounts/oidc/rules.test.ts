import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf } from '../../../support/api.ts';
import { useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import { linkAt, providerOf, signInAt, useOidcApi } from '../../../support/fakes/oidc.ts';
import { cookiesOf } from '../../../support/second-factor.ts';
import { sessionSince } from '../../../support/sessions.ts';

const issuer = await useOidcIssuer();
const other = await useOidcIssuer();
const api = await useOidcApi([
  providerOf(issuer, { projects: '*' }),
  providerOf(other, { id: 'partner', projects: '*' }),
  { ...providerOf(issuer), id: 'closed', issuer: 'https://closed.example' },
]);
beforeEach(() => {
  for (const one of [issuer, other]) {
    const email = `${randomUUID()}@corp.example`;
    one.user = { sub: randomUUID(), email, email_verified: true };
    one.claims = {};
    one.userinfo = {};
  }
});

interface Rule {
  provider?: string;
  claim?: string | null;
  value?: string | null;
  role: string;
}
const admins: Rule = { claim: 'groups', value: 'admins', role: 'ADMIN' };
const everyone: Rule = { role: 'MEMBER' };

async function projectWith(...rules: Rule[]) {
  const owner = await api.signUp();
  const { id } = await api.createProject(owner.cookie);
  const path = `/users/@me/projects/${id}/sign-in-policy`;
  const set = (given: readonly object[], cookie = owner.cookie) => {
    const filled = given.map((rule) => ({ provider: 'corp', claim: null, value: null, ...rule }));
    return api.request('PUT', path, { cookie, body: { rules: filled } });
  };
  const answer = await set(rules);
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  const members = async () => {
    const listed = await api.request('GET', `/projects/${id}/members`, { cookie: owner.cookie });
    return listed.body.data.slice(1) as {
      userId: string;
      role: string;
      managedBy: string | null;
    }[];
  };
  return { id, owner, path, set, members };
}

/** Signs in by `corp` with these groups. Returns the user's id and cookie. */
async function signInWith(groups?: unknown) {
  issuer.claims = groups === undefined ? {} : { groups };
  const cookie = cookiesOf(await signInAt(api, issuer));
  const { body } = await api.request('GET', '/users/@me', { cookie });
  return { userId: String(body.id), email: String(body.email), cookie };
}

describe('rules of a project', () => {
  it('make, change and end the membership at each sign-in, by the highest role', async () => {
    const { id, owner, members, set } = await projectWith(everyone, admins);
    const { userId, cookie } = await signInWith(['x', 'admins']);
    const managed = { userId, managedBy: 'corp', status: 'active' };
    expect(await members()).toEqual([expect.objectContaining({ ...managed, role: 'ADMIN' })]);
    const contacts = await api.request('GET', '/contacts', {
      cookie,
      headers: { 'X-Project-Id': id },
    });
    expect(contacts.status).toBe(200);
    await signInWith(['x']);
    expect(await members()).toEqual([expect.objectContaining({ ...managed, role: 'MEMBER' })]);
    await set([admins]);
    expect(await members()).toHaveLength(1);
    await signInWith(['x']);
    expect(await members()).toEqual([]);
    const log = await api.request('GET', '/security-events', {
      cookie: owner.cookie,
      headers: { 'X-Project-Id': id },
    });
    const actor = expect.objectContaining({ type: 'user', id: userId });
    const target = expect.objectContaining({ type: 'user', id: userId });
    const expected = (event: string, role?: string) =>
      expect.objectContaining({
        event,
        actor,
        target,
        details: { provider: 'corp', memberId: userId, ...(role && { role }) },
      });
    const named = log.body.data.filter(({ event }: { event: string }) =>
      event.startsWith('member'),
    );
    expect(named).toEqual([
      expected('member.left'),
      expected('member.role_changed', 'MEMBER'),
      expected('member.joined', 'ADMIN'),
    ]);
    expect(named[1].changes).toEqual([{ field: 'role', before: 'ADMIN', after: 'MEMBER' }]);
  });

  it('fit a claim that is the text, or only the userinfo endpoint has', async () => {
    const { members } = await projectWith(admins);
    await signInWith('admins');
    expect(await members()).toHaveLength(1);
    await signInWith();
    expect(await members()).toHaveLength(0);
    issuer.userinfo = { groups: ['admins'] };
    await signInWith();
    expect(await members()).toHaveLength(1);
  });

  it.each([[5], [{ admins: true }], [[['admins']]], ['Admins'], [null]])(
    'do not fit the claim %j',
    async (groups) => {
      const { members } = await projectWith(admins);
      await signInWith(groups);
      expect(await members()).toEqual([]);
    },
  );

  it('never touch the owner, and members made by hand or by another provider', async () => {
    const { userId, email, cookie } = await signInWith();
    const byHand = await projectWith();
    await api.request('POST', `/projects/${byHand.id}/members`, {
      cookie: byHand.owner.cookie,
      body: { email, role: 'ADMIN' },
    });
    const own = await api.createProject(cookie);
    const byOther = await projectWith({ provider: 'partner', role: 'ADMIN' });
    expect((await linkAt(api, other, cookie, 'partner')).status).toBe(302);
    await signInAt(api, other, { id: 'partner' });
    for (const { set } of [byHand, byOther]) {
      await set([{ provider: 'partner', role: 'ADMIN' }, everyone]);
    }
    await api.request('PUT', `/users/@me/projects/${own.id}/sign-in-policy`, {
      cookie,
      body: { rules: [{ provider: 'corp', claim: null, value: null, role: 'MEMBER' }] },
    });
    await signInWith();
    expect(await byHand.members()).toEqual([
      expect.objectContaining({ userId, role: 'ADMIN', managedBy: null }),
    ]);
    expect(await byOther.members()).toEqual([
      expect.objectContaining({ userId, role: 'ADMIN', managedBy: 'partner' }),
    ]);
    const { body } = await api.request('GET', '/users/@me/projects', { cookie });
    expect(body).toContainEqual(expect.objectContaining({ id: own.id, role: 'OWNER' }));
  });

  it('keep the role against a change by hand; a removal lasts until the next sign-in', async () => {
    const { id, owner, members } = await projectWith(everyone);
    const { userId } = await signInWith();
    const path = `/projects/${id}/members/${userId}`;
    const change = { cookie: owner.cookie, body: { role: 'ADMIN' } };
    const refused = await api.request('PATCH', path, change);
    expect(codeOf(refused)).toEqual([409, 'MEMBER_MANAGED']);
    expect(refused.body.error.details).toEqual({ provider: 'corp' });
    expect((await api.request('DELETE', path, { cookie: owner.cookie })).status).toBe(200);
    expect(await members()).toEqual([]);
    await signInWith();
    expect(await members()).toHaveLength(1);
  });

  it('stop to count when the provider no longer names the project', async () => {
    const { id, members } = await projectWith(everyone);
    await signInWith();
    const [corp] = api.services.config.oidc;
    if (!corp) throw new Error('There is no provider.');
    corp.projects = [randomUUID()];
    try {
      await signInWith();
      expect(await members()).toEqual([]);
      corp.projects = [id];
      await signInWith();
      expect(await members()).toHaveLength(1);
    } finally {
      corp.projects = '*';
    }
  });

  it('count in a project that was reset, under the id that it had', async () => {
    const { id, owner, members, path } = await projectWith(everyone);
    const { cookie } = owner;
    await api.request('POST', `/users/@me/projects/${id}/reset`, { cookie });
    const { body } = await api.request('GET', path, { cookie });
    expect(body.rules).toEqual([{ provider: 'corp', claim: null, value: null, role: 'MEMBER' }]);
    await signInWith();
    expect(await members()).toHaveLength(1);
  });

  it('make a user a member of more projects than one transaction changes', async () => {
    const name = randomUUID();
    await sql`with made as (
      insert into project (name, public_key, secret_key_hash, secret_key_last4, webhook_signing_secret)
        select ${name}, 'pk_' || number || ${name}, sha256((number || ${name})::bytea), 'abcd', '\\x00'
          from generate_series(1, 450) number returning id)
      insert into sign_in_rule (project_id, position, provider, claim, value, role)
        select id, 0, 'corp', 'team', ${name}, 'MEMBER' from made`.execute(api.db);
    const count = async () => {
      const rows = sql<{ count: number }>`select count(*)::int as count
        from membership join project on project.id = project_id where name = ${name}`;
      return (await rows.execute(api.db)).rows[0]?.count;
    };
    issuer.claims = { team: name };
    await signInAt(api, issuer);
    expect(await count()).toBe(450);
    issuer.claims = {};
    await signInAt(api, issuer);
    expect(await count()).toBe(0);
  });

  it('are applied once when a user signs in twice at once', async () => {
    const { members } = await projectWith(everyone);
    await Promise.all([1, 2].map(() => signInAt(api, issuer)));
    expect(await members()).toHaveLength(1);
  });
});

describe('PUT /users/@me/projects/{id}/sign-in-policy', () => {
  it('replaces the rules, which administrators read', async () => {
    const { path, set, owner } = await projectWith(admins, everyone);
    const { body } = await api.request('GET', path, { cookie: owner.cookie });
    expect(body).toEqual({
      requireSecondFactor: false,
      rules: [
        { provider: 'corp', claim: 'groups', value: 'admins', role: 'ADMIN' },
        { provider: 'corp', claim: null, value: null, role: 'MEMBER' },
      ],
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect((await set([])).body.rules).toEqual([]);
  });

  it('refuses wrong rules, all at once', async () => {
    const { path, set, owner } = await projectWith(everyone);
    const refused = await set([
      { provider: 'closed', role: 'MEMBER' },
      { provider: 'unknown', role: 'MEMBER' },
      { claim: 'groups', role: 'MEMBER' },
      { claim: 'c'.repeat(101), value: 'v', role: 'OWNER' },
    ]);
    expect(refused.status).toBe(422);
    const faults = refused.body.error.errors.map(
      ({ field, code }: { field: string; code: string }) => [field, code],
    );
    expect(new Map(faults)).toEqual(
      new Map([
        ['rules.2.value', 'custom'],
        ['rules.3.claim', 'too_big'],
        ['rules.3.role', 'invalid_enum_value'],
        ['rules.0.provider', 'not_allowed'],
        ['rules.1.provider', 'not_allowed'],
      ]),
    );
    expect((await set(Array.from({ length: 51 }, () => everyone))).status).toBe(422);
    const { body } = await api.request('GET', path, { cookie: owner.cookie });
    expect(body.rules).toHaveLength(1);
  });

  it('is for the owner with a fresh session', async () => {
    const { owner, set } = await projectWith(everyone);
    const { cookie } = await signInWith();
    expect(codeOf(await set([], cookie))).toEqual([403, 'INSUFFICIENT_ROLE']);
    const old = await sessionSince(api, owner.userId, 121);
    expect(codeOf(await set([], old))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });
});
