import {
  Composer,
  CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  Parser,
} from 'yaml';
import type { FieldCode } from '../../../domain/errors.ts';
import { lineStarts } from '../../../domain/template/faults.ts';

/**
 * Reads a YAML or JSON file as a plain value. YAML is of version 1.2 with the core schema, and
 * without the parts that make a value larger than its text, or hide what it is: anchors, aliases,
 * tags and merge keys.
 */

/** Maximum number of nested lists and objects. */
const levelsMax = 50;
/** Maximum number of mistakes that are reported for one file. */
const mistakesMax = 100;

/** The position of a character in a file. Both numbers count from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

export interface Mistake {
  /** Dot path of the value inside the file; null: the file as a whole. */
  place: string | null;
  position: TextPosition | null;
  code: FieldCode;
  message: string;
}

export interface ReadDocument {
  /** undefined: the text cannot be read, or is empty. */
  value: unknown;
  mistakes: Mistake[];
  /**
   * Returns the position of a place: of the key in an object, of the item in a list. If the place
   * does not exist, it is the position of the innermost place that contains it.
   */
  placeOf: (place: string) => TextPosition | null;
}

/**
 * @param firstLine the line of the file on which the text begins
 */
export function readDocument(text: string, format: 'yaml' | 'json', firstLine = 1): ReadDocument {
  const positions = new Positions(text, firstLine);
  const mistakes: Mistake[] = [];
  const refuse = (message: string, at: number | null, place: string | null = null) => {
    if (mistakes.length >= mistakesMax) return;
    const position = at === null ? null : positions.at(at);
    mistakes.push({ place, position, code: 'invalid_string', message });
  };
  const unread: ReadDocument = { value: undefined, mistakes, placeOf: () => null };
  if (format === 'json' && !isJson(text, refuse)) return unread;
  const tokens = tokensOf(text, refuse);
  if (tokens === null) return unread;
  const composer = new Composer({ version: '1.2', schema: 'core', uniqueKeys: false });
  const documents = [...composer.compose(tokens, true, text.length)];
  const [document] = documents;
  for (const { errors } of documents) {
    for (const { message, pos } of errors) refuse(`Is not valid YAML. ${message}`, pos[0]);
  }
  if (documents.length > 1) {
    refuse('Must be one YAML document.', documents[1]!.range[0]);
  }
  if (!document || mistakes.length > 0) return unread;
  const value = new Values(refuse).valueOf(document.contents, []);
  return { value, mistakes, placeOf: (place) => positions.of(document, place) };
}

/** Returns false and refuses the text if it is not JSON. */
function isJson(text: string, refuse: (message: string, at: number | null) => void): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''));
    return true;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const [, at] = /at position (\d+)/.exec(message) ?? [];
    refuse('Is not valid JSON.', at === undefined ? 0 : Number(at));
    return false;
  }
}

const refusedTokens: Readonly<Record<string, string>> = {
  anchor: 'Anchors (`&name`) are not allowed. Repeat the value.',
  alias: 'Aliases (`*name`) are not allowed. Repeat the value.',
  tag: 'Tags (`!name`) are not allowed. Leave the tag out.',
  'directive-line': 'Directives (lines that begin with %) are not allowed. Remove the line.',
};

/**
 * Splits a text into the tokens of YAML. Returns null if it refuses the text, before a value is
 * made: nested values are read by recursion, which has a limit.
 */
function tokensOf(
  text: string,
  refuse: (message: string, at: number | null) => void,
): CST.Token[] | null {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let isContent = false;
  let isRefused = false;
  let refused = 0;
  for (const lexeme of new Lexer().lex(text)) {
    const message = isContent ? undefined : refusedTokens[CST.tokenType(lexeme) ?? ''];
    if (message !== undefined && refused < mistakesMax) {
      refuse(message, parser.offset);
      refused += 1;
      isRefused = true;
    }
    isContent = lexeme === CST.SCALAR;
    tokens.push(...parser.next(lexeme));
    if (levelsOf(parser) > levelsMax) {
      refuse(`Must not have more than ${levelsMax} levels of nesting.`, parser.offset);
      return null;
    }
  }
  tokens.push(...parser.end());
  return isRefused ? null : tokens;
}

function levelsOf({ stack }: Parser): number {
  // The stack also has the document and the value that is being read.
  if (stack.length <= levelsMax) return 0;
  return stack.filter(({ type }) => /-(?:map|seq|collection)$/.test(type)).length;
}

/** Makes plain values of the nodes of a document. */
class Values {
  readonly #refuse: (message: string, at: number | null, place: string | null) => void;

  constructor(refuse: (message: string, at: number | null, place: string | null) => void) {
    this.#refuse = refuse;
  }

  valueOf(node: unknown, path: readonly string[]): unknown {
    if (isMap(node)) return this.#object(node.items, path);
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.valueOf(item, [...path, nameInList(item, index, path)]),
      );
    }
    if (!isScalar(node)) return null;
    const { value } = node;
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    this.#wrong('Must be a finite number.', node, path);
    return null;
  }

  #object(items: readonly Pair[], path: readonly string[]): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    for (const { key, value } of items) {
      const name = keyText(key);
      if (name === null) {
        this.#wrong('A key must be text.', key, path);
        continue;
      }
      const at = [...path, name];
      if (name === '<<' && isScalar(key) && key.type === 'PLAIN') {
        this.#wrong('Merge keys (`<<`) are not allowed. Repeat the values.', key, at);
      } else if (entries.has(name)) {
        this.#wrong('Another value with this key comes before it. Remove one.', key, at);
      } else entries.set(name, this.valueOf(value, at));
    }
    // Object.fromEntries defines own properties, so `__proto__` stays an ordinary key.
    return Object.fromEntries(entries);
  }

  #wrong(message: string, node: unknown, path: readonly string[]): void {
    this.#refuse(message, startOf(node), path.length === 0 ? null : path.join('.'));
  }
}

/**
 * Returns the name of a list's item in a place: the key of a step, otherwise the index.
 * @param list the names that lead to the list
 */
export function nameInList(item: unknown, index: number, list: readonly string[]): string {
  if (list.length !== 1 || list[0] !== 'steps') return String(index);
  const key: unknown = isMap(item) ? item.get('key') : (Object(item) as { key?: unknown }).key;
  return typeof key === 'string' && key !== '' ? key : String(index);
}

/** Returns a key as text; null: it is no text, number or boolean. */
function keyText(key: unknown): string | null {
  const value = isScalar(key) ? key.value : null;
  const isText = typeof value === 'string' || typeof value === 'number';
  return isText || typeof value === 'boolean' ? String(value) : null;
}

function startOf(node: unknown): number | null {
  const { range } = Object(node) as { range?: [number, number, number] | null };
  return range?.[0] ?? null;
}

/** Finds positions in a text. */
class Positions {
  readonly #text: string;
  readonly #firstLine: number;
  #lines: number[] | undefined;

  constructor(text: string, firstLine: number) {
    this.#text = text;
    this.#firstLine = firstLine;
  }

  at(offset: number): TextPosition {
    this.#lines ??= lineStarts(this.#text);
    const next = this.#lines.findLastIndex((start) => start <= offset);
    const index = Math.max(0, next);
    return { line: index + this.#firstLine, column: offset - this.#lines[index]! + 1 };
  }

  of(document: Document.Parsed, place: string): TextPosition | null {
    let node: unknown = document.contents;
    let rest = place;
    let at = startOf(node);
    const path: string[] = [];
    while (rest !== '') {
      const found = partAt(node, rest, path);
      if (!found) break;
      at = startOf(found.named) ?? at;
      path.push(found.name);
      ({ node, rest } = found);
    }
    return at === null ? null : this.at(at);
  }
}

/** A part of an object or list. */
interface Part {
  name: string;
  /** The node whose position is the position of the part. */
  named: unknown;
  node: unknown;
}

/** Returns the part of a node with whose name a place begins, and the rest of the place. */
function partAt(
  node: unknown,
  place: string,
  path: readonly string[],
): (Part & { rest: string }) | null {
  let best: (Part & { rest: string }) | null = null;
  for (const part of partsOf(node, path)) {
    const rest = restAfter(place, part.name);
    // Of several names, the longest is meant, because a key may contain dots.
    if (rest !== null && (!best || rest.length < best.rest.length)) best = { ...part, rest };
  }
  return best;
}

function partsOf(node: unknown, path: readonly string[]): Part[] {
  if (isMap(node)) {
    return node.items.map(({ key, value }) => ({
      name: keyText(key) ?? '',
      named: key,
      node: value,
    }));
  }
  if (!isSeq(node)) return [];
  return node.items.map((item, index) => ({
    name: nameInList(item, index, path),
    named: item,
    node: item,
  }));
}

/** Returns what follows a name in a place; null: the place does not begin with the name. */
function restAfter(place: string, name: string): string | null {
  if (place === name) return '';
  return place.startsWith(`${name}.`) ? place.slice(name.length + 1) : null;
}
