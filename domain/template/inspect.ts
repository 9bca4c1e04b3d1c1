import {
  analyzeSync,
  Tag,
  type Template,
  toValueSync,
  Value,
  type ValueToken,
  type Variable,
} from 'liquidjs';
import { lineStarts, type Place, PlaceMap, type TemplateFault } from './faults.ts';
import { isFilter, parseLiquid } from './liquid.ts';
import { compileTemplate } from './render.ts';
import { readTemplate } from './source.ts';

/** What can be said of a template without any values. */
export interface Inspection {
  /** null: it is valid Liquid, and the rest is filled in. */
  fault: TemplateFault | null;
  unknownFilters: ({ name: string } & Place)[];
  /** Filters that stand behind `??` and are a part of its text. */
  textFilters: ({ name: string } & Place)[];
  /**
   * The names that it reads, each once, where it stands first: not those with a fallback (`??`,
   * `default`), not those that it asks for in a condition, and not those that its own tags set.
   */
  names: ({ path: string[] } & Place)[];
}

/** An inspection that has found nothing but, perhaps, a fault. */
export function uninspected(fault: TemplateFault | null): Inspection {
  return { fault, unknownFilters: [], textFilters: [], names: [] };
}

/** Reads a template, however long it takes. Never throws. */
export function inspectTemplate(source: string): Inspection {
  const { fault, nodes } = compileTemplate(source);
  if (nodes === null) return uninspected(fault);
  try {
    return {
      fault: null,
      unknownFilters: unknownFilters(nodes, source),
      textFilters: textFilters(source),
      names: namesOf(source),
    };
  } catch {
    // Nested deeper than it can be walked through.
    return uninspected(null);
  }
}

function textFilters(source: string): Inspection['textFilters'] {
  const map = new PlaceMap(source);
  const found: Inspection['textFilters'] = [];
  let at = 0;
  for (const { written, barred = '' } of readTemplate(source)) {
    const [name = ''] = /^\w*/.exec(barred) ?? [];
    if (isFilter(name)) found.push({ name, ...map.inSource(at) });
    at += written.length;
  }
  return found;
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
  const nodes = parseLiquid(map.liquid, false);
  const asked = keepMissed(nodes).flatMap((node) => analyzed([node]));
  const known = new Set(['', ...asked.map((variable) => pathOf(variable).join('.'))]);
  const found = new Map<string, { path: string[] } & Place>();
  for (const variable of analyzed(nodes)) {
    const path = pathOf(variable);
    const name = path.join('.');
    if (known.has(name) || found.has(name)) continue;
    const { row, col } = variable.location;
    found.set(name, { path, ...map.at((starts[row - 1] ?? 0) + col - 1) });
  }
  return [...found.values()];
}

function analyzed(nodes: Template[]): Variable[] {
  return Object.values(analyzeSync(nodes, { partials: false }).globals).flat();
}

/** Tags whose arguments are conditions. */
const conditions = ['if', 'unless', 'case'];

/**
 * Leaves the nodes with the arguments of which nothing must be missing. Returns those of conditions,
 * as nodes without anything inside.
 */
function keepMissed(nodes: readonly Template[]): Template[] {
  const asked: Template[] = [];
  const open = [...nodes];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.children) open.push(...toValueSync(node.children(false, true)));
    const given = [...(node.arguments?.() ?? [])];
    const isCondition = node instanceof Tag && conditions.includes(node.name);
    const { token } = node;
    if (isCondition) asked.push({ token, arguments: () => given, render: node.render });
    node.arguments = () => (isCondition ? [] : given.flatMap(withoutDefaults));
  }
  return asked;
}

/** Of a value with the filter `default` only what stands behind it: the rest may be missing. */
function withoutDefaults(argument: Value | ValueToken): (Value | ValueToken)[] {
  if (!(argument instanceof Value)) return [argument];
  const at = argument.filters.findIndex(({ name }) => name === 'default');
  if (at === -1) return [argument];
  const behind = argument.filters.slice(at).flatMap(({ args }) => args);
  return behind.flatMap((given) => (Array.isArray(given) ? (given[1] ?? []) : given));
}

/** The names of a path as far as they are written out: `a[b].c` is `a`. */
function pathOf({ segments }: Variable): string[] {
  const end = segments.findIndex((segment) => typeof segment !== 'string');
  return segments.slice(0, end === -1 ? segments.length : end).map(String);
}
