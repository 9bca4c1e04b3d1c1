import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { declaredMetrics } from '../../providers/metrics/declared.ts';
import { promqlNames } from './promql.ts';

/** Reads the rules and dashboards of `deploy/`, and the metrics that they may name. */

const root = path.join(import.meta.dirname, '../..');

export interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface RuleFile {
  groups: { name: string; rules: Rule[] }[];
}

export const rules: readonly Rule[] = (
  parse(readFileSync(path.join(root, 'deploy/prometheus/rules.yml'), 'utf8')) as RuleFile
).groups.flatMap((group) => group.rules);

export interface GrafanaPanel {
  type: string;
  title: string;
  description?: string;
  datasource?: unknown;
  fieldConfig?: { defaults: { unit?: string } };
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string }[];
}

export interface GrafanaDashboard {
  uid: string;
  title: string;
  templating: { list: { name: string; type: string; query: string }[] };
  panels: GrafanaPanel[];
}

const grafana = path.join(root, 'deploy/grafana');
export const dashboardFiles: readonly (readonly [name: string, GrafanaDashboard])[] = readdirSync(
  grafana,
)
  .toSorted()
  .map((name) => [
    name,
    JSON.parse(readFileSync(path.join(grafana, name), 'utf8')) as GrafanaDashboard,
  ]);

/** The expressions of all rules and panels. */
export const expressions: readonly string[] = [
  ...rules.map(({ expr }) => expr),
  ...dashboardFiles.flatMap(([, { panels }]) =>
    panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ),
];

/** Metrics of Temporal's SDK that expressions name. Only a running worker has them. */
export const namedOfSdk: readonly string[] = [
  ...new Set(expressions.flatMap((expression) => promqlNames(expression).metrics)),
].filter((name) => name.startsWith('everpost_temporal_') && !isDeclared(name));

function isDeclared(name: string): boolean {
  return Object.hasOwn(declaredMetrics, name.replace(/^everpost_/, ''));
}

/** Returns the labels of all metrics that processes expose, by the names of their samples. */
export function exposedMetrics(): Map<string, ReadonlySet<string>> {
  const exposed = new Map<string, ReadonlySet<string>>();
  // Prometheus adds the first two to each sample.
  const common = ['instance', 'job'];
  for (const [name, { type, labels = [] }] of Object.entries(declaredMetrics)) {
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) {
      const ofBucket = ending === '_bucket' ? ['le'] : [];
      exposed.set(`everpost_${name}${ending}`, new Set([...common, ...labels, ...ofBucket]));
    }
  }
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'everpost_' });
  for (const { name } of registry.getMetricsAsArray()) exposed.set(name, new Set(common));
  for (const name of namedOfSdk) exposed.set(name, new Set([...common, 'le']));
  return exposed;
}
