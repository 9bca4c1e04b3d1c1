import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { Connection } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { claimFreePort } from '../../../dev/servers/ports.ts';
import { findTemporal } from '../../../dev/servers/temporal-binary.ts';
import { startTemporal, temporalArguments } from '../../../dev/servers/temporal.ts';
import { listen, use, useFolder } from '../../support/use.ts';

const description = await readFile(join(import.meta.dirname, '../../../temporal-dev.yml'), 'utf8');
const directory = await useFolder();

describe('temporal-dev.yml', () => {
  it('publishes its ports on this machine only', () => {
    const { ports } = parse(description).services.temporal;
    expect(ports).toEqual(['127.0.0.1:7233:7233', '127.0.0.1:8233:8233']);
  });

  it('is the command that is run, with addresses, ports and paths put in', () => {
    const { command } = parse(description).services.temporal as { command: string[] };
    const options = { dataDir: '/data/here', port: 1234, uiPort: 2345 };
    const args = temporalArguments(description, options);
    expect(args.slice(0, 2)).toEqual(['server', 'start-dev']);
    expect(args.filter((arg) => !command.includes(arg))).toEqual([
      '--ip=127.0.0.1',
      '--port=1234',
      '--ui-port=2345',
      '--db-filename=/data/here/temporal.db',
    ]);
    expect(args).toHaveLength(command.length);
  });

  it('keeps everything in memory without a data directory', () => {
    const args = temporalArguments(description, { dataDir: null, port: 1, uiPort: 2 });
    expect(args.join(' ')).not.toContain('db-filename');
  });

  it('refuses a description whose command lost an option', () => {
    const changed = description.replace('--ui-port=8233', '--headless');
    expect(() => temporalArguments(changed, { dataDir: null, port: 1, uiPort: 2 })).toThrow(
      'lacks --ui-port=',
    );
  });
});

describe('startTemporal', () => {
  it('starts a server that has the namespace and its search attributes', async () => {
    const [frontend, ui] = [await claimFreePort(), await claimFreePort()];
    const server = await startTemporal({
      dataDir: join(directory, 'data'),
      port: frontend.port,
      uiPort: ui.port,
      namespace: 'shop',
      log: () => undefined,
    });
    try {
      const connection = await Connection.connect({ address: server.address });
      const { customAttributes } = await connection.operatorService.listSearchAttributes({
        namespace: 'shop',
      });
      await connection.close();
      expect(Object.keys(customAttributes ?? {})).toEqual(
        expect.arrayContaining([
          'ProjectId',
          'ContactId',
          'CustomerWorkflowId',
          'CustomerWorkflowStatus',
          'ProjectName',
          'WorkflowName',
          'ExecutionKey',
          'FailedStep',
        ]),
      );
      expect((await fetch(server.uiUrl)).status).toBe(200);
    } finally {
      await server.stop();
      await frontend.release();
      await ui.release();
    }
  });
});

describe('findTemporal', async () => {
  let answer: Buffer | null = null;
  const downloads = createServer((_request, response) => {
    if (answer) response.end(answer);
    else response.writeHead(503).end();
  });
  const { url: origin } = use(await listen(downloads));

  /** Creates a directory with one small program. */
  async function withProgram(name: string, script: string): Promise<string> {
    const place = await useFolder();
    await writeFile(join(place, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(place, name), 0o755);
    return place;
  }

  /** Searches with an empty cache, and only with the programs that every system has. */
  async function search(env: NodeJS.ProcessEnv) {
    const notices: string[] = [];
    const cache = await useFolder();
    const all = { PATH: '/usr/bin:/bin', XDG_CACHE_HOME: cache, ...env };
    const find = () =>
      findTemporal({ env: all, downloads: origin, onNotice: (one) => notices.push(one) });
    return { find, notices, cached: join(cache, 'everpost/temporal-1.5.1/temporal') };
  }

  it('takes TEMPORAL_CLI first', async () => {
    const cli = join(await withProgram('mine', 'true'), 'mine');
    const onPath = await withProgram('temporal', 'true');
    const { find } = await search({ TEMPORAL_CLI: cli, PATH: onPath });
    expect(await find()).toBe(cli);
  });

  it('refuses a TEMPORAL_CLI that is no program', async () => {
    const { find } = await search({ TEMPORAL_CLI: '/nowhere/temporal' });
    await expect(find()).rejects.toThrow('TEMPORAL_CLI=/nowhere/temporal is not a program');
  });

  it('takes the one on the PATH next, then the one in the cache', async () => {
    const onPath = await withProgram('temporal', 'true');
    expect(await (await search({ PATH: onPath })).find()).toBe(join(onPath, 'temporal'));

    const { find, cached } = await search({});
    await mkdir(join(cached, '..'), { recursive: true });
    await writeFile(cached, '#!/bin/sh\n', { mode: 0o755 });
    expect(await find()).toBe(cached);
  });

  it('downloads it into the cache, once for two starts at the same moment', async () => {
    const packed = await withProgram('temporal', 'echo "temporal version 1.5.1"');
    answer = execFileSync('tar', ['-czf', '-', '-C', packed, 'temporal']);
    const { find, notices, cached } = await search({});
    expect(await Promise.all([find(), find()])).toEqual([cached, cached]);
    expect(notices.filter((one) => one.startsWith('Downloading'))).toHaveLength(1);
    answer = null;
  });

  it('builds it with Go where the download cannot be had', async () => {
    const go = await withProgram(
      'go',
      'echo "$@" > "$GOBIN/temporal.args"; printf "#!/bin/sh\\n" > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"',
    );
    const { find, notices, cached } = await search({ PATH: `${go}:/usr/bin:/bin` });
    expect(await find()).toBe(cached);
    expect(notices.join(' ')).toMatch(/download failed \(it answered 503\).*Go.*2 to 4 minutes/);
  });

  it('says what to do when nothing works', async () => {
    const { find } = await search({});
    await expect(find()).rejects.toThrow(
      /^Temporal is not installed .* \(it answered 503\)\. Install .* TEMPORAL_CLI .* TEMPORAL_ADDRESS/,
    );
  });
});
