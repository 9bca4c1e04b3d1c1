import { Graph, layout } from '@dagrejs/dagre';
import type { Picture, PictureStep, PictureWay } from './picture.ts';
import { cut, textWidth, wrapped } from './text.ts';

/** Positions in a picture. Lengths are in pixels, measured from the left and from the top. */

export interface Point {
  x: number;
  y: number;
}

/** A box or a label. `x` and `y` are the position of its centre. */
export interface Area extends Point {
  width: number;
  height: number;
}

export interface StepBox extends Area {
  step: PictureStep;
  /** The name of the step, cut to fit. */
  name: string;
  notes: string[];
  fault: string[];
  /** Transitions that would cross the whole picture. The box names them, and no line is drawn. */
  references: { text: string; isTaken: boolean | null }[];
}

export interface Line {
  way: PictureWay;
  /** The points of a line, from the lower edge of a box to the upper edge of another. */
  points: Point[];
  label: (Area & { text: string; whole: string }) | null;
}

export interface Drawing {
  /** The title of the picture, cut to fit. */
  title: string;
  subtitle: string;
  /** The whole title of the picture. */
  name: string;
  width: number;
  height: number;
  boxes: StepBox[];
  lines: Line[];
}

export const sizes = { margin: 28, header: 56, box: 264, padding: 14, noteLine: 17 } as const;

export const fonts = {
  title: { size: 17, bold: true },
  type: { size: 10.5, bold: true },
  name: { size: 14.5, bold: true },
  note: { size: 11.5 },
  label: { size: 11.5, bold: true },
} as const;

const textMax = sizes.box - 2 * sizes.padding;
/** Distance from the top of a box to its first note. */
const headHeight = 50;
const notesMax = 4;
const faultLinesMax = 4;
const labelMax = 150;
const titleMin = 420;
/** Maximum number of rows that a line may cross. A longer transition becomes a reference. */
const rowsMax = 8;

/**
 * Places the steps of a picture in layers, so that arrows lead downwards. 200 steps take a few
 * hundred milliseconds. Long transitions would take most of the time, so they are not drawn.
 */
export function layOut(picture: Picture): Drawing {
  const rows = rowsOf(picture);
  const isLong = ({ from, to }: PictureWay) =>
    (rows.get(to) ?? 0) - (rows.get(from) ?? 0) > rowsMax;
  const boxes = new Map(picture.steps.map((step) => [step.id, boxOf(step)]));
  for (const way of picture.ways.filter(isLong)) {
    boxes.get(way.from)?.references.push(referenceOf(way, boxes.get(way.to)?.step.name ?? ''));
  }
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', ranker: 'tight-tree', nodesep: 36, ranksep: 44, edgesep: 28 });
  for (const [id, box] of boxes) {
    box.height = heightOf(box);
    graph.setNode(id, { width: box.width, height: box.height });
  }
  const drawn = picture.ways
    .filter((way) => !isLong(way))
    .map((way, index) => {
      const label = way.label === null ? null : labelOf(way.label);
      // A label has a row of its own, with some space around it.
      const size = label ? { width: label.width + 8, height: label.height + 6 } : {};
      graph.setEdge(way.from, way.to, { labelpos: 'c', ...size }, `${index}`);
      return { way, label, edge: { v: way.from, w: way.to, name: `${index}` } };
    });
  layout(graph);

  const { width = 0, height = 0 } = graph.graph();
  // The picture has a minimum width, so that most titles fit. The steps are in the middle.
  const inner = Math.max(width, titleMin);
  const left = sizes.margin + (inner - width) / 2;
  const top = sizes.margin + sizes.header;
  const placed = ({ x, y }: Point): Point => ({ x: x + left, y: y + top });
  for (const [id, box] of boxes) Object.assign(box, placed(graph.node(id) as Point));
  const lines = drawn.map(({ way, label, edge }): Line => {
    const found = graph.edge(edge) as { points: Point[] } & Point;
    const [start, end] = [boxes.get(way.from), boxes.get(way.to)];
    const points = found.points.map(placed);
    return {
      way,
      points: start && end ? joined(points, start, end) : points,
      label: label && { ...label, ...placed(found) },
    };
  });
  return {
    name: picture.title,
    title: cut(picture.title, inner, fonts.title),
    subtitle: cut(picture.subtitle, inner, fonts.note),
    width: Math.ceil(inner + 2 * sizes.margin),
    height: Math.ceil(height + top + sizes.margin),
    boxes: [...boxes.values()],
    lines,
  };
}

function boxOf(step: PictureStep): StepBox {
  return {
    step,
    name: cut(step.name, textMax, fonts.name),
    notes: step.notes.slice(0, notesMax).map((note) => cut(note, textMax, fonts.note)),
    fault: step.fault === null ? [] : wrapped(step.fault, textMax, fonts.note, faultLinesMax),
    references: [],
    x: 0,
    y: 0,
    width: sizes.box,
    height: 0,
  };
}

function heightOf({ notes, fault, references }: StepBox): number {
  const lines = notes.length + fault.length + references.length;
  return headHeight + (lines === 0 ? 6 : lines * sizes.noteLine + 12);
}

function referenceOf({ label, isTaken }: PictureWay, name: string) {
  const text = cut(`${label === null ? '' : `${label} `}→ ${name}`, textMax, fonts.note);
  return { text, isTaken };
}

function labelOf(whole: string) {
  const text = cut(whole, labelMax, fonts.label);
  return { text, whole, x: 0, y: 0, width: textWidth(text, fonts.label) + 14, height: 18 };
}

/** Returns the row of each step: one below the lowest of the steps that lead to it. */
function rowsOf({ steps, ways }: Picture): Map<string, number> {
  const rows = new Map(steps.map(({ id }) => [id, 0]));
  const before = new Map(steps.map(({ id }) => [id, 0]));
  const after = new Map<string, string[]>();
  for (const { from, to } of ways) {
    before.set(to, (before.get(to) ?? 0) + 1);
    const known = after.get(from);
    if (known) known.push(to);
    else after.set(from, [to]);
  }
  const open = steps.map(({ id }) => id).filter((id) => before.get(id) === 0);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const row = (rows.get(id) ?? 0) + 1;
    for (const to of after.get(id) ?? []) {
      rows.set(to, Math.max(rows.get(to) ?? 0, row));
      const left = (before.get(to) ?? 0) - 1;
      before.set(to, left);
      if (left === 0) open.push(to);
    }
  }
  return rows;
}

/**
 * Returns the points of a line from the lower edge of one area to the upper edge of another. The
 * ends are computed anew, because the layout may end a line at the side of an area.
 */
function joined(points: Point[], start: Area, end: Area): Point[] {
  const inner = points.slice(1, -1);
  const [first = end] = inner;
  const last = inner.at(-1) ?? start;
  return [
    { x: within(first.x, start), y: start.y + start.height / 2 },
    ...inner,
    { x: within(last.x, end), y: end.y - end.height / 2 },
  ];
}

/** Returns the coordinate nearest to `x` on the edge of an area, at a distance from the corners. */
function within(x: number, area: Area): number {
  const reach = area.width * 0.36;
  return Math.min(area.x + reach, Math.max(area.x - reach, x));
}
