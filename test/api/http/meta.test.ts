import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { endpoints } from '../../../api/endpoints.ts';
import { backgroundState } from '../../../api/services/background.ts';
import { watchDatabase } from '../../../db/watch.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();

const { version } = packageJson;

describe('GET /', () => {
  it('answers name and version', async () => {
    const { status, body } = await api.request('GET', '/');
    expect([status, body]).toEqual([200, { name: 'everpost', version }]);
  });

  it('leads to LANDING_URL when there is one', async () => {
    const landed = await useApi({ LANDING_URL: 'https://shop.example/start' });
    const { status, headers, body } = await landed.request('GET', '/');
    expect([status, headers.get('location'), body]).toEqual([
      302,
      'https://shop.example/start',
      '',
    ]);
  });
});

describe('GET /health', () => {
  it('answers ok without limits', async () => {
    const { status, body } = await api.request('GET', '/health');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'ok',
      time: expect.any(Number),
      environment: 'development',
      uptime: expect.any(Number),
      version,
    });
    expect(Math.abs(Date.now() - body.time)).toBeLessThan(5_000);
  });
});

describe('GET /health/ready', () => {
  it('answers 200 when both answer', async () => {
    const { status, body } = await (await useApi()).request('GET', '/health/ready');
    expect([status, body]).toEqual([
      200,
      { status: 'ok', checks: { database: 'ok', temporal: 'ok', background: 'ok' } },
    ]);
  });

  it('answers 503 and names Temporal when that is away', async () => {
    const broken = await useApi();
    broken.services.temporalAnswers = async () => false;
    const { status, body } = await broken.request('GET', '/health/ready');
    expect([status, body]).toEqual([
      503,
      { status: 'failed', checks: { database: 'ok', temporal: 'failed', background: 'ok' } },
    ]);
  });

  it.each(['late', 'lost'] as const)('answers 200 degraded when the sweep is %s', async (state) => {
    const degraded = await useApi();
    degraded.services.background = async () => state;
    const { status, body } = await degraded.request('GET', '/health/ready');
    expect([status, body]).toEqual([
      200,
      { status: 'degraded', checks: { database: 'ok', temporal: 'ok', background: state } },
    ]);
  });

  it.each([
    ['ok', 'there', 30_000, 3_600_000],
    ['late', 'there', 121_000, 3_600_000],
    ['late', 'there', null, 61_000],
    ['lost', 'gone', 30_000, 3_600_000],
    ['ok', 'gone', null, 59_000],
  ])('is %s in the background when the schedule is %s and the last sweep %s ms old', (...given) => {
    const [state, schedule, sweepAgeMs, uptimeMs] = given;
    const rows = { sweepAgeMs, isRestoring: false, isHolding: false };
    expect(backgroundState({ ...rows, hasSchedule: schedule === 'there', uptimeMs })).toBe(state);
  });

  it('shows a restore at once, and held mail before a repair', () => {
    const known = { hasSchedule: false, sweepAgeMs: null, uptimeMs: 1_000 };
    const stateOf = (isRestoring: boolean, isHolding: boolean) =>
      backgroundState({ ...known, isRestoring, isHolding });
    expect([stateOf(true, false), stateOf(true, true)]).toEqual(['restoring', 'held']);
  });

  it('is restoring while a restore is open', async () => {
    const { rows } = await sql<{ id: string }>`
      insert into restore (kind) values ('temporal_lost') returning id`.execute(api.db);
    const watch = watchDatabase(api.services.config.databaseUrl);
    expect(await watch.readBackground()).toMatchObject({ isRestoring: true, isHolding: false });
    await sql`update restore set ended_at = now() where id = ${rows[0]!.id}`.execute(api.db);
    expect(await watch.readBackground()).toMatchObject({ isRestoring: false });
    await watch.close();
  });

  it('makes only the checks that are asked for', async () => {
    const broken = await useApi();
    broken.services.temporalAnswers = async () => false;
    broken.services.background = async () => 'late';
    const ask = async (checks: string) => {
      const { status, body } = await broken.request('GET', `/health/ready?checks=${checks}`);
      return [status, body];
    };
    expect(await ask('database')).toEqual([200, { status: 'ok', checks: { database: 'ok' } }]);
    expect(await ask('background,database')).toEqual([
      200,
      { status: 'degraded', checks: { database: 'ok', background: 'late' } },
    ]);
    expect(await ask('temporal')).toEqual([
      503,
      { status: 'failed', checks: { temporal: 'failed' } },
    ]);
  });

  it.each(['x', '', 'database,', 'database,x'])('refuses the checks "%s"', async (checks) => {
    const { status, body } = await api.request('GET', `/health/ready?checks=${checks}`);
    expect([status, body.error.errors[0].field]).toEqual([422, 'checks']);
  });

  it.each([
    ['lacks a migration', "delete from kysely_migration where name like '%restores'"],
    ['must not be written', 'alter database %I set default_transaction_read_only = on'],
  ])('finds that a database fails which %s', async (_, change) => {
    const own = await useApi();
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(own.db);
    await sql.raw(change.replace('%I', `"${rows[0]!.name}"`)).execute(own.db);
    const watch = watchDatabase(own.services.config.databaseUrl);
    expect(await watch.answers()).toBe(false);
    await watch.close();
  });

  it('answers 503 and names the database when that is away; /health answers on', async () => {
    const broken = await useApi({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    const [ready, alive, asked] = await Promise.all([
      broken.request('GET', '/health/ready'),
      broken.request('GET', '/health'),
      broken.request('POST', '/v1/track', { key: `sk_${'0'.repeat(64)}`, body: {} }),
    ]);
    expect([ready.status, ready.body]).toEqual([
      503,
      { status: 'failed', checks: { database: 'failed', temporal: 'ok', background: 'ok' } },
    ]);
    expect(alive.status).toBe(200);
    expect([asked.status, asked.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  });
});

describe('GET /config', () => {
  it('answers exactly these keys in local mode', async () => {
    const { status, headers, body } = await api.request('GET', '/config');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(body).toEqual({
      environment: 'development',
      urls: { api: api.url, dashboard: `${api.url}/console`, landing: null, wiki: null },
      features: {
        billing: { enabled: false },
        storage: { s3Enabled: true },
        authProviders: { github: false, google: false },
        email: {
          trackingToggleEnabled: true,
          mode: 'local',
          transport: 'mailbox',
          feedback: 'mailbox',
          deliveryReports: true,
        },
        smtp: { enabled: false, domain: null, ports: null },
        signups: { enabled: true },
      },
      aws: { sesRegion: null },
    });
  });

  it('shows the settings of an installation and no secret', async () => {
    const secrets = {
      AWS_SES_ACCESS_KEY_ID: 'AKIAEXAMPLE',
      AWS_SES_SECRET_ACCESS_KEY: 'wJalrX',
      STRIPE_SECRET_KEY: 'sk_test_example',
      STRIPE_WEBHOOK_SECRET: 'whsec_example',
      STRIPE_PRICE_ONBOARDING: 'price_onboarding',
      STRIPE_PRICE_EMAIL_USAGE: 'price_usage',
      GITHUB_OAUTH_CLIENT: 'client-example',
      GITHUB_OAUTH_SECRET: 'secret-example',
    };
    const hosted = await useApi({
      ...secrets,
      AWS_SES_REGION: 'eu-west-1',
      DISABLE_SIGNUPS: '1',
      DOCS_URL: 'https://docs.shop.example',
    });
    const { body } = await hosted.request('GET', '/config');
    const { jwtSecret, databaseUrl } = hosted.services.config;
    expect(body).toMatchObject({
      urls: { wiki: 'https://docs.shop.example' },
      features: {
        billing: { enabled: true },
        authProviders: { github: true, google: false },
        email: {
          mode: 'ses',
          trackingToggleEnabled: true,
          transport: 'ses',
          feedback: 'ses',
          deliveryReports: true,
        },
        signups: { enabled: false },
      },
      aws: { sesRegion: 'eu-west-1' },
    });
    for (const secret of [...Object.values(secrets), jwtSecret, databaseUrl]) {
      expect(JSON.stringify(body)).not.toContain(secret);
    }
  });
});

describe('the documentation', () => {
  it('describes every endpoint as OpenAPI 3.1', async () => {
    const { status, body } = await api.request('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      openapi: '3.1.0',
      servers: [{ url: api.url }],
      info: { version },
    });
    const described = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(
      endpoints.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
  });

  it('builds the description once, not for each request', async () => {
    const { status, headers } = await api.request('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { handle } = endpoints.find(({ id }) => id === 'getOpenApi')!;
    const call = { config: { apiUrl: 'https://api.example' } } as Parameters<typeof handle>[0];
    await handle(call);
    const before = process.cpuUsage();
    for (let n = 0; n < 100; n += 1) await handle(call);
    // These would take ten seconds if each were built anew.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  });

  it('shows it as a page that asks no other host', async () => {
    const { status, headers, body } = await api.request('GET', '/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const files = [...(body as string).matchAll(/(?:src|href)="([^"#]+)"/g)].map(
      (match) => match[1],
    );
    expect(files).toEqual(expect.arrayContaining(['/openapi.json', '/docs/reference']));
    for (const file of files) {
      expect(file).toMatch(/^\/[^/]/);
      expect((await api.request('GET', file ?? '')).status).toBe(200);
    }
  });

  it('serves no other file beside the page', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'constructor']) {
      expect((await api.request('GET', `/docs/assets/${name}`)).status).toBe(404);
    }
  });
});
