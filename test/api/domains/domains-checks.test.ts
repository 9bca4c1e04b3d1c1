import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { type AnsweredDomain, publishDkim } from '../../support/fakes/domain-records.ts';

const dns = await useDnsServer();
const api = await useApi({ DNS_SERVERS: dns.address, DKIM_TARGET_HOST: 'dkim.everpost.test' });
const ada = await api.signUp();
const shop = await api.createProject(ada.cookie);

const call = (method: string, path: string, body?: unknown, key = shop.secretKey) =>
  api.request(method, path, { key, body });
const newName = (end = 'dev') => `${randomUUID()}.${end}`;
const add = async (name = newName()): Promise<AnsweredDomain> =>
  (await call('POST', '/domains', { domain: name })).body;
const check = ({ id }: AnsweredDomain, key?: string) =>
  call('GET', `/domains/${id}/verify`, undefined, key);
const statuses = (domain: AnsweredDomain) => domain.records.map(({ status }) => status).join(' ');

const publish = (domain: AnsweredDomain, ...wrong: number[]) => publishDkim(dns, domain, ...wrong);

/** Changes the row of a domain, instead of waiting for days. */
const set = (
  { id }: AnsweredDomain,
  values: { created_at?: Date; status?: string; failed_checks?: number },
) => api.db.updateTable('domain').set(values).where('id', '=', id).execute();

describe('GET /domains/{id}/verify', () => {
  it('answers the record with its tokens; pending while nothing is published', async () => {
    const domain = await add();
    const { status, body } = await check(domain);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      domain: domain.domain,
      status: 'pending',
      verified: false,
      tokens: domain.dkimTokens,
      dkimTokens: domain.dkimTokens,
      verifiedAt: null,
      lastCheckedAt: expect.any(String),
    });
    expect(statuses(body)).toBe('pending pending pending pending pending pending');
  });

  it('verifies at once when the resolver returns the three CNAMEs', async () => {
    const domain = await add();
    publish(domain);
    dns.publish(`_dmarc.${domain.domain}`, 'TXT', 'v=DMARC1; p=reject');
    const { body } = await check(domain);
    expect(body).toMatchObject({ status: 'verified', verified: true });
    expect(statuses(body)).toBe('verified verified verified pending pending verified');
    expect(body.verifiedAt).not.toBeNull();
    const again = (await check(domain)).body;
    expect(again.verifiedAt).toBe(body.verifiedAt);
  });

  it('stays pending with one wrong CNAME, whose record has failed', async () => {
    const domain = await add();
    publish(domain, 1);
    const { body } = await check(domain);
    expect(body.status).toBe('pending');
    expect(statuses(body)).toBe('verified failed verified pending pending pending');
  });

  it.each(['SERVFAIL', 'silence'] as const)(
    'answers 503 and changes nothing when the resolver does not answer: %s',
    async (fault) => {
      const domain = await add();
      publish(domain);
      const before = (await check(domain)).body;
      dns.faults.set('', fault);
      const { status, body } = await check(domain);
      dns.faults.clear();
      expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      const { body: rows } = await call('GET', `/domains/project/${shop.id}`);
      const { tokens: _, ...record } = before;
      expect(rows).toContainEqual(record);
    },
  );

  it('fails a domain that is not verified 72 hours after it was added, and verifies it later', async () => {
    const domain = await add();
    await set(domain, { created_at: new Date(Date.now() - 72.1 * 3_600_000) });
    expect((await check(domain)).body).toMatchObject({ status: 'failed', verified: false });
    publish(domain);
    api.dispatched.length = 0;
    expect((await check(domain)).body.status).toBe('verified');
    // The run of the domain continues its checks.
    expect(api.dispatched).toEqual([`domain-${domain.id}`]);
  });

  it('does not count against a verified domain, however often it is asked for', async () => {
    const domain = await add();
    await set(domain, { status: 'verified', failed_checks: 2 });
    for (let i = 0; i < 4; i += 1) expect((await check(domain)).body.status).toBe('verified');
  });

  it('finds a reserved name verified in local mode, where there is nothing to look up', async () => {
    const domain = await add(newName('test'));
    const { body } = await check(domain);
    expect(body).toMatchObject({ status: 'verified', verified: true });
    expect(statuses(body)).toBe('verified verified verified verified verified verified');
  });

  it('is for members, and answers others 404 DOMAIN_NOT_FOUND', async () => {
    const domain = await add();
    const stranger = await api.signUp();
    const other = await api.createProject(stranger.cookie);
    const path = `/domains/${domain.id}/verify`;
    expect((await api.request('GET', path, { cookie: ada.cookie })).status).toBe(200);
    for (const as of [{ key: other.secretKey }, { cookie: stranger.cookie }]) {
      const { status, body } = await api.request('GET', path, as);
      expect([status, body.error.code]).toEqual([404, 'DOMAIN_NOT_FOUND']);
      expect(body.error.details).toEqual({ resource: 'domain', id: domain.id });
    }
    expect((await call('GET', `/domains/${randomUUID()}/verify`)).status).toBe(404);
    expect((await call('GET', '/domains/mine/verify')).status).toBe(422);
  });
});

describe('DELETE /domains/{id}', () => {
  const remove = ({ id }: AnsweredDomain, as: object = { key: shop.secretKey }) =>
    api.request('DELETE', `/domains/${id}`, as);

  it('removes an unused domain; sending from it is 403 DOMAIN_NOT_REGISTERED then', async () => {
    const domain = await add(newName('test'));
    api.dispatched.length = 0;
    const { status, body } = await remove(domain);
    expect([status, body]).toEqual([200, { success: true }]);
    expect(api.dispatched).toEqual([`domain-${domain.id}`]);
    const mail = { to: 'a@x.example', from: `me@${domain.domain}`, subject: 's', body: 'b' };
    const refused = await call('POST', '/v1/send', mail);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
    expect((await remove(domain)).body.error.code).toBe('DOMAIN_NOT_FOUND');
    expect((await call('POST', '/domains', { domain: domain.domain })).status).toBe(201);
  });

  it('refuses a domain that a template sends from with 409 DOMAIN_IN_USE', async () => {
    const domain = await add(newName('test'));
    const { body: template } = await call('POST', '/templates', {
      name: 'Welcome',
      subject: 's',
      body: 'b',
      type: 'TRANSACTIONAL',
      from: `me@${domain.domain}`,
    });
    const { status, body } = await remove(domain);
    expect([status, body.error.code]).toEqual([409, 'DOMAIN_IN_USE']);
    expect(body.error.details).toEqual({
      templates: [{ id: template.id, name: 'Welcome' }],
      campaigns: [],
    });
    await call('DELETE', `/templates/${template.id}`);
    expect((await remove(domain)).status).toBe(200);
  });

  it.each(['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED'])(
    'refuses a domain that a campaign in %s sends from',
    async (status) => {
      const domain = await add(newName('test'));
      const campaign = {
        project_id: shop.id,
        name: 'Sale',
        subject: 's',
        body: 'b',
        from_email: `me@${domain.domain}`,
        audience_type: 'ALL',
        message_class: 'MARKETING',
        status,
        paused_reason: status === 'PAUSED' ? 'requested' : null,
      };
      const { id } = await api.db
        .insertInto('campaign')
        .values(campaign)
        .returning('id')
        .executeTakeFirstOrThrow();
      const refused = await remove(domain);
      expect([refused.status, refused.body.error.code]).toEqual([409, 'DOMAIN_IN_USE']);
      expect(refused.body.error.details.campaigns).toEqual([{ id, name: 'Sale' }]);
      await api.db
        .updateTable('campaign')
        .set({ status: 'SENT', paused_reason: null })
        .where('id', '=', id)
        .execute();
      expect((await remove(domain)).status).toBe(200);
    },
  );

  it('refuses a domain that an arm of an experiment sends from', async () => {
    const [domain, other] = [await add(newName('test')), await add(newName('test'))];
    const { body } = await call('POST', '/campaigns', {
      name: 'Sale',
      subject: 's',
      body: 'b',
      from: `me@${other.domain}`,
      audienceType: 'ALL',
      experiment: {
        arms: [{ id: 'a' }, { id: 'b', from: `Me <me@${domain.domain}>` }],
        testPercent: 20,
        decideAfterSeconds: 60,
        metric: 'human_click',
      },
    });
    const refused = await remove(domain);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'DOMAIN_IN_USE']);
    expect(refused.body.error.details.campaigns).toEqual([{ id: body.data.id, name: 'Sale' }]);
    await call('DELETE', `/campaigns/${body.data.id}`);
    expect((await remove(domain)).status).toBe(200);
  });

  it('needs the role ADMIN or OWNER, and is 404 for strangers', async () => {
    const domain = await add();
    const [member, stranger] = [await api.signUp(), await api.signUp()];
    await api.db
      .insertInto('membership')
      .values({ project_id: shop.id, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const refused = await remove(domain, { cookie: member.cookie });
    expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect((await remove(domain, { cookie: stranger.cookie })).status).toBe(404);
    const other = await api.createProject(stranger.cookie);
    expect((await remove(domain, { key: other.secretKey })).status).toBe(404);
    expect((await remove(domain, { cookie: ada.cookie })).status).toBe(200);
  });

  it('refuses a disabled project', async () => {
    const { id, secretKey } = await api.createProject(ada.cookie);
    const { body } = await call('POST', '/domains', { domain: newName() }, secretKey);
    const disabled = (reason: string | null) =>
      api.db.updateTable('project').set({ disabled_reason: reason }).where('id', '=', id).execute();
    await disabled('MANUAL');
    const answers = [
      await remove(body, { key: secretKey }),
      await remove(body, { cookie: ada.cookie }),
    ];
    for (const answer of answers) expect(answer.body.error.code).toBe('PROJECT_DISABLED');
    expect((await check(body, secretKey)).status).toBe(200);
  });
});

describe('POST /domains', () => {
  it('asks for a run that checks the domain', async () => {
    api.dispatched.length = 0;
    const domain = await add();
    expect(new Set(api.dispatched)).toEqual(new Set([`domain-${domain.id}`]));
  });
});
