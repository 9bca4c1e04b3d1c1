import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { ClockOffset } from '../../../providers/metrics/clock-offset.ts';
import { Metrics, type Reading } from '../../../providers/metrics/metrics.ts';
import { serveMetricsPort } from '../../../providers/metrics/server.ts';
import { listen } from '../../../providers/listening.ts';
import { atEnd } from '../../support/use.ts';

const local = { host: '127.0.0.1', token: null, otherPorts: 0 };

async function serve(settings: { token?: string }): Promise<string> {
  const { port, release } = await claimFreePort();
  await release();
  const given = { ...local, ...settings, port };
  const server = await serveMetricsPort({ metrics: new Metrics() }, given);
  atEnd(() => server.close());
  return `http://127.0.0.1:${server.port}/metrics`;
}

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  await listen(server, { name: 'PORT', port, host: '127.0.0.1' });
  atEnd(() => void server.close());
  return server;
}

describe('the endpoint', () => {
  it('answers everyone without a token, and only to GET /metrics', async () => {
    const url = await serve({});
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${url}/x`)).status).toBe(404);
  });

  it.each([
    [undefined, 401],
    ['Bearer another-token-of-more-letters', 401],
    ['a-token-of-many-letters', 401],
    ['Bearer ', 401],
    ['Bearer a-token-of-many-letters', 200],
  ])('with a token answers the header %j with %i', async (header, status) => {
    const url = await serve({ token: 'a-token-of-many-letters' });
    const answer = await fetch(
      url,
      header === undefined ? {} : { headers: { Authorization: header } },
    );
    expect(answer.status).toBe(status);
    const text = await answer.text();
    expect(text.includes('everpost_')).toBe(status === 200);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  });

  it('takes the next free port if it may, else refuses to start', async () => {
    const { port, release } = await claimFreePort();
    await release();
    await occupy(port);
    const metrics = new Metrics();
    await expect(serveMetricsPort({ metrics }, { ...local, port })).rejects.toThrow(
      `Port ${port} is in use by another program. Stop that program, or set METRICS_PORT`,
    );
    const other = await serveMetricsPort(
      { metrics: new Metrics() },
      { ...local, port, otherPorts: 9 },
    );
    atEnd(() => other.close());
    expect(other.port).toBeGreaterThan(port);
    expect(other.port).toBeLessThanOrEqual(port + 9);
    expect((await fetch(`http://127.0.0.1:${other.port}/metrics`)).status).toBe(200);
  });
});

describe('readings', () => {
  afterEach(() => vi.restoreAllMocks());

  it('are reused for five seconds, or longer, and read again soon after a failure', async () => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const metrics = new Metrics();
    const read = vi.fn((): Reading[] => [{ name: 'email_due', value: 3 }]);
    const sizes = vi.fn((): Reading[] => [{ name: 'database_bytes', value: 5 }]);
    metrics.addReadings(read, { up: 'database_up' });
    metrics.addReadings(sizes, { everyMs: 3_600_000 });
    await metrics.text();
    await metrics.text();
    expect([read.mock.calls.length, sizes.mock.calls.length]).toEqual([1, 1]);
    now += 6_000;
    await metrics.text();
    expect([read.mock.calls.length, sizes.mock.calls.length]).toEqual([2, 1]);
    now += 3_600_000;
    sizes.mockImplementation(() => {
      throw new Error('away');
    });
    expect(await metrics.text()).not.toMatch(/^everpost_database_bytes /m);
    now += 6_000;
    sizes.mockImplementation(() => [{ name: 'database_bytes', value: 7 }]);
    expect(await metrics.text()).toMatch(/^everpost_database_bytes 7$/m);
  });

  it('are missing while their source fails, also with labels', async () => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const metrics = new Metrics();
    const labels = { reason: 'quiet_hours' };
    let isAway = false;
    metrics.addReadings(
      () => {
        if (isAway) throw new Error('away');
        return [{ name: 'email_held', labels, value: 2 }];
      },
      { up: 'database_up' },
    );
    expect(await metrics.text()).toContain('everpost_email_held{reason="quiet_hours"} 2');
    isAway = true;
    now += 6_000;
    const text = await metrics.text();
    expect(text).not.toContain('everpost_email_held{');
    expect(text).toContain('everpost_database_up 0');
  });

  it('of one gauge may come from two sources', async () => {
    const metrics = new Metrics();
    for (const to of ['database', 'temporal']) {
      metrics.addReadings(() => [{ name: 'clock_offset_seconds', labels: { to }, value: 1 }]);
    }
    const text = await metrics.text();
    expect(text).toContain('everpost_clock_offset_seconds{to="database"} 1');
    expect(text).toContain('everpost_clock_offset_seconds{to="temporal"} 1');
  });
});

describe('the offset of a clock', () => {
  const minute = 60_000;

  it('is the smallest difference of the last minutes, because messages take time', () => {
    const clock = new ClockOffset();
    for (const delay of [700, 40, 5_000]) clock.observe(10 * minute + delay, 10 * minute - 3_000);
    expect(clock.read(11 * minute)).toBe(3_040);
  });

  it('is negative if this machine is behind', () => {
    const clock = new ClockOffset();
    clock.observe(10 * minute, 10 * minute + 2_500);
    expect(clock.read(10 * minute)).toBe(-2_500);
  });

  it('follows a corrected clock, and is unknown without messages', () => {
    const clock = new ClockOffset();
    expect(clock.read(minute)).toBeNull();
    clock.observe(10 * minute, 12 * minute);
    clock.observe(16 * minute, 16 * minute);
    expect(clock.read(16 * minute)).toBe(-2 * minute);
    clock.observe(22 * minute, 22 * minute - 10);
    expect(clock.read(22 * minute)).toBe(0);
    expect(clock.read(60 * minute)).toBeNull();
  });
});
