import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  cachedPrograms,
  goInstall,
  inPath,
  MissingTool,
  reason,
  type Search,
} from '../servers/program-cache.ts';

const run = promisify(execFile);

/** The versions of the tools. */
const helmVersion = '3.22.0';
const kubeconformVersion = '0.8.0';
/** The package of PyPI with the schemas of Kubernetes' objects. */
const schemasVersion = '1.37.0';

/** The oldest and the newest version of Kubernetes that the chart supports. */
export const kubernetesVersions = ['1.28.0', '1.37.0'] as const;

export interface HelmTools {
  helm: string;
  kubeconform: string;
  /** The folder of the schemas, with one folder for each of `kubernetesVersions`. */
  schemas: string;
}

/**
 * Finds the tools: on PATH or in the cache. Missing programs are built with Go, missing schemas are
 * fetched with pip, once per machine.
 * @throws MissingTool
 */
export async function findHelmTools(search: Search): Promise<HelmTools> {
  // One after the other, because a build uses all processors.
  const helm = await findProgram(
    { name: 'helm', version: helmVersion, source: 'helm.sh/helm/v3/cmd/helm' },
    search,
  );
  const kubeconform = await findProgram(
    {
      name: 'kubeconform',
      version: kubeconformVersion,
      source: 'github.com/yannh/kubeconform/cmd/kubeconform',
    },
    search,
  );
  return { helm, kubeconform, schemas: await findSchemas(search) };
}

async function findProgram(
  { name, version, source }: { name: string; version: string; source: string },
  search: Search,
): Promise<string> {
  const onPath = await inPath(name, search.env);
  if (onPath !== null) return onPath;
  const fill = async (directory: string) => {
    const go =
      (await inPath('go', search.env)) ?? (await inPath('go', { PATH: '/usr/local/go/bin' }));
    if (go === null) throw new MissingTool(`${name} is missing, and Go, which could build it.`);
    search.onNotice(`Building ${name} ${version} with Go, once on this machine …`);
    await goInstall(go, [`${source}@v${version}`], directory, search).catch((error: unknown) => {
      throw new MissingTool(`${name} is missing, and Go cannot build it: ${reason(error)}`);
    });
  };
  return join(await cachedPrograms(`${name}-${version}`, [name], fill, search), name);
}

async function findSchemas(search: Search): Promise<string> {
  const fill = async (directory: string) => {
    search.onNotice('Fetching the schemas of Kubernetes with pip, once on this machine …');
    const download = join(directory, 'download');
    const requirement = `kubernetes-validate==${schemasVersion}`;
    const args = ['-m', 'pip', 'install', '-q', '--no-deps', '--no-compile', '--target', download];
    await run('python3', [...args, requirement], { env: search.env }).catch((error: unknown) => {
      throw new MissingTool(
        `The schemas of Kubernetes are missing, and pip of Python 3 cannot fetch ${requirement}: ${reason(error)}`,
      );
    });
    for (const version of kubernetesVersions) {
      const from = join(
        download,
        `kubernetes_validate/kubernetes-json-schema/v${version}-local-strict`,
      );
      await copySchemas(from, join(directory, version));
    }
    await rm(download, { recursive: true });
  };
  return cachedPrograms(`kubernetes-${schemasVersion}`, kubernetesVersions, fill, search);
}

/** Copies schemas, and lets them refer to each other by file instead of by address. */
async function copySchemas(from: string, into: string): Promise<void> {
  await mkdir(into);
  await cp(from, into, { recursive: true });
  for (const file of await readdir(into)) {
    const { $id: _, ...schema } = JSON.parse(await readFile(join(into, file), 'utf8')) as {
      $id?: string;
    };
    const text = JSON.stringify(schema).replaceAll('/api/_definitions.json', '_definitions.json');
    await writeFile(join(into, file), text);
  }
}
