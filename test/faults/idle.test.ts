import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { useDnsServer } from '../support/fakes/dns-server.ts';
import { useLaptop } from '../support/processes/npm-start.ts';
import { stackPids } from '../support/servers.ts';
import { use } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

const dns = await useDnsServer();
const laptop = await useLaptop();
await laptop.start({ DNS_SERVERS: dns.address }).ready();
const connection = use(
  await Connection.connect({ address: `127.0.0.1:${laptop.env['TEMPORAL_PORT']}` }),
);
const temporal = new Client({ connection });

/** How long the stack is watched, in milliseconds: two sweeps. */
const watchedMs = 60_000;

async function call(method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const response = await fetch(`http://127.0.0.1:${laptop.env['PORT']}${path}`, {
    method,
    headers:
      body instanceof FormData ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return { body: JSON.parse(await response.text()), cookie: response.headers.get('set-cookie') };
}

/** Creates work of every kind in a project: mail, campaigns, waits, jobs. */
async function useProject(cookie: string, name: string): Promise<void> {
  const { body: project } = await call('POST', '/users/@me/projects', { cookie }, { name });
  const key = { authorization: `Bearer ${project.secret}` };
  const post = async (path: string, body: unknown) => (await call('POST', path, key, body)).body;
  const from = `team@${name}.test`;
  await post('/domains', { domain: `${name}.test` });
  // The DNS records of this domain are never published, so it is checked again and again.
  await post('/domains', { domain: `${name}-idle.dev` });
  await post('/v1/send', { to: `ada@${name}.example`, from, subject: 'Hi', body: '<p>Hi</p>' });

  const { id: workflow } = await post('/workflows', { name: 'Wait', eventName: 'joined' });
  const step = { type: 'DELAY', name: 'A day', config: { amount: 1, unit: 'days' } };
  await post(`/workflows/${workflow}/steps`, step);
  await call('PATCH', `/workflows/${workflow}`, key, { enabled: true });
  await post('/v1/track', { email: `ada@${name}.example`, event: 'joined', subscribed: true });

  const campaign = { subject: 'News', body: '<p>News</p>', from, audienceType: 'ALL' };
  for (const scheduledFor of [undefined, new Date(Date.now() + 86_400_000).toISOString()]) {
    const { data } = await post('/campaigns', { name: 'News', ...campaign });
    await post(`/campaigns/${data.id}/send`, { scheduledFor });
  }
  const file = new FormData();
  file.append(
    'file',
    new File([`email\nbo@${name}.example\n`], 'people.csv', { type: 'text/csv' }),
  );
  await post('/contacts/import', file);
  await post('/contacts/bulk-subscribe', { mode: 'query', filter: {} });
}

/** Returns the open runs by id, with the length of their histories. */
async function openRuns(): Promise<Map<string, number>> {
  const runs = new Map<string, number>();
  for await (const run of temporal.workflow.list({ query: `ExecutionStatus = 'Running'` })) {
    runs.set(run.workflowId, run.historyLength);
  }
  return runs;
}

const isSweep = (id: string) => id.startsWith('sweep');
const lasting = async () => [...(await openRuns())].filter(([id]) => !isSweep(id)).toSorted();

/**
 * Seconds of CPU that a process has used so far (proc(5): utime and stime, in ticks of 10 ms); 0
 * where there is no proc file system.
 */
async function cpuSeconds(pid: number): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

it('an idle stack rests: ended runs are closed, waiting ones write nothing, and no process is busy', async () => {
  const user = { email: 'ada@shop.example', password: 'correct-horse-battery' };
  const { cookie } = await call('POST', '/auth/signup', {}, user);
  for (const name of ['one', 'two', 'three']) await useProject(cookie!.split(';')[0]!, name);

  // Delivery runs stay for an idle minute; campaigns and jobs end with their work. Waiting runs
  // stay.
  const kinds = (runs: [string, number][]) => runs.map(([id]) => id.replace(/-.*/, ''));
  const expected = ['campaign', 'domain', 'domain', 'execution'];
  await waitFor(
    'what is done to be closed',
    async () => {
      const open = kinds(await lasting());
      return open.length === 3 * expected.length && open;
    },
    75_000,
  );
  const before = await lasting();
  expect(new Set(kinds(before))).toEqual(new Set(expected));

  const pids = await stackPids(laptop.dataDir);
  const busy = [pids['api']!, pids['worker']!, pids['temporal']!];
  const used = async () => {
    const seconds = await Promise.all(busy.map(cpuSeconds));
    return seconds.reduce((sum, each) => sum + each, 0);
  };
  const usedBefore = await used();
  const since = new Date().toISOString();
  await sleep(watchedMs);
  const share = ((await used()) - usedBefore) / (watchedMs / 1000);

  expect(await lasting()).toEqual(before);
  const started: string[] = [];
  for await (const run of temporal.workflow.list({ query: `StartTime > '${since}'` })) {
    started.push(run.workflowId);
  }
  expect(started.filter((id) => !isSweep(id))).toEqual([]);
  // Without a proc file system nothing is measured. Usual values are 0.02 to 0.045, most of it two
  // sweeps.
  expect(share).toBeLessThan(0.06);
}, 300_000);
