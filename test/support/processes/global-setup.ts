import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestProject } from 'vitest/node';

import { migrateToLatest } from '../../../db/migrate.ts';
import { buildConsole } from '../../../dev/builds/console.ts';
import { announced } from '../../../dev/servers/progress.ts';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { startPostgres } from '../../../dev/servers/postgres.ts';
import { startTemporal } from '../../../dev/servers/temporal.ts';
import { bundleWorkflows } from '../../../worker/bundle.ts';
import { databaseAt, execute, template } from '../servers.ts';

/** Cleanup functions of a run, called in reverse order. */
const undo: (() => Promise<void>)[] = [];

/**
 * Gives a test run one PostgreSQL and one Temporal server: those of TEST_DATABASE_URL and
 * TEST_TEMPORAL_ADDRESS, otherwise new ones, which end with the run.
 */
export async function setup(project: TestProject): Promise<void> {
  try {
    const [databaseUrl, address, bundle] = await Promise.all([
      database(),
      temporal(),
      bundled(),
      buildConsole(),
    ]);
    await execute(databaseUrl, `drop database if exists ${template} with (force)`);
    await execute(databaseUrl, `create database ${template}`);
    await migrateToLatest(databaseAt(databaseUrl, template));
    project.provide('databaseUrl', databaseUrl);
    project.provide('temporalAddress', address);
    project.provide('workflowBundle', bundle);
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** Stops what `setup` started. */
export async function teardown(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

async function database(): Promise<string> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return given;
  const dataDir = await mkdtemp(join(tmpdir(), 'everpost-test-'));
  undo.push(() => rm(dataDir, { recursive: true, force: true }));
  // If this process runs as root, the server runs as another user, who must be able to enter the
  // folder.
  await chmod(dataDir, 0o755);
  const { port, release } = await claimFreePort();
  undo.push(release);
  const server = await announced(
    () => 'PostgreSQL',
    startPostgres({ dataDir: join(dataDir, 'postgres'), port, log: quiet, disposable: true }),
    say,
  );
  undo.push(server.stop);
  return server.url;
}

async function temporal(): Promise<string> {
  const given = process.env['TEST_TEMPORAL_ADDRESS'];
  if (given) return given;
  const [frontend, ui] = [await claimFreePort(), await claimFreePort()];
  undo.push(frontend.release, ui.release);
  const server = await announced(
    () => 'Temporal',
    startTemporal({
      dataDir: null,
      port: frontend.port,
      uiPort: ui.port,
      log: quiet,
      onNotice: say,
    }),
    say,
  );
  undo.push(server.stop);
  return server.address;
}

/** Bundles the workflow code of workers, once for all test files. */
async function bundled(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'everpost-bundle-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, 'workflows.js');
  await writeFile(path, (await bundleWorkflows()).code);
  return path;
}

// Prints nothing, because the error of a failed start contains the last lines.
function quiet(): void {}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
