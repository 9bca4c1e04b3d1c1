import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { arch, homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inPath, MissingTool } from '../servers/program-cache.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The programs that build and run images without a Docker daemon. */
const needed = ['buildah', 'podman', 'runc'];
/** Certificates of this machine, which may be behind a proxy that has its own. */
const certificates = '/etc/ssl/certs/ca-certificates.crt';
/** The version of npm in a base that is made here. */
const npmVersion = '11.21.2';

/** The folder with the images of this command, and a function that runs a program on them. */
export interface ImageStore {
  folder: string;
  /** Returns what the program prints. @throws with its output */
  run(program: 'buildah' | 'podman', args: readonly string[]): Promise<string>;
}

/** Opens the store in the cache. @throws MissingTool */
export async function openStore(env: NodeJS.ProcessEnv): Promise<ImageStore> {
  for (const name of needed) {
    if ((await inPath(name, env)) === null) throw new MissingTool(`${name} is missing.`);
  }
  if (process.getuid?.() !== 0) throw new MissingTool('root is missing: run this command as root.');
  const folder = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'everpost/image-test');
  await mkdir(folder, { recursive: true });
  const store = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')];
  const options = [...store, '--storage-driver', 'overlay'];
  return {
    folder,
    async run(program, args) {
      const { stdout } = await run(program, [...options, ...args], { maxBuffer: 64 * 2 ** 20 });
      return stdout.trim();
    },
  };
}

/**
 * Returns the name of the base image: that of NODE_IMAGE, or that of the Dockerfile. If no registry
 * has it, a base is made of Debian's packages and of Node.js from npm.
 */
export async function findBase(store: ImageStore, env: NodeJS.ProcessEnv): Promise<string> {
  if (env['NODE_IMAGE']) return env['NODE_IMAGE'];
  const [, usual = '', version = ''] =
    /^ARG NODE_IMAGE=(node:([\d.]+)\S*)$/m.exec(await readFile(join(root, 'Dockerfile'), 'utf8')) ??
    [];
  const made = `localhost/everpost-base:${version}`;
  const isThere = (name: string) =>
    store.run('buildah', ['inspect', '--type', 'image', name]).then(
      () => true,
      () => false,
    );
  if (await isThere(made)) return made;
  const official = `docker.io/library/${usual}`;
  const isPulled = await store.run('buildah', ['pull', official]).then(
    () => true,
    () => false,
  );
  if (isPulled) return official;
  await makeBase(store, { name: made, version }, env);
  return made;
}

async function makeBase(
  store: ImageStore,
  { name, version }: { name: string; version: string },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if ((await inPath('debootstrap', env)) === null) {
    throw new MissingTool(
      'No registry has the base image, and debootstrap is missing to make one.',
    );
  }
  const tree = join(store.folder, 'base');
  await rm(tree, { recursive: true, force: true });
  await run('debootstrap', ['--variant=minbase', 'bookworm', tree]);
  await run('useradd', ['--root', tree, '--uid', '1000', '--create-home', 'node']);
  await mkdir(join(tree, 'etc/ssl/certs'), { recursive: true });
  await cp(certificates, join(tree, certificates));
  const local = join(tree, 'usr/local');
  const node = await unpack(store, `node-linux-${arch()}@${version}`, 'node');
  await cp(join(node, 'bin/node'), join(local, 'bin/node'));
  const npm = await unpack(store, `npm@${npmVersion}`, 'npm');
  await cp(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  const container = await store.run('buildah', ['from', 'scratch']);
  await store.run('buildah', ['add', container, tree, '/']);
  const paths = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const settings = ['--env', paths, '--env', `NODE_EXTRA_CA_CERTS=${certificates}`];
  await store.run('buildah', ['config', ...settings, container]);
  await store.run('buildah', ['commit', '--rm', container, name]);
  await rm(tree, { recursive: true });
}

/** Downloads a package of npm, and returns the folder with its files. */
async function unpack(store: ImageStore, name: string, into: string): Promise<string> {
  const folder = join(store.folder, into);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const args = ['pack', name, '--silent', '--pack-destination', folder];
  const { stdout } = await run('npm', args);
  await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', folder]);
  return join(folder, 'package');
}

/** Builds the image of the current files, and returns its name. */
export async function buildImage(store: ImageStore, base: string): Promise<string> {
  const name = 'localhost/everpost:image-test';
  const revision = await run('git', ['rev-parse', 'HEAD'], { cwd: root }).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
  const args = ['--build-arg', `NODE_IMAGE=${base}`, '--build-arg', `REVISION=${revision}`];
  // In the format of OCI, an image has no health check.
  const options = ['--format', 'docker', '--isolation', 'chroot', '--network', 'host'];
  await store.run('buildah', ['bud', ...options, '--layers=false', ...args, '--tag', name, root]);
  return name;
}
