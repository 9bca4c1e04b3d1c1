import {
  type PropertyAccessToken,
  Tag,
  type Template,
  toValueSync,
  TypeGuards,
  Value,
  type ValueToken,
} from 'liquidjs';
import { type Place, PlaceMap, type TemplateFault } from './faults.ts';
import { isFilter, parseLiquid } from './liquid.ts';
import { compileTemplate } from './render.ts';
import { readTemplate } from './source.ts';

/** Facts about a template that need no values. */
export interface Inspection {
  /** null: the template is valid Liquid. With a fault, the lists are empty. */
  fault: TemplateFault | null;
  unknownFilters: ({ name: string } & Place)[];
  /** Filters after `??`, where they are not applied but belong to the fallback text. */
  textFilters: ({ name: string } & Place)[];
  /**
   * The names that the template reads, each once, with the first position. Names that have a
   * fallback (`??`, `default`), that a condition tests, or that tags of the template set are left
   * out.
   */
  names: ({ path: string[] } & Place)[];
}

/** Returns an inspection that has found nothing, except perhaps a fault. */
export function uninspected(fault: TemplateFault | null): Inspection {
  return { fault, unknownFilters: [], textFilters: [], names: [] };
}

/** Inspects a template without a time limit. Never throws. */
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
    // The template is nested too deeply to be traversed.
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
  const names = new NameFinder();
  names.visit(parseLiquid(map.liquid, false));
  return names.missed().map(({ path, at }) => ({ path, ...map.at(at) }));
}

/** A name that a template reads, as far as it is literal, with its offset in the translation. */
interface ReadName {
  path: string[];
  at: number;
}

/** Tags whose arguments are conditions. */
const conditions = ['if', 'unless', 'case'];

/** Traverses a template once, in order, and collects its names. */
class NameFinder {
  /** Names that must have a value, each with its first position. */
  readonly #read = new Map<string, ReadName>();
  /** Names that a condition tests. */
  readonly #asked = new Set<string>();
  /** Names that a tag such as `assign` sets for the rest of the template. */
  readonly #set = new Set<string>();
  /** Names that an enclosing block such as `for` sets, each with the number of such blocks. */
  readonly #inBlocks = new Map<string, number>();

  missed(): ReadName[] {
    return [...this.#read].flatMap(([name, found]) => (this.#asked.has(name) ? [] : [found]));
  }

  visit(nodes: readonly Template[]): void {
    for (const node of nodes) {
      const isCondition = node instanceof Tag && conditions.includes(node.name);
      for (const argument of node.arguments?.() ?? []) {
        if (isCondition) this.#note(argument, ({ path }) => this.#asked.add(path.join('.')));
        else for (const given of withoutDefaults(argument)) this.#note(given, this.#noteRead);
      }
      for (const { content } of node.localScope?.() ?? []) this.#set.add(content);
      if (!node.children) continue;
      const names = [...(node.blockScope?.() ?? [])];
      for (const name of names) this.#inBlocks.set(name, (this.#inBlocks.get(name) ?? 0) + 1);
      this.visit(toValueSync(node.children(false, true)));
      for (const name of names) this.#inBlocks.set(name, (this.#inBlocks.get(name) ?? 1) - 1);
    }
  }

  readonly #noteRead = (found: ReadName): void => {
    const [root = ''] = found.path;
    const name = found.path.join('.');
    const isOwn = this.#set.has(root) || (this.#inBlocks.get(root) ?? 0) > 0;
    if (root !== '' && !isOwn && !this.#read.has(name)) this.#read.set(name, found);
  };

  #note(argument: Value | ValueToken, note: (found: ReadName) => void): void {
    if (!(argument instanceof Value)) return namesIn(argument, note);
    for (const token of argument.initial.postfix) namesIn(token, note);
    for (const { args } of argument.filters)
      for (const given of args) namesIn(valueOf(given), note);
  }
}

type Given = Value['filters'][number]['args'][number];

/** Returns the value of a filter's argument, which may be a named argument. */
function valueOf(given: Given): ValueToken | undefined {
  return Array.isArray(given) ? given[1] : given;
}

/** Finds the names in a part of an expression, including names in brackets. */
function namesIn(token: unknown, note: (found: ReadName) => void): void {
  if (TypeGuards.isRangeToken(token)) {
    namesIn(token.lhs, note);
    namesIn(token.rhs, note);
  } else if (TypeGuards.isPropertyAccessToken(token)) {
    const { path, at } = nameOf(token);
    if (token.variable) namesIn(token.variable, note);
    else note({ path, at });
    for (const prop of token.props.slice(1)) namesIn(prop, note);
  }
}

/** Returns the literal names of a path: `a[b].c` gives `a`, and `[a].c` also gives `a`. */
function nameOf(token: PropertyAccessToken): ReadName {
  const path: string[] = [];
  for (const prop of token.props) {
    if (TypeGuards.isPropertyAccessToken(prop)) {
      if (path.length === 0) path.push(...nameOf(prop).path);
      break;
    }
    if (!TypeGuards.isQuotedToken(prop) && !TypeGuards.isWordToken(prop)) break;
    path.push(prop.content);
  }
  return { path, at: token.begin };
}

/**
 * Returns the parts of an expression whose names must have a value. With the filter `default`, only
 * the arguments of this and later filters are such parts.
 */
function withoutDefaults(argument: Value | ValueToken): (Value | ValueToken)[] {
  if (!(argument instanceof Value)) return [argument];
  const at = argument.filters.findIndex(({ name }) => name === 'default');
  if (at === -1) return [argument];
  return argument.filters
    .slice(at)
    .flatMap(({ args }) => args.flatMap((given) => valueOf(given) ?? []));
}
