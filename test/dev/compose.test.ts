import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { settingDefaults } from '../../config.ts';
import { importsOf } from '../support/imports.ts';
import { root } from '../support/processes/npm-start.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { useEngine } from '../support/engine.ts';
import { useFolder } from '../support/use.ts';
import { newAddress } from '../support/projects/shop.ts';

/** Checks Dockerfile, .dockerignore and compose.yml as far as possible without Docker. */

interface Service {
  image: string;
  environment: Record<string, string>;
  env_file?: { path: string }[];
  cap_drop?: string[];
  security_opt?: string[];
  read_only?: boolean;
  tmpfs?: string[];
  mem_limit?: string;
  networks: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  volumes?: string[];
  command?: string[];
}

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const compose = parse(read('compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
  configs: { temporal: { content: string }; roles: { content: string } };
};
const { services } = compose;
const own = ['migrate', 'api', 'worker'];

/** Sources of COPY in the Dockerfile, except those from another stage. */
const copied = [
  ...new Set(
    [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) =>
      sources!.split(' '),
    ),
  ),
];

it('sets only settings that are read, and starts what each service needs before it', () => {
  const settings = settingDefaults();
  for (const name of own) {
    const unknown = Object.keys(services[name]!.environment).filter((key) => !(key in settings));
    expect([name, unknown]).toEqual([name, []]);
  }
  for (const service of Object.values(services)) {
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      const isOver = condition === 'service_completed_successfully';
      expect([name, Boolean(services[name]?.healthcheck)]).toEqual([name, !isOver]);
    }
    for (const volume of service.volumes ?? []) {
      expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    }
  }
  const unwatched = Object.keys(services).filter((name) => !services[name]!.healthcheck);
  expect(unwatched).toEqual(['migrate']);
});

it('hardens each container, and lets only the API be reached', () => {
  for (const [name, service] of Object.entries(services)) {
    expect([name, service.cap_drop, service.security_opt]).toEqual([
      name,
      ['ALL'],
      ['no-new-privileges:true'],
    ]);
    expect([name, service.mem_limit]).toEqual([name, expect.stringMatching(/^\dg$/)]);
    expect(service.networks).toContain('servers');
    // The image of Temporal writes its settings beside its programs.
    expect([name, service.read_only === true]).toEqual([name, name !== 'temporal']);
  }
  expect(compose.networks['servers']).toEqual({ internal: true });
  expect(own.map((name) => services[name]!.volumes)).toEqual(own.map(() => ['data:/data']));
  const reachable = Object.entries(services).filter(([, { ports }]) => ports);
  expect(reachable.map(([name]) => name)).toEqual(['api']);
  const inside = Object.entries(services).filter(([, { networks }]) => networks.length === 1);
  expect(inside.map(([name]) => name)).toEqual(['postgres', 'temporal']);
});

it('gives each part a password of its own, and none that of the superuser', () => {
  const passwordsOf = (name: string) => [
    ...new Set(JSON.stringify(services[name]).match(/\b\w+_PASSWORD\b(?=:)/g)),
  ];
  for (const name of own) expect(passwordsOf(name)).toEqual(['EVERPOST_DB_PASSWORD']);
  expect(passwordsOf('temporal')).toEqual(['TEMPORAL_DB_PASSWORD']);
  // A later start does without it.
  expect(services['postgres']!.environment['POSTGRES_PASSWORD']).toBe('${POSTGRES_PASSWORD:-}');
  expect(own.map((name) => services[name]!.env_file?.map(({ path: file }) => file))).toEqual(
    own.map(() => ['settings.env']),
  );
});

it('makes two roles that own their databases and nothing else', async () => {
  const folder = await useFolder();
  const file = path.join(folder, 'roles.sql');
  await writeFile(file, compose.configs.roles.content.replaceAll(/^\\getenv .*\n/gm, ''));
  const database = new Client({ connectionString: inject('databaseUrl') });
  await database.connect();
  try {
    const text = (await readFile(file, 'utf8')).replaceAll(/:'(\w+)'/g, "'$1'");
    const statements = text.split(';\n').filter((one) => one.trim() !== '');
    // The test server has a database everpost of its own.
    const named = statements.map((one) =>
      one.replaceAll(/\b(everpost|temporal(?:_visibility)?)\b/g, 'compose_$1'),
    );
    for (const statement of named) await database.query(statement);
    const { rows } = await database.query(
      `select rolname as name, rolsuper or rolcreaterole or rolcreatedb as "mayMore",
          array(select datname::text from pg_database where datdba = pg_roles.oid order by 1) as owned
        from pg_roles where rolname like 'compose\\_%' order by 1`,
    );
    expect(rows).toEqual([
      { name: 'compose_everpost', mayMore: false, owned: ['compose_everpost'] },
      {
        name: 'compose_temporal',
        mayMore: false,
        owned: ['compose_temporal', 'compose_temporal_visibility'],
      },
    ]);
  } finally {
    for (const name of ['everpost', 'temporal', 'temporal_visibility']) {
      await database.query(`drop database if exists compose_${name}`);
    }
    await database.query('drop role if exists compose_everpost, compose_temporal');
    await database.end();
  }
});

it('has an image without package managers, which says what it is and if it works', () => {
  const file = read('Dockerfile');
  const [, last = ''] = file.split(/\nFROM \$\{NODE_IMAGE\}\n/);
  expect(file).toMatch(/^ARG NODE_IMAGE=node:(22|24)\.\d+\.\d+-\w+-slim$/m);
  expect(last).toContain('rm -rf /usr/local/lib/node_modules');
  expect(last).toMatch(/^USER 1000:1000$/m);
  expect(last).toMatch(/^HEALTHCHECK /m);
  for (const label of ['version', 'revision', 'source', 'licenses']) {
    expect(last).toContain(`org.opencontainers.image.${label}=`);
  }
  expect(last).not.toMatch(/^(RUN npm|COPY test)/m);
});

it('gives Temporal what the development server has for fairness', () => {
  const flags = [...read('temporal-dev.yml').matchAll(/--dynamic-config-value=(\S+)=true/g)];
  const values = parse(compose.configs.temporal.content) as Record<string, { value: boolean }[]>;
  expect(Object.keys(values).toSorted()).toEqual(flags.map(([, name]) => name).toSorted());
  expect(Object.values(values).flat()).toEqual(flags.map(() => ({ value: true })));
});

it('copies what the .dockerignore lets through, and all that it imports', () => {
  const passing = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, name]) => name);
  expect(passing.toSorted()).toEqual(copied.toSorted());
  const files = copied.flatMap((name) =>
    statSync(path.join(root, name)).isDirectory()
      ? readdirSync(path.join(root, name), { recursive: true, encoding: 'utf8' }).map((file) =>
          path.join(name, file),
        )
      : [name],
  );
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  // The console, the command line and what builds them are only in the stage that builds, which has
  // all packages.
  const packagesOf = (file: string) =>
    /^(console|dev|client\/cli)\//.test(file)
      ? { ...dependencies, ...devDependencies }
      : dependencies;
  const missing = files
    .filter((file) => /\.tsx?$/.test(file) && !/\/dist\//.test(file))
    .flatMap((file) => importsOf(file, read(file)).map((one) => ({ file, ...one })))
    .filter(({ file, target, isPackage, isType }) => {
      const name = /^(@[^/]+\/)?[^/]+/.exec(target)![0];
      if (isPackage) return !isType && !target.startsWith('node:') && !(name in packagesOf(file));
      return !isType && !files.includes(target);
    })
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(missing).toEqual([]);
});

it('runs from what the image holds, with the settings of production', async () => {
  const sources = await useFolder();
  for (const name of copied) {
    await cp(path.join(root, name), path.join(sources, name), { recursive: true });
  }
  await symlink(path.join(root, 'node_modules'), path.join(sources, 'node_modules'));
  await promisify(execFile)(process.execPath, ['--import', 'tsx', 'dev/build.ts'], {
    cwd: sources,
  });
  const folder = await useFolder();
  expect(read('Dockerfile')).toContain('COPY --from=build /app/dist dist');
  await cp(path.join(sources, 'dist'), path.join(folder, 'dist'), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  await mkdir(path.join(folder, 'data'));
  const script = 'api/docs/browser/theme.js';
  expect(await readFile(path.join(folder, 'dist', script), 'utf8')).toBe(read(script));

  const engine = await useEngine({}, { worker: false });
  const settings = {
    NODE_ENV: 'production',
    JWT_SECRET: 'dP0q7mWl5tYxkZ2vR9sB4nC8hJ1fG6aE3uI',
    API_URL: 'https://mail.shop.example',
    DASHBOARD_URL: 'https://mail.shop.example/console',
    STORAGE_LOCAL_DIR: path.join(folder, 'data'),
  };
  const command = (name: string) => services[name]!.command?.join(' ');
  expect([command('migrate'), command('worker')]).toEqual([
    'node dist/db/main.js',
    'node dist/worker/main.js',
  ]);
  expect(read('Dockerfile')).toContain('CMD ["node", "dist/api/main.js"]');
  const { databaseUrl } = engine.api.services.config;
  await promisify(execFile)(process.execPath, ['dist/db/main.js'], {
    cwd: folder,
    env: { ...settings, DATABASE_URL: databaseUrl },
  });
  const help = await promisify(execFile)(
    process.execPath,
    ['dist/ops/main.js', 'reconcile', '--help'],
    {
      cwd: folder,
    },
  );
  expect(help.stdout).toContain('reconcile');
  const [api] = await Promise.all([
    useApiProcess(engine, settings, { folder, file: 'dist/api/main.js' }),
    useWorkerProcess(engine, settings, { folder, file: 'dist/worker/main.js' }),
  ]);
  // Rendered in a thread, and delivered by the built workflow code.
  const body = '<p>{% for n in (1..3) %}{{n}}{% endfor %}</p>';
  const mail = { to: newAddress(), from: `team@${engine.domain}`, subject: 'Hi', body };
  expect((await api.call('POST', '/v1/send', mail)).status).toBe(200);
  expect(await engine.mailsTo(mail.to, 1)).toMatchObject([{ subject: 'Hi' }]);
}, 120_000);
