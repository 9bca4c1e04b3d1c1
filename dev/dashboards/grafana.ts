/** Writes dashboards in the JSON that Grafana imports. */

/** A unit as Grafana names it. */
export type Unit = 'short' | 's' | 'bytes' | 'reqps' | 'ops' | 'percentunit' | 'cpm';

export interface Panel {
  title: string;
  unit: Unit;
  /** The question that the panel answers. */
  description: string;
  /** Expressions, each with its legend. */
  series: readonly (readonly [expression: string, legend: string])[];
  /** `stat`: the panel shows only the newest value. */
  as?: 'timeseries' | 'stat';
}

export interface Dashboard {
  /** The part of the file name and of the id after `everpost-`. */
  name: string;
  title: string;
  /** Panels under the title of their row. */
  rows: readonly (readonly [title: string, panels: readonly Panel[]])[];
}

/** Width of a dashboard, in columns of Grafana. */
const columns = 24;
const heights = { stat: 4, timeseries: 8 } as const;
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** Returns the text of the file of a dashboard. */
export function dashboardFile({ name, title, rows }: Dashboard): string {
  const panels = placed(rows);
  const dashboard = {
    uid: `everpost-${name}`,
    title: `Everpost: ${title}`,
    tags: ['everpost'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: '',
    links: [linkToOthers],
    templating: { list: [chosenSource] },
    annotations: { list: [] },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** Returns the panels of all rows with their places, and a panel with the title of each row. */
function placed(rows: Dashboard['rows']): object[] {
  const all: object[] = [];
  let y = 0;
  for (const [title, panels] of rows) {
    const gridPos = { h: 1, w: columns, x: 0, y };
    all.push({ id: all.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] });
    y += 1;
    const height = heights[panels[0]?.as ?? 'timeseries'];
    const perLine = Math.min(height === heights.stat ? 6 : 3, panels.length);
    const width = columns / perLine;
    for (const [index, panel] of panels.entries()) {
      const x = (index % perLine) * width;
      const line = y + Math.floor(index / perLine) * height;
      all.push({
        id: all.length + 1,
        ...panelOf(panel),
        gridPos: { h: height, w: width, x, y: line },
      });
    }
    y += Math.ceil(panels.length / perLine) * height;
  }
  return all;
}

const linkToOthers = {
  type: 'dashboards',
  title: 'Everpost',
  tags: ['everpost'],
  asDropdown: true,
  includeVars: true,
  keepTime: true,
};

const chosenSource = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  current: {},
  hide: 0,
  refresh: 1,
  options: [],
};

function panelOf({ title, unit, description, series, as = 'timeseries' }: Panel): object {
  return {
    type: as,
    title,
    description,
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: optionsOf(as),
    targets: series.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      legendFormat,
    })),
  };
}

function optionsOf(as: NonNullable<Panel['as']>): object {
  if (as === 'stat') return { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value' };
  return {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
}
