import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { settingDefaults } from '../../config.ts';
import { accepted } from '../../dev/helm/cases.ts';
import { renderChart } from '../../dev/helm/chart.ts';
import { findHelmTools, type HelmTools } from '../../dev/helm/tools.ts';
import { MissingTool } from '../../dev/servers/program-cache.ts';
import { dashboardFiles } from '../support/exposed.ts';

/** The Helm chart. Without Go, or without pip, which fetch the tools, these tests are left out. */

const root = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

const tools: HelmTools | null = await findHelmTools({
  env: process.env,
  onNotice: () => undefined,
}).catch((error: unknown) => {
  if (error instanceof MissingTool) return null;
  throw error;
});

interface Container {
  command: string[];
  envFrom: Record<string, { name: string }>[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string } } }[];
  securityContext: object;
  resources: { requests: object; limits: object };
  livenessProbe?: { httpGet: { path: string; port: string } };
  readinessProbe?: { httpGet: { path: string; port: string } };
  startupProbe?: { httpGet: { path: string; port: string } };
  volumeMounts: { name: string; mountPath: string }[];
}

interface PodSpec {
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: object;
  topologySpreadConstraints: { topologyKey: string }[];
  containers: Container[];
  volumes: { name: string; emptyDir?: object }[];
}

interface KubernetesObject {
  kind: string;
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec: {
    replicas?: number;
    template: { metadata: { annotations: Record<string, string> }; spec: PodSpec };
    minReplicas?: number;
    metrics?: object[];
    groups?: { rules: object[] }[];
    endpoints?: { authorization: { credentials: { name: string; key: string } } }[];
  };
}

async function render(name: string, more: Record<string, unknown> = {}) {
  const { values = {} } = accepted.find((one) => one.name === name) ?? {};
  const documents = parseAllDocuments(await renderChart(tools!, { ...values, ...more }));
  return documents
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((one) => one !== null);
}

const of = (objects: KubernetesObject[], kind: string, name = '') =>
  objects.filter((one) => one.kind === kind && one.metadata.name.endsWith(name));

/** Returns the pods of Deployments and Jobs. */
const podsOf = (objects: KubernetesObject[]) =>
  [...of(objects, 'Deployment'), ...of(objects, 'Job')].map((one) => ({
    name: one.metadata.name,
    pod: one.spec.template.spec,
  }));

describe.runIf(tools !== null)('the Helm chart (left out without Go or pip)', () => {
  let all: KubernetesObject[];
  beforeAll(async () => {
    all = await render('all on');
  });

  it('passes helm-test, whose output is one object', async () => {
    const command = ['--import', 'tsx', 'dev/helm/helm-test.ts', '--json'];
    const { stdout } = await run(process.execPath, command, { cwd: root });
    expect(JSON.parse(stdout)).toMatchObject({ command: 'helm-test', ok: true });
  });

  it('hardens each container', () => {
    const pods = podsOf(all);
    expect(pods.map(({ name }) => name)).toEqual([
      'shop-everpost-api',
      'shop-everpost-worker',
      'shop-everpost-migrate',
    ]);
    for (const { pod } of pods) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      const [container] = pod.containers;
      expect(container!.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container!.resources.requests).toHaveProperty('memory');
      expect(container!.resources.limits).toHaveProperty('memory');
      expect(container!.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/tmp');
    }
  });

  it('spreads processes, and gives them the time that they need to end', () => {
    const [api, worker] = podsOf(all);
    expect(api!.pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(25);
    expect(worker!.pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(200);
    for (const { pod } of [api!, worker!]) {
      expect(pod.topologySpreadConstraints[0]!.topologyKey).toBe('kubernetes.io/hostname');
    }
    const journal = worker!.pod.volumes.find(({ name }) => name === 'journal');
    expect(journal!.emptyDir).toBeDefined();
    const [container] = worker!.pod.containers;
    expect(container!.volumeMounts).toContainEqual({ name: 'journal', mountPath: '/data/journal' });
  });

  it('asks each process what a load balancer and the kubelet must know', () => {
    const [api, worker] = podsOf(all).map(({ pod }) => pod.containers[0]!);
    expect(api!.startupProbe!.httpGet).toEqual({ path: '/health', port: 'http' });
    expect(api!.livenessProbe!.httpGet).toEqual({ path: '/health', port: 'http' });
    const ready = { path: '/health/ready?checks=database', port: 'http' };
    expect(api!.readinessProbe!.httpGet).toEqual(ready);
    expect(worker!.livenessProbe!.httpGet).toEqual({ path: '/health/live', port: 'health' });
    expect(worker!.readinessProbe!.httpGet).toEqual({ path: '/health/ready', port: 'health' });
  });

  it('migrates before an install and an upgrade, and nowhere else', () => {
    const [job] = of(all, 'Job');
    expect(job!.metadata.annotations!['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(job!.spec.template.spec.containers[0]!.command).toEqual(['node', 'dist/db/main.js']);
    const [config] = of(all, 'ConfigMap', 'shop-everpost');
    expect(config!.data!['DATABASE_MIGRATE_ON_START']).toBe('false');
    // The Secret of the job comes before the job, and both go.
    const [secret] = of(all, 'Secret', '-migrate');
    const weight = (one: KubernetesObject) =>
      Number(one.metadata.annotations!['helm.sh/hook-weight']);
    expect(weight(secret!)).toBeLessThan(weight(job!));
    expect(secret!.stringData).toHaveProperty('DATABASE_URL');
  });

  it('keeps at least two replicas, and scales workers by their queues or by CPU', async () => {
    const [ofApi, ofWorker] = of(all, 'HorizontalPodAutoscaler');
    expect([ofApi!.spec.minReplicas, ofWorker!.spec.minReplicas]).toEqual([2, 2]);
    expect(ofApi!.spec.metrics).toMatchObject([{ type: 'Resource', resource: { name: 'cpu' } }]);
    expect(ofWorker!.spec.metrics).toMatchObject([
      { type: 'External', external: { metric: { name: 'everpost_queue_age_seconds' } } },
    ]);
    expect(of(all, 'Deployment').map(({ spec }) => spec.replicas)).toEqual([undefined, undefined]);
    expect(of(all, 'PodDisruptionBudget')).toHaveLength(2);
    const byCpu = of(await render('local uploads'), 'HorizontalPodAutoscaler');
    expect(byCpu[0]!.spec.metrics).toMatchObject([{ type: 'Resource', resource: { name: 'cpu' } }]);
  });

  it('has secrets in Secrets only', () => {
    const secrets = ['only-for-a-test', 'password-of-the-test', 'secret-of-s3'];
    const elsewhere = JSON.stringify(all.filter(({ kind }) => kind !== 'Secret'));
    for (const secret of secrets) {
      expect(JSON.stringify(of(all, 'Secret'))).toContain(secret);
      expect(elsewhere).not.toContain(secret);
    }
  });

  it('sets only settings that are read, and large numbers as they are written', async () => {
    const objects = await render('all on', {
      env: { MAX_MESSAGE_SIZE_MB: 12_345_678, LOG_FILE_MB: 0.05, CONSOLE: false },
    });
    const [config] = of(objects, 'ConfigMap', 'shop-everpost');
    const [secret] = of(objects, 'Secret', 'shop-everpost');
    const known = settingDefaults();
    const set = { ...config!.data, ...secret!.stringData };
    expect(Object.keys(set).filter((name) => !Object.hasOwn(known, name))).toEqual([]);
    expect(Object.values(config!.data!).every((value) => typeof value === 'string')).toBe(true);
    expect(secret!.stringData).toMatchObject({
      MAX_MESSAGE_SIZE_MB: '12345678',
      LOG_FILE_MB: '0.05',
      CONSOLE: 'false',
    });
  });

  it('restarts pods when a setting or a secret changes, and only then', async () => {
    const sums = async (more: Record<string, unknown>) =>
      of(await render('what is required', more), 'Deployment').map(
        ({ spec }) => spec.template.metadata.annotations['checksum/config'],
      );
    const before = await sums({});
    expect(await sums({ service: { port: 81 } })).toEqual(before);
    expect(await sums({ env: { CONSOLE: 'false' } })).not.toEqual(before);
    expect(await sums({ jwtSecret: 'x'.repeat(40) })).not.toEqual(before);
  });

  it('takes secrets that exist, without making others of them', async () => {
    const objects = await render('existing secrets');
    const made = of(objects, 'Secret').flatMap(({ stringData }) => Object.keys(stringData ?? {}));
    expect(made.filter((name) => /SECRET|TOKEN|DATABASE_URL/.test(name))).toEqual([]);
    for (const { name, pod } of podsOf(objects)) {
      const env = new Map(pod.containers[0]!.env!.map((one) => [one.name, one.valueFrom]));
      const secretOf = (variable: string) => env.get(variable)?.secretKeyRef.name;
      expect([name, secretOf('DATABASE_URL')]).toEqual([name, 'everpost-database']);
      expect([name, secretOf('JWT_SECRET')]).toEqual([name, 'everpost-settings']);
    }
    const [monitor] = of(objects, 'ServiceMonitor');
    const { credentials } = monitor!.spec.endpoints![0]!.authorization;
    expect(credentials).toEqual({ name: 'everpost-settings', key: 'METRICS_TOKEN' });
  });

  it('has the rules and dashboards of deploy/', () => {
    const rules = parse(
      readFileSync(path.join(root, 'deploy/prometheus/rules.yml'), 'utf8'),
    ) as object;
    expect(of(all, 'PrometheusRule')[0]!.spec).toEqual(rules);
    const maps = of(all, 'ConfigMap', '-dashboard');
    const found = Object.fromEntries(
      maps
        .flatMap(({ data }) => Object.entries(data!))
        .map(([name, text]) => [name, JSON.parse(text) as object]),
    );
    expect(found).toEqual(Object.fromEntries(dashboardFiles));
  });

  it('takes the values of the guide', async () => {
    const guide = readFileSync(path.join(root, 'docs/guides/kubernetes.md'), 'utf8');
    const [, values = ''] = /```yaml file=values.yaml\n([\s\S]*?)```/.exec(guide) ?? [];
    const objects = await render('', parse(values) as Record<string, unknown>);
    const [config] = of(objects, 'ConfigMap', 'shop-everpost');
    expect(config!.data).toMatchObject({ STORAGE_DRIVER: 's3', TRUST_PROXY: 'true' });
  });

  it('has nothing of what is switched off', async () => {
    const kinds = new Set((await render('all off')).map(({ kind }) => kind));
    for (const kind of ['Ingress', 'NetworkPolicy', 'ServiceMonitor', 'PrometheusRule']) {
      expect(kinds.has(kind)).toBe(false);
    }
    const [config] = of(await render('all off'), 'ConfigMap', 'shop-everpost');
    expect(config!.data).toMatchObject({ METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' });
  });
});
