import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { findSender } from '../../../db/domains/keys.ts';
import { readPrivateKey } from '../../../providers/mail/dkim/keys.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import type { AnsweredDomain } from '../../support/fakes/domain-records.ts';
import { sesSettings, useFakeSes } from '../../support/fakes/ses.ts';

/** Domains whose mail Everpost signs, with an SMTP server. */

const dns = await useDnsServer();
const smtp = {
  DNS_SERVERS: dns.address,
  SMTP_HOST: 'out.everpost.test',
  RETURN_PATH_HOST: 'mx.everpost.test',
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
};
const api = await useApi(smtp);
const ada = await api.signUp();
const shop = await api.createProject(ada.cookie);

const call = (method: string, path: string, body?: unknown, key = shop.secretKey) =>
  api.request(method, path, { key, body });
const newName = (end = 'dev') => `${randomUUID()}.${end}`;

interface OwnDomain extends AnsweredDomain {
  signing: string;
  ed25519: boolean;
  returnPath: string | null;
  dkim: {
    selector: string;
    activeSince: string | null;
    next: { selector: string } | null;
    previous: { selector: string; removeAfter: string } | null;
  };
  records: (AnsweredDomain['records'][number] & {
    strings: string[];
    needed: boolean;
    found: string[];
    removeAfter?: string;
  })[];
}

async function add(name = newName(), given: object = {}, key?: string): Promise<OwnDomain> {
  const { status, body } = await call('POST', '/domains', { domain: name, ...given }, key);
  expect(status).toBe(201);
  return body;
}

async function verify({ id }: { id: string }, key?: string): Promise<OwnDomain> {
  const { status, body } = await call('GET', `/domains/${id}/verify`, undefined, key);
  expect(status).toBe(200);
  return body;
}

async function change({ id }: { id: string }, body: object): Promise<OwnDomain> {
  const answer = await call('PATCH', `/domains/${id}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
}

const rotate = ({ id }: { id: string }) => call('POST', `/domains/${id}/rotate-key`);
const recordOf = ({ records }: OwnDomain, purpose: string) =>
  records.find((record) => record.purpose === purpose);
const purposes = ({ records }: OwnDomain) => records.map(({ purpose }) => purpose).join(' ');

/** Publishes the TXT records of these purposes. */
function publish(domain: OwnDomain, ...wanted: string[]): void {
  for (const { name, purpose, strings } of domain.records) {
    if (wanted.includes(purpose)) dns.publish(name, 'TXT', strings);
  }
}

async function addVerified(given: object = {}): Promise<OwnDomain> {
  const domain = await add(newName(), given);
  publish(domain, 'dkim');
  const verified = await verify(domain);
  expect(verified.status).toBe('verified');
  return verified;
}

/** Moves the times of the keys of a domain into the past, instead of waiting. */
const daysPass = ({ id }: { id: string }, days: number) =>
  sql`update domain_key set created_at = created_at - ${days} * interval '1 day',
      remove_after = remove_after - ${days} * interval '1 day' where domain_id = ${id}`.execute(
    api.db,
  );

const signingKeys = async ({ domain }: { domain: string }) =>
  (await findSender(api.db, { projectId: rowProject, domain, returnPath: '' })).keys;
const { id: rowProject } = await api.db
  .selectFrom('project')
  .select('id')
  .executeTakeFirstOrThrow();

describe('POST /domains with an SMTP server', () => {
  it('makes a key, and lists its record first', async () => {
    const domain = await add();
    expect(domain).toMatchObject({
      status: 'pending',
      signing: 'own',
      ed25519: false,
      dkimTokens: [],
      returnPath: 'bounces.everpost.test',
      dkim: { activeSince: null, next: null, previous: null },
    });
    expect(domain.dkim.selector).toMatch(/^ep20\d{4}-[0-9a-f]{8}$/);
    expect(purposes(domain)).toBe('dkim return_path spf dmarc');
    const record = recordOf(domain, 'dkim');
    expect(record).toMatchObject({
      type: 'TXT',
      name: `${domain.dkim.selector}._domainkey.${domain.domain}`,
      value: expect.stringMatching(/^v=DKIM1; k=rsa; p=MII[\w+/]{380,}=*$/),
      needed: true,
      status: 'pending',
      found: [],
    });
    expect(record?.strings.join('')).toBe(record?.value);
    for (const text of record?.strings ?? []) expect(text.length).toBeLessThanOrEqual(255);
    expect(recordOf(domain, 'spf')?.value).toBe('v=spf1 a:out.everpost.test ~all');
    expect(domain.records.map(({ needed }) => needed)).toEqual([true, false, false, false]);
    expect(JSON.stringify(domain)).not.toMatch(/PRIVATE|private/);
  });

  it('stores the key encrypted', async () => {
    const domain = await addVerified();
    const [sealed] = await signingKeys(domain);
    const text = sealed!.privateKey.toString('latin1');
    expect(text).toMatch(/^EPK1/);
    const pkcs8 = api.services.cipher.decrypt(sealed!.privateKey);
    expect(readPrivateKey(pkcs8).asymmetricKeyDetails?.modulusLength).toBe(2048);
  });

  it('verifies a reserved name at once, which then signs', async () => {
    const domain = await add(newName('test'));
    expect(domain).toMatchObject({ verified: true, status: 'verified' });
    expect(domain.dkim.activeSince).not.toBeNull();
    expect(await signingKeys(domain)).toHaveLength(1);
  });

  it('takes another signing, and refuses Ed25519 without its own', async () => {
    const domain = await add(newName(), { signing: 'provider' });
    expect(domain).toMatchObject({ signing: 'provider', dkim: null, dkimTokens: [] });
    expect(purposes(domain)).toBe('ownership return_path spf dmarc');
    const given = { domain: newName(), signing: 'provider', ed25519: true };
    const { status, body } = await call('POST', '/domains', given);
    expect([status, body.error.errors[0].field, body.error.errors[0].code]).toEqual([
      422,
      'ed25519',
      'not_allowed',
    ]);
  });

  it('gives each claim of a name a key of its own: only its owner can prove it', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    const name = newName();
    const [first, second] = [await add(name), await add(name, {}, other.secretKey)];
    expect(first.dkim.selector).not.toBe(second.dkim.selector);
    expect(recordOf(first, 'dkim')?.value).not.toBe(recordOf(second, 'dkim')?.value);
    publish(first, 'dkim');
    expect((await verify(second, other.secretKey)).status).toBe('pending');
    expect((await verify(first)).status).toBe('verified');
  });
});

describe('GET /domains/{id}', () => {
  it('returns the record of the last check', async () => {
    const { id } = await add();
    const { tokens: _, ...checked } = (await verify({ id })) as OwnDomain & { tokens: string[] };
    expect((await call('GET', `/domains/${id}`)).body).toEqual(checked);
  });
});

describe('GET /domains/{id}/verify', () => {
  it('takes the key in two strings, with blanks, in another order', async () => {
    const domain = await add();
    const [, p = ''] = /p=(.*)/.exec(recordOf(domain, 'dkim')?.value ?? '') ?? [];
    const { name } = recordOf(domain, 'dkim')!;
    dns.publish(name, 'TXT', [`p=${p.slice(0, 200)} `, ` ${p.slice(200)} ; k=rsa;v=DKIM1`]);
    const verified = await verify(domain);
    expect(verified.status).toBe('verified');
    expect(verified.dkim.activeSince).not.toBeNull();
    const mail = { to: 'a@x.example', from: `me@${domain.domain}`, subject: 's', body: 'b' };
    expect((await call('POST', '/v1/send', mail)).status).toBe(200);
  });

  it('takes a CNAME that leads to the key', async () => {
    const domain = await add();
    const { name, strings } = recordOf(domain, 'dkim')!;
    dns.publish(name, 'CNAME', `key.${domain.domain}`);
    dns.publish(`key.${domain.domain}`, 'TXT', strings);
    expect((await verify(domain)).status).toBe('verified');
  });

  it('shows what is published instead', async () => {
    const domain = await add();
    const { name, strings } = recordOf(domain, 'dkim')!;
    for (const texts of [['v=DKIM1; k=rsa; p=AAAA'], ['p='], [strings, 'p=AAAA']]) {
      dns.publish(name, 'TXT', ...texts);
      const checked = await verify(domain);
      expect(checked.status).toBe('pending');
      const found = texts.map((text) => (typeof text === 'string' ? text : text.join('')));
      expect(recordOf(checked, 'dkim')).toMatchObject({ status: 'failed', found });
    }
  });

  it('compares the return path, which then is that of the domain', async () => {
    const domain = await add();
    const name = `bounces.${domain.domain}`;
    dns.publish(name, 'MX', { exchange: 'MX.Everpost.Test', preference: 50 });
    dns.publish(name, 'TXT', 'v=spf1 mx a:out.everpost.test -all');
    const checked = await verify(domain);
    expect(recordOf(checked, 'return_path')?.status).toBe('verified');
    expect(recordOf(checked, 'spf')?.status).toBe('verified');
    expect(checked.returnPath).toBe(name);
    dns.publish(name, 'TXT', 'v=spf1 a:out.everpost.test ~all', 'v=spf1 mx ~all');
    expect(recordOf(await verify(domain), 'spf')?.status).toBe('failed');
  });
});

describe('POST /domains/{id}/rotate-key', () => {
  it('lets the old key sign until DNS shows the new one, and then keeps its record', async () => {
    const domain = await addVerified();
    const { status, body: rotated } = await rotate(domain);
    expect(status).toBe(200);
    expect(rotated.dkim).toMatchObject({ selector: domain.dkim.selector, previous: null });
    const { selector } = rotated.dkim.next;
    expect(purposes(rotated)).toBe('dkim dkim_next return_path spf dmarc');
    expect((await verify(domain)).dkim.selector).toBe(domain.dkim.selector);
    expect((await signingKeys(domain))[0]?.selector).toBe(domain.dkim.selector);

    publish(rotated, 'dkim_next');
    const changed = await verify(domain);
    expect(changed).toMatchObject({ status: 'verified', dkim: { selector, next: null } });
    const { previous } = changed.dkim;
    expect(previous?.selector).toBe(domain.dkim.selector);
    const days = (Date.parse(previous?.removeAfter ?? '') - Date.now()) / 86_400_000;
    expect(days).toBeCloseTo(7, 1);
    expect(recordOf(changed, 'dkim_old')).toMatchObject({
      needed: false,
      status: 'verified',
      removeAfter: previous?.removeAfter,
    });
    expect((await signingKeys(domain)).map((key) => key.selector)).toEqual([selector]);
    const { rows } = await sql<{ count: number }>`select count(*)::int from domain_key
        where domain_id = ${domain.id} and private_key is not null`.execute(api.db);
    expect(rows[0]?.count).toBe(1);
  });

  it('lists the record of the old key until it is gone from DNS', async () => {
    const domain = await addVerified();
    const { body: rotated } = await rotate(domain);
    publish(rotated, 'dkim_next');
    const old = recordOf(await verify(domain), 'dkim_old')!;
    dns.remove(old.name);
    expect(recordOf(await verify(domain), 'dkim_old')?.status).toBe('pending');
    dns.publish(old.name, 'TXT', old.strings);
    await daysPass(domain, 8);
    expect(recordOf(await verify(domain), 'dkim_old')?.status).toBe('verified');
    dns.remove(old.name);
    const gone = await verify(domain);
    expect([recordOf(gone, 'dkim_old'), gone.dkim.previous]).toEqual([undefined, null]);
  });

  it('lists it for 30 days at most after its time', async () => {
    const domain = await addVerified();
    const { body: rotated } = await rotate(domain);
    publish(rotated, 'dkim_next');
    await verify(domain);
    await daysPass(domain, 38);
    expect(purposes((await call('GET', `/domains/${domain.id}`)).body)).not.toContain('dkim_old');
    await verify(domain);
    expect(await keyCount(domain)).toBe(1);
  });

  it('returns 409 while a new key waits, also to requests at the same time', async () => {
    const domain = await addVerified();
    const answers = await Promise.all([rotate(domain), rotate(domain)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const [{ body: made }, { body: refused }] = answers.toSorted((a, b) => a.status - b.status) as [
      (typeof answers)[number],
      (typeof answers)[number],
    ];
    expect(refused.error.code).toBe('KEY_ROTATION_PENDING');
    expect(refused.error.details).toEqual({ selector: made.dkim.next.selector });
  });

  it('is repeated with an Idempotency-Key, by those who may rotate the key now', async () => {
    const domain = await addVerified();
    const member = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ project_id: rowProject, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const stranger = await api.createProject((await api.signUp()).cookie);
    const path = `/domains/${domain.id}/rotate-key`;
    const headers = { 'Idempotency-Key': randomUUID() };
    const as = (who: object) => api.request('POST', path, { ...who, headers });
    const first = await as({ key: shop.secretKey });
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null]);
    for (const who of [{ key: shop.secretKey }, { cookie: ada.cookie }]) {
      const again = await as(who);
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
      expect(again.body).toEqual(first.body);
    }
    expect(codeOf(await as({ cookie: member.cookie }))).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect(codeOf(await as({ key: stranger.secretKey }))).toEqual([404, 'DOMAIN_NOT_FOUND']);
    expect(codeOf(await rotate(domain))).toEqual([409, 'KEY_ROTATION_PENDING']);
  });

  it('drops a new key that DNS has not shown for 30 days', async () => {
    const domain = await addVerified();
    const first = (await rotate(domain)).body as OwnDomain;
    await daysPass(domain, 31);
    expect((await verify(domain)).dkim.next).toBeNull();
    const second = await rotate(domain);
    expect(second.status).toBe(200);
    expect(second.body.dkim.next.selector).not.toBe(first.dkim.next?.selector);
    expect(await keyCount(domain)).toBe(2);
  });

  it('changes the Ed25519 key with the other', async () => {
    const domain = await addVerified({ ed25519: true });
    publish(domain, 'dkim_ed25519');
    await verify(domain);
    expect(await signingKeys(domain)).toHaveLength(2);
    const { body: rotated } = await rotate(domain);
    publish(rotated, 'dkim_next');
    const changed = await verify(domain);
    expect(purposes(changed)).toContain('dkim dkim_ed25519 dkim_old dkim_old');
    const keys = await signingKeys(domain);
    expect(keys.map(({ selector, algorithm }) => [selector, algorithm])).toEqual([
      [changed.dkim.selector, 'rsa'],
      [changed.dkim.selector, 'ed25519'],
    ]);
  });

  it('returns 400 for a domain that the provider signs for', async () => {
    const domain = await add(newName(), { signing: 'provider' });
    expect(codeOf(await rotate(domain))).toEqual([400, 'DOMAIN_NOT_SIGNING']);
  });

  it('has the domain checked within five minutes', async () => {
    const domain = await addVerified();
    api.dispatched.length = 0;
    await rotate(domain);
    expect(api.dispatched).toEqual([`domain-${domain.id}`]);
    const { rows } = await sql<{ minutes: number }>`select
        extract(epoch from next_check_at - now())::float8 / 60 as minutes
      from domain where id = ${domain.id}`.execute(api.db);
    expect(rows[0]?.minutes).toBeLessThanOrEqual(5);
  });
});

const keyCount = async ({ id }: { id: string }) =>
  (await api.db.selectFrom('domain_key').select('id').where('domain_id', '=', id).execute()).length;

describe('PATCH /domains/{id}', () => {
  it('changes nothing without a field', async () => {
    const domain = await addVerified();
    const { tokens: _, ...before } = domain as OwnDomain & { tokens: string[] };
    expect(await change(domain, {})).toEqual(before);
    expect(await change(domain, { signing: 'own', ed25519: false })).toEqual(before);
  });

  it('stops signing for the provider, deletes the key, and leaves the domain verified', async () => {
    const domain = await addVerified({ ed25519: true });
    const changed = await change(domain, { signing: 'provider' });
    expect(changed).toMatchObject({ status: 'verified', signing: 'provider', ed25519: false });
    expect(changed.dkim).toBeNull();
    expect(await keyCount(domain)).toBe(0);
    const needed = ({ records }: OwnDomain) =>
      records.flatMap(({ purpose, needed }) => (needed ? [purpose] : [])).join(' ');
    // The former record counts until all that are needed now were found once.
    expect(needed(changed)).toBe('ownership dkim');
    expect(await verify(domain)).toMatchObject({ status: 'verified' });
    publish(changed, 'ownership');
    expect(needed(await verify(domain))).toBe('ownership');
    const back = await change(domain, { signing: 'own' });
    expect(back).toMatchObject({ status: 'verified', signing: 'own', dkim: { activeSince: null } });
    expect(back.dkim.selector).not.toBe(domain.dkim.selector);
    expect(needed(back)).toBe('dkim ownership');
    expect(await signingKeys(domain)).toEqual([]);
    publish(back, 'dkim');
    expect((await verify(domain)).dkim.activeSince).not.toBeNull();
    expect(await signingKeys(domain)).toHaveLength(1);
  });

  it('adds a second key, which signs when DNS shows it, and takes it away', async () => {
    const domain = await addVerified();
    const changed = await change(domain, { ed25519: true });
    expect(purposes(changed)).toBe('dkim dkim_ed25519 return_path spf dmarc');
    expect(recordOf(changed, 'dkim_ed25519')).toMatchObject({
      name: `${domain.dkim.selector}-e._domainkey.${domain.domain}`,
      value: expect.stringMatching(/^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/),
      needed: false,
    });
    expect(await signingKeys(domain)).toHaveLength(1);
    publish(changed, 'dkim_ed25519');
    await verify(domain);
    expect(await signingKeys(domain)).toHaveLength(2);
    expect(purposes(await change(domain, { ed25519: false }))).toBe('dkim return_path spf dmarc');
    expect(await signingKeys(domain)).toHaveLength(1);
  });

  it('refuses Ed25519 without its own signature', async () => {
    const domain = await add(newName(), { signing: 'provider' });
    const own = await addVerified();
    for (const [{ id }, body] of [
      [domain, { ed25519: true }],
      [own, { signing: 'provider', ed25519: true }],
    ] as const) {
      const answer = await call('PATCH', `/domains/${id}`, body);
      expect([answer.status, answer.body.error.errors]).toEqual([
        422,
        [expect.objectContaining({ field: 'ed25519', code: 'not_allowed' })],
      ]);
    }
  });

  it('is not undone by a check that began before', async () => {
    const domain = await addVerified();
    dns.onQuestion = async () => {
      dns.onQuestion = null;
      await change(domain, { signing: 'provider' });
    };
    const checked = await verify(domain);
    expect(checked).toMatchObject({ status: 'verified', signing: 'provider' });
    expect(recordOf(checked, 'dkim')?.needed).toBe(true);
  });

  it('needs the role ADMIN, is 404 for other projects, and 401 for a public key', async () => {
    const domain = await addVerified();
    const [member, stranger] = [await api.signUp(), await api.signUp()];
    await api.db
      .insertInto('membership')
      .values({ project_id: rowProject, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const other = await api.createProject(stranger.cookie);
    const path = `/domains/${domain.id}`;
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', path],
      ['POST', `${path}/rotate-key`],
      ['GET', `${path}/verify`],
      ['DELETE', path],
    ] as const) {
      const ask = (as: object) =>
        api.request(method, at, { ...as, ...(method === 'PATCH' ? { body: {} } : {}) });
      expect(codeOf(await ask({ key: other.secretKey }))).toEqual([404, 'DOMAIN_NOT_FOUND']);
      expect((await ask({ key: shop.publicKey })).status).toBe(401);
      if (method !== 'GET') {
        expect(codeOf(await ask({ cookie: member.cookie }))).toEqual([403, 'INSUFFICIENT_ROLE']);
      }
    }
  });

  it('is in the security log', async () => {
    const domain = await addVerified();
    await change(domain, { ed25519: true });
    const event = await api.db
      .selectFrom('security_event')
      .select(['event', 'details'])
      .where('event', '=', 'domain.changed')
      .orderBy('id', 'desc')
      .executeTakeFirst();
    expect(event?.details).toMatchObject({
      domainId: domain.id,
      domain: domain.domain,
      fields: 'ed25519',
    });
  });
});

describe('with another mail provider', async () => {
  const local = await useApi({ DNS_SERVERS: dns.address });
  const { secretKey } = await local.createProject((await local.signUp()).cookie);
  const at = (method: string, path: string, body?: unknown) =>
    local.request(method, path, { key: secretKey, body });

  it('has no field for signing until one is chosen: the local mailbox', async () => {
    const { body: domain } = await at('POST', '/domains', { domain: newName('test') });
    for (const field of ['signing', 'ed25519', 'dkim', 'returnPath']) {
      expect(domain).not.toHaveProperty(field);
    }
    const { body: changed } = await at('PATCH', `/domains/${domain.id}`, { signing: 'own' });
    expect(changed).toMatchObject({ status: 'verified', signing: 'own', dkimTokens: [] });
    expect(changed.dkim.activeSince).not.toBeNull();
  });

  it('adds its own record to those of SES', async () => {
    const ses = await useFakeSes();
    const hosted = await useApi({ DNS_SERVERS: dns.address, ...sesSettings(ses) });
    const { secretKey: key } = await hosted.createProject((await hosted.signUp()).cookie);
    const body = { domain: newName(), signing: 'own' };
    const { status, body: domain } = await hosted.request('POST', '/domains', { key, body });
    expect(status).toBe(201);
    expect(domain.dkimTokens).toHaveLength(3);
    expect(purposes(domain)).toBe('dkim dkim dkim ownership dkim mail_from spf dmarc');
    expect(domain.records.filter(({ needed }: { needed: boolean }) => needed)).toHaveLength(5);
  });
});

it('verifies no reserved name at once in production', async () => {
  const production = await useApi({
    ...smtp,
    NODE_ENV: 'production',
    API_URL: 'https://api.everpost.test',
    DASHBOARD_URL: 'https://everpost.test',
    JWT_SECRET: randomBytes(48).toString('base64'),
  });
  const { secretKey: key } = await production.createProject((await production.signUp()).cookie);
  const body = { domain: newName('test') };
  const made = await production.request('POST', '/domains', { key, body });
  expect([made.status, made.body.status]).toEqual([201, 'pending']);
});
