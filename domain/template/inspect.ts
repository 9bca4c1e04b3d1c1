import { analyzeSync, type Template, toValueSync, Value, type Variable } from 'liquidjs';
import { lineStarts, type Place, PlaceMap, type TemplateFault } from './faults.ts';
import { isFilter, parseLiquid } from './liquid.ts';
import { compileTemplate } from './render.ts';

/** What can be said of a template without any values. */
export interface Inspection {
  /** null: it is valid Liquid, and the rest is filled in. */
  fault: TemplateFault | null;
  unknownFilters: ({ name: string } & Place)[];
  /**
   * The names that it reads, each once, where it stands first: not those with a fallback (`??`), and
   * not those that its own tags set.
   */
  names: ({ path: string[] } & Place)[];
}

/** Reads a template, however long it takes. Never throws. */
export function inspectTemplate(source: string): Inspection {
  const { fault, nodes } = compileTemplate(source);
  if (nodes === null) return { fault, unknownFilters: [], names: [] };
  try {
    return { fault: null, unknownFilters: unknownFilters(nodes, source), names: namesOf(source) };
  } catch {
    // Nested deeper than it can be walked through.
    return { fault: null, unknownFilters: [], names: [] };
  }
}

function unknownFilters(nodes: readonly Template[], source: string): Inspection['unknownFilters'] {
  const map = new PlaceMap(source);
  const found = new Map<string, { name: string } & Place>();
  const open = [...nodes];
  for (let node = open.pop(); node; node = open.pop()) {
    for (const argument of node.arguments?.() ?? []) {
      if (!(argument instanceof Value)) continue;
      for (const { name } of argument.filters) {
        if (!isFilter(name)) found.set(name, { name, ...map.at(node.token.begin) });
      }
    }
    if (node.children) open.push(...toValueSync(node.children(false, true)));
  }
  return [...found.values()];
}

function namesOf(source: string): Inspection['names'] {
  const map = new PlaceMap(source, ({ fallback }) => fallback !== undefined);
  const starts = lineStarts(map.liquid);
  const { globals } = analyzeSync(parseLiquid(map.liquid, false), { partials: false });
  const found = new Map<string, { path: string[] } & Place>();
  for (const variable of Object.values(globals).flat()) {
    const path = pathOf(variable);
    const name = path.join('.');
    if (name === '' || found.has(name)) continue;
    const { row, col } = variable.location;
    found.set(name, { path, ...map.at((starts[row - 1] ?? 0) + col - 1) });
  }
  return [...found.values()];
}

/** The names of a path as far as they are written out: `a[b].c` is `a`. */
function pathOf({ segments }: Variable): string[] {
  const end = segments.findIndex((segment) => typeof segment !== 'string');
  return segments.slice(0, end === -1 ? segments.length : end).map(String);
}
