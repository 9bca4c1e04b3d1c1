import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi({
  RATE_LIMIT_ENABLED: 'true',
  RATE_LIMIT_PROJECT_PER_MINUTE: '5',
  RATE_LIMIT_IP_PER_MINUTE: '30',
  RATE_LIMIT_AUTH_PER_MINUTE: '1000',
});
const { cookie } = await api.signUp();

/** Every test begins with empty rate limits. */
const newWindows = () => api.db.deleteFrom('rate_limit').execute();
const newProject = async () => api.createProject((await api.signUp()).cookie);
const listDomains = (id: string, as: { key?: string; cookie?: string }) =>
  api.request('GET', `/domains/project/${id}`, as);

describe('the limit of a project', () => {
  it('refuses the request over it with 429 and says when to come back', async () => {
    const { id, secretKey: key } = await newProject();
    const answers = [];
    for (let i = 0; i < 6; i += 1) answers.push(await listDomains(id, { key }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    const told = answers.map(({ headers }) => headers.get('ratelimit-remaining'));
    expect(told).toEqual(['4', '3', '2', '1', '0', '0']);
    const { headers, body } = answers[5]!;
    const seconds = Number(headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(headers.get('ratelimit-limit')).toBe('5');
    expect(headers.get('ratelimit-reset')).toBe(String(seconds));
    expect(body.error.code).toBe('RATE_LIMIT_EXCEEDED');
    expect(body.error.details).toEqual({ retryAfter: seconds });
  });

  it('does not touch another project', async () => {
    const [full, other] = [await newProject(), await newProject()];
    for (let i = 0; i < 6; i += 1) await listDomains(full.id, { key: full.secretKey });
    expect((await listDomains(other.id, { key: other.secretKey })).status).toBe(200);
  });

  it('counts key and cookie together', async () => {
    await newWindows();
    const { id, secretKey: key } = await api.createProject(cookie);
    await newWindows();
    for (let i = 0; i < 5; i += 1) await listDomains(id, i % 2 === 0 ? { key } : { cookie });
    expect((await listDomains(id, { key })).status).toBe(429);
    expect((await listDomains(id, { cookie })).status).toBe(429);
  });

  it('is not used up by strangers who name the project', async () => {
    const { id, secretKey: key } = await newProject();
    const stranger = await api.signUp();
    for (let i = 0; i < 5; i += 1) await listDomains(id, { cookie: stranger.cookie });
    expect((await listDomains(id, { key })).headers.get('ratelimit-remaining')).toBe('4');
  });

  it('comes before the body is read, and a refused request does nothing', async () => {
    const { id, secretKey: key } = await newProject();
    for (let i = 0; i < 5; i += 1) await listDomains(id, { key });
    for (const body of ['{"domain":', { domain: 'refused.dev' }]) {
      expect((await api.request('POST', '/domains', { key, body })).status).toBe(429);
    }
    expect(
      await api.db.selectFrom('domain').where('name', '=', 'refused.dev').selectAll().execute(),
    ).toEqual([]);
  });
});

describe('the limit of an address', () => {
  it('refuses the 31st bad key and lets a good one through', async () => {
    const { id, secretKey } = await newProject();
    await newWindows();
    const bad = { key: `sk_${'0'.repeat(64)}` };
    const statuses = [];
    for (let i = 0; i < 31; i += 1) statuses.push((await listDomains(id, bad)).status);
    expect(statuses.slice(0, 30).every((status) => status === 401)).toBe(true);
    expect(statuses[30]).toBe(429);
    expect((await listDomains(id, { key: secretKey })).status).toBe(200);
  });

  it('counts open endpoints, and health checks never', async () => {
    await newWindows();
    const config = await api.request('GET', '/config');
    expect(config.headers.get('ratelimit-limit')).toBe('30');
    const health = await api.request('GET', '/health');
    expect(health.headers.get('ratelimit-limit')).toBeNull();
  });
});

describe('the limit of an address behind a proxy', async () => {
  const proxied = await useApi({
    RATE_LIMIT_IP_PER_MINUTE: '3',
    RATE_LIMIT_ENABLED: 'true',
    TRUST_PROXY: 'true',
  });

  const remaining = async (ip: string) => {
    const headers = { 'X-Forwarded-For': ip };
    const answer = await proxied.request('GET', '/config', { headers });
    return [answer.status, answer.headers.get('ratelimit-remaining')];
  };

  it('is one for all addresses of an IPv6 network of /64', async () => {
    expect(await remaining('2001:db8:0:1::1')).toEqual([200, '2']);
    expect(await remaining('2001:DB8:0:1:ffff:ffff:ffff:ffff')).toEqual([200, '1']);
    expect(await remaining('2001:0db8:0000:0001:0:0:0:2')).toEqual([200, '0']);
    expect(await remaining('2001:db8:0:1:abcd::')).toEqual([429, '0']);
    expect(await remaining('2001:db8:0:2::1')).toEqual([200, '2']);
  });

  it('is one for an IPv4 address, however it is written', async () => {
    expect(await remaining('192.0.2.1')).toEqual([200, '2']);
    expect(await remaining('::ffff:192.0.2.1')).toEqual([200, '1']);
    expect(await remaining('::ffff:c000:0201')).toEqual([200, '0']);
    expect(await remaining('192.0.2.1')).toEqual([429, '0']);
    expect(await remaining('192.0.2.2')).toEqual([200, '2']);
    expect(await remaining('::ffff:192.0.2.3')).toEqual([200, '2']);
  });

  it('holds for logins, too', async () => {
    const login = (ip: string) =>
      proxied.request('POST', '/auth/login', {
        headers: { 'X-Forwarded-For': ip },
        body: { email: 'nobody@x.example', password: 'a wrong password' },
      });
    const first = await login('2001:db8:5::1');
    const second = await login('2001:db8:5::2');
    const left = [first, second].map(({ headers }) => Number(headers.get('ratelimit-remaining')));
    expect(left[0]! - left[1]!).toBe(1);
  });
});

describe('the limit of a user', () => {
  it('counts /users/@me', async () => {
    await newWindows();
    const me = () => api.request('GET', '/users/@me', { cookie });
    const statuses = [];
    for (let i = 0; i < 6; i += 1) statuses.push((await me()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe('limits', () => {
  it('are shared by all API processes', async () => {
    const { id, secretKey: key } = await newProject();
    for (let i = 0; i < 5; i += 1) await listDomains(id, { key });
    const row = await api.db
      .selectFrom('rate_limit')
      .select('points')
      .where('key', '=', `project:${id}`)
      .executeTakeFirstOrThrow();
    expect(row.points).toBe(5);
  });

  it('leave no header behind when they are off', async () => {
    const free = await useApi({ RATE_LIMIT_ENABLED: 'false' });
    const { headers } = await free.request('GET', '/config');
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('let requests pass when the counters cannot be kept', async () => {
    const broken = await useApi({ RATE_LIMIT_ENABLED: 'true' });
    await broken.db.schema.dropTable('rate_limit').execute();
    const { status } = await broken.request('GET', '/config');
    expect(status).toBe(200);
  });
});
