import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi, type TestApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import {
  type AnsweredDomain,
  ownershipOf,
  publishDkim,
  publishOwnership,
} from '../../support/fakes/domain-records.ts';
import { sesSettings, useFakeSes } from '../../support/fakes/ses.ts';

/** With SES: which project owns a name, and what happens to its identity. */

type Project = Awaited<ReturnType<TestApi['createProject']>>;

const [dns, ses] = [await useDnsServer(), await useFakeSes()];
const records = { DNS_SERVERS: dns.address, DKIM_TARGET_HOST: 'dkim.everpost.test' };
const api = await useApi({ ...records, ...sesSettings(ses) });
const ada = await api.createProject((await api.signUp()).cookie);
const bob = await api.createProject((await api.signUp()).cookie);

const newName = () => `${randomUUID()}.dev`;
const post = ({ secretKey: key }: Project, domain: string) =>
  api.request('POST', '/domains', { key, body: { domain } });

async function add(project: Project, name: string): Promise<AnsweredDomain> {
  const { status, body } = await post(project, name);
  expect(status).toBe(201);
  return body;
}

async function check({ secretKey: key }: Project, { id }: AnsweredDomain): Promise<AnsweredDomain> {
  const { status, body } = await api.request('GET', `/domains/${id}/verify`, { key });
  expect(status).toBe(200);
  return body;
}

const remove = ({ secretKey: key }: Project, { id }: AnsweredDomain) =>
  api.request('DELETE', `/domains/${id}`, { key });

/** Publishes the DKIM records, and lets SES find them. */
function proveDkim(domain: AnsweredDomain): void {
  publishDkim(dns, domain);
  const identity = ses.identities.get(domain.domain);
  if (identity) identity.dkimStatus = 'SUCCESS';
}

async function send({ secretKey: key }: Project, domain: AnsweredDomain) {
  const mail = { to: 'a@x.example', from: `me@${domain.domain}`, subject: 's', body: 'b' };
  const { status, body } = await api.request('POST', '/v1/send', { key, body: mail });
  return status === 200 ? 200 : body.error.code;
}

const statuses = ({ records }: AnsweredDomain) => records.map(({ status }) => status).join(' ');

describe('a claim', () => {
  it('is verified by DKIM, the word of SES and its own ownership record together', async () => {
    const domain = await add(ada, newName());
    publishDkim(dns, domain);
    publishOwnership(dns, domain);
    const pending = await check(ada, domain);
    expect(pending.status).toBe('pending');
    expect(statuses(pending)).toBe('verified verified verified verified pending pending pending');
    proveDkim(domain);
    ses.always = { status: 400, type: 'BadRequestException' };
    const { status, body } = await api.request('GET', `/domains/${domain.id}/verify`, {
      key: ada.secretKey,
    });
    expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    ses.always = null;
    expect((await check(ada, domain)).status).toBe('verified');
    expect(await send(ada, domain)).toBe(200);
  });

  it('is not verified without its record, whatever DKIM says', async () => {
    const domain = await add(ada, newName());
    proveDkim(domain);
    expect((await check(ada, domain)).status).toBe('pending');
    dns.publish(`_everpost.${domain.domain}`, 'TXT', 'everpost-verification=somebody-else');
    const found = await check(ada, domain);
    expect([found.status, found.records[3]?.status]).toEqual(['pending', 'failed']);
    expect(await send(ada, domain)).toBe('DOMAIN_NOT_VERIFIED');
  });

  it('does not keep the owner from a name: who proves it first has it', async () => {
    const name = newName();
    const [squatter, owner] = [await add(bob, name), await add(ada, name)];
    expect(ownershipOf(owner)).not.toBe(ownershipOf(squatter));
    expect(owner.dkimTokens).toEqual(squatter.dkimTokens);
    proveDkim(owner);
    publishOwnership(dns, owner);
    expect((await check(bob, squatter)).status).toBe('pending');
    expect((await check(ada, owner)).status).toBe('verified');
    const third = await api.createProject((await api.signUp()).cookie);
    expect((await post(third, name)).body.error.code).toBe('DOMAIN_EXISTS');
    // The claim is refused even with its record in place.
    publishOwnership(dns, owner, squatter);
    const kept = await check(bob, squatter);
    expect([kept.status, kept.records[3]?.status]).toEqual(['pending', 'verified']);
    expect(await send(bob, squatter)).toBe('DOMAIN_NOT_VERIFIED');
    // It works after the owner has deleted the domain.
    await remove(ada, owner);
    expect((await check(bob, squatter)).status).toBe('verified');
  });

  it('that is checked by two projects at one moment is verified in one, the other pending', async () => {
    const name = newName();
    const claims = [await add(ada, name), await add(bob, name)] as const;
    proveDkim(claims[0]);
    publishOwnership(dns, ...claims);
    const answers = await Promise.all([
      check(ada, claims[0]),
      check(bob, claims[1]),
      check(ada, claims[0]),
      check(bob, claims[1]),
    ]);
    const [first, second, ...again] = answers.map(({ status }) => status);
    expect([first, second].toSorted()).toEqual(['pending', 'verified']);
    expect(again).toEqual([first, second]);
  });

  it('of a name that was given up and added again needs the new token', async () => {
    const name = newName();
    const before = await add(ada, name);
    proveDkim(before);
    publishOwnership(dns, before);
    expect((await check(ada, before)).status).toBe('verified');
    await remove(ada, before);
    const after = await add(ada, name);
    expect(ownershipOf(after)).not.toBe(ownershipOf(before));
    expect((await check(ada, after)).status).toBe('pending');
    publishOwnership(dns, after);
    expect((await check(ada, after)).status).toBe('verified');
  });

  it('that went away while it was checked answers 404', async () => {
    const domain = await add(ada, newName());
    proveDkim(domain);
    publishOwnership(dns, domain);
    dns.onQuestion = async (question) => {
      if (!question.startsWith('TXT _everpost.')) return;
      dns.onQuestion = null;
      await remove(ada, domain);
    };
    const key = ada.secretKey;
    const { status } = await api.request('GET', `/domains/${domain.id}/verify`, { key });
    expect(status).toBe(404);
  });
});

describe('an identity that was in the account before', () => {
  const tokens = ['x1', 'x2', 'x3'];
  const existing = (name: string, dkimOrigin: 'AWS_SES' | 'EXTERNAL' = 'AWS_SES') =>
    ses.identities.set(name, {
      tokens,
      mailFrom: `bounce.${name}`,
      dkimStatus: 'SUCCESS',
      dkimOrigin,
    });

  it('is read, never changed, and serves only who proves to own the name', async () => {
    const name = newName();
    existing(name);
    const domain = await add(ada, name);
    expect(domain.dkimTokens).toEqual(tokens);
    publishDkim(dns, domain);
    expect((await check(ada, domain)).status).toBe('pending');
    publishOwnership(dns, domain);
    expect((await check(ada, domain)).status).toBe('verified');
    expect(ses.identities.get(name)?.mailFrom).toBe(`bounce.${name}`);
    const made = await api.db.selectFrom('ses_identity').select('name').execute();
    expect(made.map((row) => row.name)).not.toContain(name);
  });

  it('with keys of its own is of no use to projects: 403 FORBIDDEN, and no claim', async () => {
    const name = newName();
    existing(name, 'EXTERNAL');
    const { status, body } = await post(ada, name);
    expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
    const key = ada.secretKey;
    const listed = await api.request('GET', `/domains/project/${ada.id}`, { key });
    expect(listed.body.map((row: AnsweredDomain) => row.domain)).not.toContain(name);
    expect(ses.identities.get(name)?.mailFrom).toBe(`bounce.${name}`);
  });
});

describe('an identity that this server makes', () => {
  it('is shared by all claims, and noted', async () => {
    const name = newName();
    const [one, two] = await Promise.all([add(ada, name), add(bob, name)]);
    expect(one.dkimTokens).toEqual(two.dkimTokens);
    expect(ses.identities.get(name)?.mailFrom).toBe(`mail.${name}`);
    const made = await api.db.selectFrom('ses_identity').select('name').execute();
    expect(made.map((row) => row.name)).toContain(name);
  });

  it('makes a new claim of the name wait while SES deletes the old identity', async () => {
    const name = newName();
    await api.db
      .insertInto('ses_identity')
      .values({ name, removing_until: new Date(Date.now() + 1_500) })
      .execute();
    const begun = Date.now();
    await add(ada, name);
    expect(Date.now() - begun).toBeGreaterThan(1_000);
    expect(ses.identities.has(name)).toBe(true);
  });
});
