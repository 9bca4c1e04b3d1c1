import { Composer, CST, isMap, isScalar, isSeq, Lexer, type Pair, Parser } from 'yaml';
import type { FieldCode } from '../../../domain/errors.ts';
import { cutPlace, placeMax, placeOfNames } from '../../../domain/files/places.ts';
import { lastIndexAt, lineStarts } from '../../../domain/template/faults.ts';

/**
 * Reads a YAML or JSON file as a plain value. YAML is of version 1.2 with the core schema, and
 * without the parts that make a value larger than its text, or hide what it is: anchors, aliases,
 * tags and merge keys.
 */

/** Maximum number of nested lists and objects. */
const levelsMax = 50;
/** Maximum number of mistakes that are reported for one file. */
const mistakesMax = 100;
/**
 * Maximum number of words and signs of one file. A workflow of the maximum size has fewer; reading
 * this many takes two seconds.
 */
const lexemesMax = 500_000;
/** Maximum number of places whose positions are kept after the file was read. */
const placesMax = 2_000;

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
  /** Returns the positions of the outer places, at most 2,000. */
  places: () => Map<string, TextPosition>;
}

/** A place of a file, and the node of the document there. */
interface Part {
  path: readonly string[];
  /** The node whose position is the position of the place. */
  named: unknown;
  node: unknown;
}

/**
 * @param firstLine the line of the file on which the text begins
 */
export function readDocument(text: string, format: 'yaml' | 'json', firstLine = 1): ReadDocument {
  const positions = new Positions(text, firstLine);
  const mistakes: Mistake[] = [];
  const refuse: Refuse = (message, at, { place = null, code = 'invalid_string' } = {}) => {
    if (mistakes.length >= mistakesMax) return;
    mistakes.push({ place, position: at === null ? null : positions.at(at), code, message });
  };
  const unread: ReadDocument = {
    value: undefined,
    mistakes,
    placeOf: () => null,
    places: () => new Map(),
  };
  if (format === 'json' && !isJson(text, refuse)) return unread;
  const tokens = tokensOf(text, refuse);
  if (tokens === null) return unread;
  const composer = new Composer({ version: '1.2', schema: 'core', uniqueKeys: false });
  const [document] = composer.compose(tokens, true, text.length);
  for (const { message, pos } of document?.errors ?? []) {
    refuse(`Is not valid YAML. ${message}`, pos[0]);
  }
  if (!document || mistakes.length > 0) return unread;
  const { contents } = document;
  return {
    value: new Values(refuse).valueOf(contents, []),
    mistakes,
    placeOf: (place) => positions.of(contents, place),
    places: () => positions.all(contents),
  };
}

type Refuse = (
  message: string,
  at: number | null,
  more?: { place?: string | null; code?: FieldCode },
) => void;

/** Returns false and refuses the text if it is not JSON. */
function isJson(text: string, refuse: Refuse): boolean {
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
function tokensOf(text: string, refuse: Refuse): CST.Token[] | null {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let isContent = false;
  let refused = 0;
  let lexemes = 0;
  let documents = 0;
  const take = (more: Iterable<CST.Token>) => {
    for (const token of more) {
      tokens.push(token);
      if (token.type === 'document' && ++documents === 2) refuse(oneDocument, token.offset);
    }
  };
  for (const lexeme of new Lexer().lex(text)) {
    const message = isContent ? undefined : refusedTokens[CST.tokenType(lexeme) ?? ''];
    if (message !== undefined) {
      refuse(message, parser.offset);
      refused += 1;
    }
    isContent = lexeme === CST.SCALAR;
    take(parser.next(lexeme));
    lexemes += 1;
    if (lexemes > lexemesMax) {
      refuse('Has too many values. Split it.', parser.offset, { code: 'too_big' });
    } else if (levelsOf(parser) > levelsMax) {
      refuse(`Must not have more than ${levelsMax} levels of nesting.`, parser.offset);
    } else if (refused < mistakesMax && documents < 2) continue;
    return null;
  }
  take(parser.end());
  return refused > 0 || documents > 1 ? null : tokens;
}

const oneDocument = 'Must be one YAML document.';

function levelsOf({ stack }: Parser): number {
  // The stack also has the document and the value that is being read.
  if (stack.length <= levelsMax) return 0;
  return stack.filter(({ type }) => /-(?:map|seq|collection)$/.test(type)).length;
}

/** Makes plain values of the nodes of a document. */
class Values {
  readonly #refuse: Refuse;

  constructor(refuse: Refuse) {
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
    this.#refuse(message, startOf(node), { place: path.length === 0 ? null : placeOfNames(path) });
  }
}

/**
 * Returns the name of a list's item in a place: the key of a step, otherwise the index.
 * @param list the names that lead to the list
 */
export function nameInList(item: unknown, index: number, list: readonly string[]): string {
  if (list.length !== 1 || list[0] !== 'steps') return String(index);
  const key: unknown = isMap(item) ? item.get('key') : (Object(item) as { key?: unknown }).key;
  return typeof key === 'string' && key !== '' ? cutPlace(key) : String(index);
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
    const index = Math.max(
      0,
      lastIndexAt(this.#lines, offset, (start) => start),
    );
    return { line: index + this.#firstLine, column: offset - this.#lines[index]! + 1 };
  }

  /** Returns the position of a place, or of the innermost place that contains it. */
  of(contents: unknown, place: string): TextPosition | null {
    let part: Part = { path: [], named: contents, node: contents };
    let at = startOf(contents);
    for (let rest = place; rest !== '';) {
      const found = partAt(part, rest);
      if (!found) break;
      ({ part, rest } = found);
      at = startOf(part.named) ?? at;
    }
    return at === null ? null : this.at(at);
  }

  /** Returns the positions of the outer places that are not too long. */
  all(contents: unknown): Map<string, TextPosition> {
    const found = new Map<string, TextPosition>();
    const parts: Part[] = [{ path: [], named: contents, node: contents }];
    for (const part of parts) {
      const at = startOf(part.named);
      if (at !== null) found.set(part.path.join('.'), this.at(at));
      if (parts.length >= placesMax) continue;
      const inner = partsOf(part).slice(0, placesMax);
      parts.push(...inner.filter(({ path }) => path.join('.').length <= placeMax));
    }
    return found;
  }
}

/**
 * Returns the part with whose name a place begins, and the rest of the place. Of several names, the
 * longest is meant, because a key may contain dots.
 */
function partAt(whole: Part, place: string): { part: Part; rest: string } | null {
  let best: { part: Part; rest: string } | null = null;
  for (const part of partsOf(whole)) {
    const rest = restAfter(place, part.path.at(-1) ?? '');
    if (rest !== null && (!best || rest.length < best.rest.length)) best = { part, rest };
  }
  return best;
}

/** Returns the values of an object, or the items of a list. */
function partsOf({ node, path }: Part): Part[] {
  if (isMap(node)) {
    return node.items.map(({ key, value }) => ({
      path: [...path, keyText(key) ?? ''],
      named: key,
      node: value,
    }));
  }
  if (!isSeq(node)) return [];
  return node.items.map((item, index) => ({
    path: [...path, nameInList(item, index, path)],
    named: item,
    node: item,
  }));
}

/** Returns what follows a name in a place; null: the place does not begin with the name. */
function restAfter(place: string, name: string): string | null {
  if (place === name) return '';
  return place.startsWith(`${name}.`) ? place.slice(name.length + 1) : null;
}
