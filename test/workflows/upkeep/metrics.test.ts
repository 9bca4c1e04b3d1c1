import { expect, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { declaredMetrics } from '../../../providers/metrics/declared.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { useEngine } from '../../support/engine.ts';
import { namedOfSdk } from '../../support/exposed.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import {
  startApiProcess,
  useApiProcess,
  useWorkerProcess,
} from '../../support/processes/processes.ts';
import { atEnd, useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({}, { worker: false });

async function freePort(): Promise<number> {
  const { port, release } = await claimFreePort();
  await release();
  return port;
}

const folder = await useFolder();
const ports = { api: await freePort(), worker: await freePort() };
const [api] = await Promise.all([
  useApiProcess(engine, { METRICS_PORT: String(ports.api), EVERPOST_DATA_DIR: folder }),
  useWorkerProcess(engine, { METRICS_PORT: String(ports.worker), EVERPOST_DATA_DIR: folder }),
]);

type Samples = Map<string, { labels: Record<string, string>; value: number }[]>;

/** Returns the samples by name. Anything but Prometheus's text format is an error. */
function parse(text: string): Samples {
  const types = new Map<string, string>();
  const samples: Samples = new Map();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.*)$/.exec(line);
    if (comment) {
      const [, kind = '', name = '', rest = ''] = comment;
      if (kind === 'TYPE') {
        expect(types.has(name), `${name} twice`).toBe(false);
        types.set(name, rest);
      }
      continue;
    }
    const sample =
      /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?|[Nn]a[Nn]|[+-]?Inf)$/.exec(line);
    expect(sample, line).not.toBeNull();
    const [, name = '', inBraces = '', value = ''] = sample ?? [];
    const family = name.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(name) || types.has(family), line).toBe(true);
    const labels = Object.fromEntries(
      [...inBraces.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text_]) => [key, text_]),
    );
    samples.set(name, [...(samples.get(name) ?? []), { labels, value: Number(value) }]);
  }
  return samples;
}

async function scrape(part: keyof typeof ports): Promise<{ text: string; samples: Samples }> {
  const response = await fetch(`http://127.0.0.1:${ports[part]}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  const text = await response.text();
  return { text, samples: parse(text) };
}

/** Our metrics of a process that have samples at once; the others appear with their first event. */
const metricsOf = (part: 'api' | 'worker') =>
  Object.entries(declaredMetrics).flatMap(([name, { of, type, labels = [] }]) =>
    of === 'all' || of === 'each' || (of === part && (type === 'gauge' || labels.length === 0))
      ? `everpost_${name}`
      : [],
  );

it('shows what a process does and what waits, without data of its tenants', async () => {
  const email = 'ada@metrics.example';
  const from = `team@${engine.domain}`;
  const sent = await api.call('POST', '/v1/send', { to: email, from, subject: 'S', body: '<p>' });
  expect(sent.status).toBe(200);
  await api.call('GET', `/contacts/${sent.body.data.emails[0].contact.id}`, undefined);
  await fetch(`${api.url}/no/such/path/${email}`);
  await engine.mailsTo(email, 1);
  const { id, until } = await beginExecution(engine, {
    steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'later' } }],
  });
  const failing = await beginExecution(engine, {
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: 'http://10.0.0.1/', onFailure: 'fail' } },
    ],
  });
  await failing.until('FAILED');
  // Each new step ends the stuck state.
  await until('WAITING');
  await engine.api.db
    .updateTable('execution')
    .set({ stuck_since: new Date(Date.now() - 600_000), stuck_reason: 'by hand' })
    .where('id', '=', id)
    .execute();

  const ofWorker = await waitFor(
    'a sweep',
    async () => {
      const read = await scrape('worker');
      return read.samples.has('everpost_sweep_age_seconds') && read;
    },
    45_000,
  );
  const ofApi = await waitFor('the API to see it', async () => {
    const read = await scrape('api');
    return read.samples.has('everpost_sweep_age_seconds') && read;
  });

  for (const [part, { samples }] of [
    ['api', ofApi],
    ['worker', ofWorker],
  ] as const) {
    expect(metricsOf(part).filter((name) => !samples.has(name))).toEqual([]);
    expect(samples.has('everpost_nodejs_eventloop_lag_p99_seconds')).toBe(true);
    expect([...samples.keys()].filter((name) => !name.startsWith('everpost_'))).toEqual([]);
    expect(samples.get('everpost_database_up')).toEqual([{ labels: {}, value: 1 }]);
    expect(samples.get('everpost_executions_stuck')).toEqual([{ labels: {}, value: 1 }]);
    const age = samples.get('everpost_executions_stuck_age_seconds')?.[0]?.value;
    expect(age).toBeGreaterThan(599);
    expect(samples.get('everpost_queue_workers')).toHaveLength(6);
    expect(samples.get('everpost_sweep_age_seconds')?.[0]?.value).toBeLessThan(120);
    const offset = samples
      .get('everpost_clock_offset_seconds')
      ?.find(({ labels }) => labels['to'] === 'database');
    expect(Math.abs(offset?.value ?? Infinity)).toBeLessThan(1);
    const tables = samples.get('everpost_table_bytes') ?? [];
    expect(tables).toHaveLength(30);
    expect(tables.every(({ value }) => value > 0)).toBe(true);
    const ofAllTables = samples.get('everpost_database_bytes')?.[0]?.value ?? 0;
    expect(ofAllTables).toBeGreaterThan(tables.reduce((sum, { value }) => sum + value, 0));
    expect(samples.get('everpost_temporal_retention_seconds')?.[0]?.value).toBeGreaterThan(0);
    const [build] = samples.get('everpost_build_info') ?? [];
    expect(build?.labels).toEqual({ version: packageJson.version, node: process.version });
  }
  expect(ofWorker.samples.get('everpost_clock_offset_seconds')).toHaveLength(2);
  const requests = ofApi.samples.get('everpost_http_requests_total') ?? [];
  expect(requests).toEqual(
    expect.arrayContaining([
      { labels: { method: 'POST', route: '/v1/send', status: '200' }, value: 1 },
      { labels: { method: 'GET', route: '/contacts/{id}', status: '200' }, value: 1 },
      { labels: { method: 'other', route: 'none', status: '404' }, value: 1 },
    ]),
  );
  expect(ofApi.samples.has('everpost_http_request_duration_seconds_bucket')).toBe(true);
  expect(ofWorker.samples.get('everpost_email_outcomes_total')).toEqual([
    { labels: { provider: 'mailbox', outcome: 'accepted' }, value: 1 },
  ]);
  expect(ofWorker.samples.get('everpost_workflow_task_failures_total')?.[0]?.value).toBe(0);
  expect(ofWorker.samples.get('everpost_executions_failed_total')?.[0]?.value).toBe(1);
  expect(ofWorker.samples.get('everpost_activities_total')).toContainEqual({
    labels: { queue: `${engine.taskQueue}-mail`, result: 'completed' },
    value: expect.any(Number),
  });
  const ofSdk = [...ofWorker.samples.keys()].filter((name) =>
    name.startsWith('everpost_temporal_'),
  );
  expect(ofSdk).toEqual(expect.arrayContaining([...namedOfSdk]));

  for (const { text } of [ofApi, ofWorker]) {
    const { id: projectId, secretKey, publicKey } = engine.project;
    for (const secret of ['@', secretKey, publicKey, projectId, engine.domain, 'metrics.example']) {
      expect(text).not.toContain(secret);
    }
  }
});

it('is not served on the port of the API, and a port is for one process', async () => {
  expect((await fetch(`${api.url}/metrics`)).status).toBe(404);
  expect((await fetch(`http://127.0.0.1:${ports.api}/health`)).status).toBe(404);
  const second = startApiProcess(engine, { METRICS_PORT: String(ports.api) });
  atEnd(() => second.catch(() => {}));
  await expect(second).rejects.toThrow(
    `Port ${ports.api} is in use by another program. Stop that program, or set METRICS_PORT`,
  );
});
