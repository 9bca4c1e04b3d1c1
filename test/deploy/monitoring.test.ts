import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { declaredMetrics } from '../../providers/metrics/declared.ts';
import {
  dashboardFiles,
  exposedMetrics,
  expressions,
  namedOfSdk,
  rules,
} from '../support/exposed.ts';
import { promqlNames } from '../support/promql.ts';

const root = path.join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const exposed = exposedMetrics();
const alerts = rules.filter(({ alert }) => alert !== undefined);
/** Labels that an expression of a recording rule keeps. */
const recorded = new Map(
  rules.flatMap(({ record, expr }) =>
    record === undefined ? [] : [[record, new Set(promqlNames(expr).labels)] as const],
  ),
);

/** Returns the anchors of a page, as GitHub and our documentation make them. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

it('refuses expressions that are not valid', () => {
  expect(() => promqlNames('sum(rate(everpost_email_due[5m])')).toThrow('Not valid');
  expect(promqlNames('max by (queue) (a{b="c"}) > 0')).toEqual({
    metrics: ['a'],
    labels: ['queue', 'b'],
  });
});

describe('rules and dashboards', () => {
  it.each(expressions)('name only metrics and labels that are exposed: %s', (expression) => {
    const { metrics, labels } = promqlNames(expression);
    expect(metrics).not.toEqual([]);
    const known = metrics.map((name) => recorded.get(name) ?? exposed.get(name));
    expect(metrics.filter((_, index) => known[index] === undefined)).toEqual([]);
    expect(labels.filter((label) => !known.some((names) => names?.has(label)))).toEqual([]);
  });

  it('use each recorded series by a name of level, metric and operation', () => {
    for (const name of recorded.keys()) expect(name).toMatch(/^everpost:[a-z_]+:[a-z0-9_]+$/);
  });

  it('need few metrics of Temporal’s SDK, which the test of a worker looks for', () => {
    expect(namedOfSdk.length).toBeLessThan(10);
  });
});

describe('alerts', () => {
  it('have a name of their own', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^Everpost[A-Z][A-Za-z]+$/);
  });

  it.each(alerts.map((rule) => [rule.alert, rule] as const))(
    '%s says how urgent it is, what happens, and where to read what to do',
    (_, { for: lasting, labels, annotations = {} }) => {
      expect(lasting).toMatch(/^\d+[mh]$/);
      expect(['page', 'ticket']).toContain(labels?.['severity']);
      expect(Object.keys(annotations).toSorted()).toEqual([
        'description',
        'runbook_url',
        'summary',
      ]);
      expect(annotations['summary']!.length).toBeLessThan(80);
      const [, page = '', anchor = ''] =
        /\/blob\/main\/(docs\/operating\/[\w-]+\.md)#([\w-]+)$/.exec(annotations['runbook_url']!) ??
        [];
      expect(anchorsOf(page)).toContain(anchor);
    },
  );

  it('leave no section of the page about alerts without an alert', () => {
    const named = alerts.map(({ annotations }) => annotations?.['runbook_url']?.split('#')[1]);
    const [, ...sections] = anchorsOf('docs/operating/alerts.md');
    expect(sections.filter((section) => !named.includes(section))).toEqual([]);
  });
});

describe.each(dashboardFiles)('%s', (name, dashboard) => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  it('can be imported: a fixed id, and the data source is chosen', () => {
    expect(`${dashboard.uid}.json`).toBe(name);
    expect(dashboard.title).toMatch(/^Everpost: /);
    expect(dashboard.templating.list).toMatchObject([
      { name: 'datasource', type: 'datasource', query: 'prometheus' },
    ]);
    expect(JSON.stringify(dashboard)).not.toContain('__inputs');
  });

  it('has a title, a unit, a description and an expression in each panel, without plugins', () => {
    expect(panels.length).toBeGreaterThan(5);
    for (const { type, title, description, datasource, fieldConfig, targets = [] } of panels) {
      expect(['stat', 'timeseries']).toContain(type);
      expect([title.length > 0, title, description?.endsWith('.')]).toEqual([true, title, true]);
      expect(fieldConfig?.defaults.unit).toMatch(/^\w+$/);
      expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
      expect(targets.length).toBeGreaterThan(0);
    }
    const titles = panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('has no panel over another one, or outside the page', () => {
    const taken = new Set<string>();
    for (const { gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x} ${y}`)).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

describe('each metric of ours', () => {
  const shown = new Set(
    dashboardFiles.flatMap(([, { panels }]) =>
      panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => promqlNames(expr).metrics),
      ),
    ),
  );
  const page = read('docs/operating/metrics.md');

  it.each(Object.entries(declaredMetrics))('is in a dashboard: %s', (name, { type }) => {
    const ending = type === 'histogram' ? '_bucket' : '';
    expect(shown).toContain(`everpost_${name}${ending}`);
  });

  it('is in docs/operating/metrics.md, and no other', () => {
    const rows = [...page.matchAll(/^\| (`[a-z][^|]*) \| +(?:API|worker|all|each) /gm)];
    const named = rows.flatMap(([, cell = '']) =>
      [...cell.matchAll(/`everpost_([a-z_]+)[`{]/g)].map(([, name = '']) => name),
    );
    expect(named.toSorted()).toEqual(Object.keys(declaredMetrics).toSorted());
  });
});
