import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi, type TestRequest } from '../../support/api.ts';

const api = await useApi({ DASHBOARD_URL: 'http://localhost:3000' });
const { cookie } = await api.signUp();
const shop = await api.createProject(cookie);

const post = (body: unknown, more: TestRequest = {}) =>
  api.request('POST', '/domains', { key: shop.secretKey, body, ...more });
const newDomain = () => ({ domain: `${randomUUID()}.dev` });
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('a request body', () => {
  it('that is broken JSON answers 400 INVALID_REQUEST_BODY with the place', async () => {
    const { status, body } = await post('{"domain": shop.example}');
    expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST_BODY']);
    expect(body.error.message).toMatch(
      /^The request body is not valid JSON: Unexpected token .*domain.*\.$/,
    );
  });

  it.each(['[]', '"text"', '""', '7', 'null', 'true'])(
    'that is %s and no object answers 422 for the whole body',
    async (text) => {
      const { status, body } = await post(text);
      expect([status, body.error.errors[0].field]).toEqual([422, '']);
    },
  );

  it('that is empty counts as {}', async () => {
    const headers = { 'Content-Type': 'application/json' };
    for (const more of [{}, { headers }, { headers, body: '' }]) {
      const { status, body } = await api.request('POST', '/domains', {
        key: shop.secretKey,
        ...more,
      });
      expect(status).toBe(422);
      expect(body.error.errors).toEqual([
        {
          field: 'domain',
          code: 'invalid_type',
          received: 'undefined',
          message: expect.any(String),
        },
      ]);
    }
  });

  it('of another content type is refused with 415, before credentials are checked', async () => {
    for (const key of [shop.secretKey, 'sk_nobody']) {
      const { status, body } = await post('domain=a.dev', {
        key,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      });
      expect([status, body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('may name its character set', async () => {
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    expect((await post(newDomain(), { headers })).status).toBe(201);
  });

  it('may have unknown keys', async () => {
    expect((await post({ ...newDomain(), constructor: 1, __proto__: { a: 1 } })).status).toBe(201);
  });

  it.each([
    '{"domain":"a\\u0000b.dev"}',
    '{"domain":"\\ud800.dev"}',
    '{"a\\u0000":1,"domain":"a.dev"}',
  ])('with %s answers 422 invalid_string', async (text) => {
    const { status, body } = await post(text);
    expect([status, body.error.errors[0].code]).toEqual([422, 'invalid_string']);
  });

  it('answers all faults at once', async () => {
    const { body } = await post({ domain: 7, projectId: 'x' });
    expect(body.error.errors).toEqual([
      expect.objectContaining({ field: 'domain', code: 'invalid_type', received: 'number' }),
      expect.objectContaining({ field: 'projectId', code: 'invalid_string' }),
    ]);
  });
});

describe('a path', () => {
  it('that is unknown returns 404 ROUTE_NOT_FOUND in the envelope', async () => {
    const { status, headers, body } = await api.request('GET', '/no/such/path');
    expect(status).toBe(404);
    expect(body).toEqual({
      success: false,
      error: {
        code: 'ROUTE_NOT_FOUND',
        message: expect.any(String),
        statusCode: 404,
        requestId: headers.get('x-request-id'),
        suggestion: expect.stringContaining('/openapi.json'),
      },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('with another method answers 405 METHOD_NOT_ALLOWED and names the right ones', async () => {
    const { status, headers, body } = await api.request('PUT', '/domains');
    expect([status, body.error.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(headers.get('allow')).toBe('HEAD, GET, POST');
  });

  it.each([
    ['PATCH', '/contacts/fields', 'HEAD, GET'],
    ['DELETE', '/workflows/fields', 'HEAD, GET'],
    ['GET', '/contacts/lookup', 'POST'],
  ])('that is a fixed word is no id: %s %s answers 405', async (method, path, allow) => {
    const { status, headers, body } = await api.request(method, path, { key: shop.secretKey });
    expect([status, body.error.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(headers.get('allow')).toBe(allow);
  });

  it('may end with a slash', async () => {
    expect((await api.request('GET', '/config/')).status).toBe(200);
  });

  it('answers HEAD like GET, without a body', async () => {
    const { status, headers, body } = await api.request('HEAD', '/config');
    expect([status, body]).toEqual([200, '']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('with an id that is no uuid answers 422', async () => {
    const { status, body } = await api.request('GET', '/domains/project/7', {
      key: shop.secretKey,
    });
    expect(status).toBe(422);
    expect(body.error.errors).toEqual([
      { field: 'projectId', code: 'invalid_string', message: expect.any(String) },
    ]);
  });

  it('takes an id in capitals', async () => {
    const path = `/domains/project/${shop.id.toUpperCase()}`;
    expect((await api.request('GET', path, { key: shop.secretKey })).status).toBe(200);
  });

  it.each([
    '/domains/project/%zz',
    '/domains/project/%00',
    '/%',
    '//x',
    '/domains/project/..%2f..',
  ])('that is spoilt like %s answers 4xx', async (path) => {
    const { status, body } = await api.request('GET', path, { key: shop.secretKey });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(body.success).toBe(false);
  });
});

describe('every answer', () => {
  it('repeats X-Request-ID, or makes one', async () => {
    const given = await api.request('GET', '/no', { headers: { 'X-Request-ID': 'abc' } });
    expect([given.headers.get('x-request-id'), given.body.error.requestId]).toEqual(['abc', 'abc']);
    for (const headers of [{}, { 'X-Request-ID': 'x'.repeat(129) }, { 'X-Request-ID': 'é' }]) {
      const made = await api.request('GET', '/config', {
        headers: headers,
      });
      expect(made.headers.get('x-request-id')).toMatch(uuid);
    }
  });

  it('carries the security headers; JSON is not stored', async () => {
    for (const path of ['/health', '/docs', '/no']) {
      const { headers } = await api.request('GET', path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('strict-transport-security')).toBeNull();
      if (path !== '/docs') expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('asks for https, in cookies too, when API_URL is https', async () => {
    const secure = await useApi({ API_URL: 'https://api.shop.example' });
    const made = await secure.request('POST', '/auth/signup', {
      body: { email: 'ada@users.test', password: 'a password' },
    });
    expect(made.headers.get('strict-transport-security')).toMatch(/^max-age=\d+/);
    expect(made.headers.get('set-cookie')).toMatch(/; Secure$/);
  });
});

describe('credentials', () => {
  const listed = (request: TestRequest) =>
    api.request('GET', `/domains/project/${shop.id}`, request);

  it.each([
    ['nothing', {}, 'MISSING_AUTH'],
    ['Basic', { Authorization: 'Basic x' }, 'MISSING_AUTH'],
    ['Bearer alone', { Authorization: 'Bearer' }, 'MISSING_AUTH'],
    ['three words', { Authorization: 'Bearer a b' }, 'MISSING_AUTH'],
    ['a key of no form', { Authorization: 'Bearer x' }, 'INVALID_API_KEY'],
    ['an unknown key', { Authorization: `Bearer sk_${'0'.repeat(64)}` }, 'INVALID_API_KEY'],
    ['a spoilt cookie', { Cookie: 'everpost_session=x' }, 'UNAUTHORIZED'],
  ])('that are %s answer 401', async (_, headers, code) => {
    const { status, body } = await listed({ headers: headers });
    expect([status, body.error.code]).toEqual([401, code]);
  });

  it('that are a public key answer 401 INVALID_API_KEY', async () => {
    const { status, body } = await listed({ key: shop.publicKey });
    expect([status, body.error.code]).toEqual([401, 'INVALID_API_KEY']);
  });

  it('may write bearer in any case, and win over a cookie', async () => {
    const headers = { Authorization: `bEaReR ${shop.secretKey}` };
    expect((await listed({ headers })).status).toBe(200);
    const { status } = await listed({ cookie, key: `sk_${'0'.repeat(64)}` });
    expect(status).toBe(401);
  });

  it('are asked for before the JSON is read', async () => {
    const { status } = await post('{"domain":', { key: `sk_${'0'.repeat(64)}` });
    expect(status).toBe(401);
  });
});

describe('a disabled project', () => {
  it('is read as ever and not written to, whatever the body', async () => {
    const { id, secretKey: key } = await api.createProject((await api.signUp()).cookie);
    await api.db
      .updateTable('project')
      .set({ disabled_reason: 'MANUAL' })
      .where('id', '=', id)
      .execute();
    expect((await api.request('GET', `/domains/project/${id}`, { key })).status).toBe(200);
    for (const body of [newDomain(), '{"domain":', {}]) {
      const refused = await post(body, { key });
      expect([refused.status, refused.body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
      expect(refused.body.error.details).toEqual({ reason: 'MANUAL' });
    }
  });
});

describe('cross-origin requests', () => {
  const preflight = (path: string, origin: string) =>
    api.request('OPTIONS', path, {
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });

  it('may use /v1 from anywhere, without cookies', async () => {
    const { status, headers } = await preflight('/v1/track', 'https://any.example');
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toBe(
      'Content-Type, Authorization, Idempotency-Key, X-Request-ID, Prefer',
    );
    const { headers: answered } = await api.request('POST', '/v1/no', { body: {} });
    expect(answered.get('access-control-allow-origin')).toBe('*');
  });

  it('may use all else from the dashboard, with cookies', async () => {
    for (const path of ['/contacts', '/v1/track']) {
      const { headers } = await preflight(path, 'http://localhost:3000');
      expect(headers.get('access-control-allow-origin')).toBe('http://localhost:3000');
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('access-control-allow-methods')).toContain('PATCH');
      expect(headers.get('access-control-allow-headers')).toContain('X-Project-Id');
    }
  });

  it('get no permission from elsewhere', async () => {
    const { status, headers } = await preflight('/contacts', 'https://any.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string, body: unknown, more: TestRequest = {}) =>
    post(body, { headers: { 'Idempotency-Key': key }, ...more });

  it('answers a repeat with the first answer and does nothing again', async () => {
    const body = newDomain();
    const [key, first] = ['a', await keyed('a', body)];
    const second = await keyed(key, body);
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });

  it('takes the same JSON in another spelling as the same', async () => {
    const { domain } = newDomain();
    await keyed('b', `{"domain":"${domain}","projectId":"${shop.id}"}`);
    const again = await keyed('b', `{ "projectId": "${shop.id}",\n "domain": "${domain}" }`);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('refuses another body with 409 IDEMPOTENCY_KEY_REUSED', async () => {
    await keyed('c', newDomain());
    const { status, body } = await keyed('c', newDomain());
    expect([status, body.error.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect(body.error.details).toEqual({
      key: 'c',
      originalRequest: 'POST /domains',
      originalRequestAt: expect.any(String),
      originalStatusCode: 201,
    });
  });

  it('is free again after a refused request', async () => {
    expect((await keyed('d', { domain: 'x' })).status).toBe(422);
    expect((await keyed('d', newDomain())).status).toBe(201);
  });

  it('lets one of two requests at once through', async () => {
    const body = newDomain();
    const answers = await Promise.all([keyed('e', body), keyed('e', body)]);
    const first = answers.filter(
      ({ status, headers }) => status === 201 && !headers.get('idempotency-replayed'),
    );
    expect(first).toHaveLength(1);
    for (const { status, headers, body: shown } of answers) {
      if (status === 201) continue;
      expect(headers.get('idempotency-replayed')).toBeNull();
      expect([status, shown.error.code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    }
  });

  it('belongs to one project', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    await keyed('f', newDomain());
    const { status, headers } = await keyed('f', newDomain(), { key: other.secretKey });
    expect([status, headers.get('idempotency-replayed')]).toEqual([201, null]);
  });

  it.each(['x'.repeat(256), 'é', 'a\tb'])(
    'that is not 1 to 255 printable ASCII answers 400',
    async (key) => {
      const { status, body } = await keyed(key, newDomain());
      expect([status, body.error.code]).toEqual([400, 'INVALID_IDEMPOTENCY_KEY']);
    },
  );

  it('is new again after its time', async () => {
    const short = await useApi({ IDEMPOTENCY_KEY_TTL_HOURS: '1' });
    const { secretKey: key } = await short.createProject((await short.signUp()).cookie);
    const call = () =>
      short.request('POST', '/domains', {
        key,
        body: { domain: 'a.dev' },
        headers: { 'Idempotency-Key': 'g' },
      });
    await call();
    const age = (minutes: number) =>
      short.db
        .updateTable('idempotency')
        .set({ created_at: new Date(Date.now() - minutes * 60_000) })
        .execute();
    await age(59);
    const replayed = await call();
    await age(61);
    const anew = await call();
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect([anew.status, anew.body.error?.code]).toEqual([409, 'DOMAIN_EXISTS']);
  });
});
