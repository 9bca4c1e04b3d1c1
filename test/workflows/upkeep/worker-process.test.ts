import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { findTemporal } from '../../../dev/servers/temporal-binary.ts';
import { useEngine } from '../../support/engine.ts';
import { useTcpProxy } from '../../support/fakes/tcp-proxy.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import { root } from '../../support/processes/npm-start.ts';
import { startWorkerProcess, useWorkerProcess } from '../../support/processes/processes.ts';
import { databaseBehind, temporalAddress } from '../../support/servers.ts';
import { atEnd, useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({}, { worker: false });

const waiting = (eventName: string) => ({
  steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName } }],
});

it('takes tasks while its version is the current one, and answers for its health', async () => {
  const deployment = `everpost-${randomUUID()}`;
  const temporal = await findTemporal({ env: process.env, onNotice: () => {} });
  const makeCurrent = async (version: string) => {
    const which = ['--deployment-name', deployment, '--build-id', version];
    const args = ['worker', 'deployment', 'set-current-version', ...which, '--yes'];
    // Temporal knows a version some seconds after its workers have begun to poll.
    await waitFor(`version ${version} to be current`, () =>
      promisify(execFile)(temporal, [...args, '--address', temporalAddress()]).catch(() => null),
    );
  };
  const start = (version: string, more: Record<string, string> = {}) =>
    useWorkerProcess(engine, {
      TEMPORAL_DEPLOYMENT_NAME: deployment,
      TEMPORAL_WORKER_BUILD_ID: version,
      ...more,
    });
  const { port, release } = await claimFreePort();
  atEnd(release);
  const health = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/health/${path}`);
    return [response.status, await response.json()];
  };
  const { databaseUrl } = engine.api.services.config;
  const line = await useTcpProxy(new URL(databaseUrl).host);
  const first = await beginExecution(engine, waiting('first'));
  const handle = engine.temporal.client.workflow.getHandle(`execution-${first.id}`);
  const inVersion = (version: string) =>
    waitFor(`a task done by version ${version}`, async () => {
      const { raw } = await handle.describe();
      const info = raw.workflowExecutionInfo?.versioningInfo;
      return info?.deploymentVersion?.buildId === version;
    });
  await Promise.all([
    start('one'),
    start('two', {
      DATABASE_URL: databaseBehind(line.address, databaseUrl),
      WORKER_HEALTH_PORT: String(port),
      HOST: '127.0.0.1',
    }),
  ]);
  expect(await health('live')).toEqual([200, { status: 'ok' }]);
  const checks = { workers: 'ok', database: 'ok', temporal: 'ok' };
  expect(await health('ready')).toEqual([200, { status: 'ok', checks }]);
  expect((await health('other'))[0]).toBe(404);

  await makeCurrent('one');
  await inVersion('one');
  await first.until('WAITING');
  await makeCurrent('two');
  await engine.call('POST', '/v1/track', { email: first.email, event: 'first' });
  await first.until('COMPLETED');
  await inVersion('two');

  line.mode = 'silent';
  expect(await health('ready')).toEqual([
    503,
    { status: 'failed', checks: { ...checks, database: 'failed' } },
  ]);
  expect(await health('live')).toEqual([200, { status: 'ok' }]);
  line.mode = 'open';
}, 180_000);

it('is refused where it cannot continue an open run, with a sentence', async () => {
  const home = await useFolder();
  const rooms = ['activities', 'api', 'db', 'domain', 'providers', 'worker', 'workflows'];
  const files = (await readdir(root)).filter((name) => /\.(ts|json)$/.test(name));
  for (const name of [...rooms, ...files]) {
    await cp(join(root, name), join(home, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(home, 'node_modules'));
  const file = join(home, 'workflows/execution.ts');
  const source = await readFile(file, 'utf8');
  const changed = source.replace('const result =', "await sleep('1 second');\n$&");
  expect(changed).not.toBe(source);
  await writeFile(file, changed);

  const other = await useEngine();
  const run = await beginExecution(other, waiting('never'));
  await run.until('WAITING');
  await waitFor('the run to be found', async () => {
    const query = `WorkflowId = 'execution-${run.id}'`;
    return (await other.temporal.client.workflow.count(query)).count > 0;
  });
  await expect(startWorkerProcess(other, {}, { folder: home })).rejects.toThrow(
    new RegExp(
      `exit code 1[^]*This version cannot continue execution-${run.id} \\(run [\\w-]+\\), which is ` +
        'open: at WAIT_FOR_EVENT "Wait" \\(event \\d+\\): [^]* Start the workers of the last release again',
    ),
  );
  const forced = await startWorkerProcess(
    other,
    { WORKER_REPLAY_OPEN_RUNS: 'false' },
    { folder: home },
  );
  expect(await forced.stop()).toBe('exit code 0');
}, 180_000);
