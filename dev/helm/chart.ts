import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { accepted, type ChartCase, refused, type RefusedCase } from './cases.ts';
import { type HelmTools, kubernetesVersions } from './tools.ts';

const run = promisify(execFile);
const chart = join(import.meta.dirname, '../../deploy/helm/everpost');
/** Kinds of the Prometheus operator, which Kubernetes has no schemas of. */
const foreignKinds = 'ServiceMonitor,PrometheusRule';

/** The result of a program: its exit code, and all that it has written. */
interface Ran {
  code: number;
  output: string;
}

/** Returns the objects that the chart makes of these values, as YAML. @throws the output of Helm */
export async function renderChart(
  { helm }: Pick<HelmTools, 'helm'>,
  values: Record<string, unknown>,
  version: string = kubernetesVersions[1],
): Promise<string> {
  return withValues(values, async (file) => {
    const args = ['template', 'shop', chart, '--values', file, '--kube-version', version];
    const { stdout } = await run(helm, args, { maxBuffer: 16 * 2 ** 20 });
    return stdout;
  });
}

export interface ChartCheck {
  name: string;
  ok: boolean;
  /** The output of the tool if it fails. */
  message: string;
}

/** Checks the chart with its cases, and returns the checks as they end. */
export async function* checkChart(tools: HelmTools): AsyncGenerator<ChartCheck> {
  for (const one of accepted) yield await lint(tools, one);
  for (const one of accepted) {
    for (const version of kubernetesVersions) yield await conforms(tools, one, version);
  }
  for (const one of refused) yield await isRefused(tools, one);
}

async function lint({ helm }: HelmTools, { name, values }: ChartCase): Promise<ChartCheck> {
  return withValues(values, async (file) => {
    const [version] = kubernetesVersions;
    const args = ['lint', '--strict', chart, '--values', file, '--kube-version', version];
    const { code, output } = await play(helm, args);
    return {
      name: `helm lint --strict: ${name}`,
      ok: code === 0,
      message: code === 0 ? '' : output,
    };
  });
}

async function conforms(
  tools: HelmTools,
  { name, values }: ChartCase,
  version: string,
): Promise<ChartCheck> {
  const title = `kubeconform -strict for Kubernetes ${version}: ${name}`;
  try {
    const objects = await renderChart(tools, values, version);
    const location = `${tools.schemas}/${version}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
    const args = ['-strict', '-summary', '-skip', foreignKinds, '-schema-location', location];
    const { code, output } = await play(tools.kubeconform, args, objects);
    return { name: title, ok: code === 0, message: code === 0 ? '' : output };
  } catch (error) {
    return { name: title, ok: false, message: outputOf(error) };
  }
}

async function isRefused(tools: HelmTools, one: RefusedCase): Promise<ChartCheck> {
  const title = `helm template refuses: ${one.name}`;
  try {
    await renderChart(tools, one.values);
    return { name: title, ok: false, message: 'It was accepted.' };
  } catch (error) {
    const output = outputOf(error);
    const ok = output.includes(one.message);
    return { name: title, ok, message: ok ? '' : output };
  }
}

function outputOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return stderr || message;
}

async function play(program: string, args: string[], input = ''): Promise<Ran> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code: code ?? 1, output: `${out}${errors}` };
}

async function withValues<T>(
  values: Record<string, unknown>,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'everpost-helm-'));
  try {
    // JSON is YAML.
    const file = join(folder, 'values.yaml');
    await writeFile(file, JSON.stringify(values));
    return await work(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}
