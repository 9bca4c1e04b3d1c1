import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Scalar,
  stringify,
} from 'yaml';
import { splitTemplate } from '../../../api/files/reading/front-matter.ts';
import { escapeVariables, fileText } from '../../../domain/files/write.ts';
import { type Fields, Meaning, type RemoteFile } from './meaning.ts';
import { schemaComment } from './schemas.ts';

/** Brings a file of the folder up to date with the project. */

/**
 * Returns the text of a file that means what the server's file means. Only the values that differ
 * are changed: comments, order and variables stay. If this is not possible, the text is replaced.
 */
export function updatedText(
  path: string,
  text: string,
  remote: RemoteFile,
  variables: Readonly<Record<string, string>>,
): string {
  const meaning = new Meaning(remote, variables);
  if (meaning.isSame(path, text)) return text;
  const { wanted } = meaning;
  const current = meaning.of(path, text);
  for (const attempt of current && wanted ? [withPlainScalars, withQuotedScalars, withNodes] : []) {
    const updated = updatedBy(attempt, { path, text, current: current!, wanted: wanted! });
    if (updated !== null && meaning.isSame(path, updated)) return updated;
  }
  return path.endsWith('.json') ? fileText(jsonOf(remote.text), 'json') : newText(remote);
}

/** Returns the text of a file that the folder does not have yet. */
export function newText({ path, text }: RemoteFile): string {
  const comment = schemaComment(path);
  const parts = splitTemplate(text);
  return parts ? text.replace('---\n', () => `---\n${comment}`) : comment + text;
}

function jsonOf(text: string): Record<string, unknown> {
  return parseDocument(text).toJS() as Record<string, unknown>;
}

/** Changes the values in a YAML text; null: it cannot. */
type Attempt = (text: string, current: Fields, wanted: Fields, isJson: boolean) => string | null;

interface Update {
  path: string;
  text: string;
  current: Fields;
  wanted: Fields;
}

function updatedBy(attempt: Attempt, { path, text, current, wanted }: Update): string | null {
  const parts = splitTemplate(text);
  if (!parts) return attempt(text, current, wanted, path.endsWith('.json'));
  const { body: currentBody, ...currentFields } = current;
  const { body, ...fields } = wanted;
  const start = text.length - parts.body.length;
  const from = text.indexOf('\n') + 1;
  const frontMatter = attempt(parts.frontMatter, currentFields, fields, false);
  if (frontMatter === null) return null;
  const closing = text.slice(from + parts.frontMatter.length, start);
  const newBody = currentBody === body ? parts.body : String(body);
  return text.slice(0, from) + frontMatter + closing + newBody;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

const withPlainScalars: Attempt = (text, current, wanted) =>
  withScalars(text, { current, wanted, isQuoted: false });

/** Some texts need quotes inside brackets. */
const withQuotedScalars: Attempt = (text, current, wanted) =>
  withScalars(text, { current, wanted, isQuoted: true });

interface Values {
  current: unknown;
  wanted: unknown;
  /** True if new texts are written in quotes. */
  isQuoted: boolean;
}

/** Replaces single values in the text, so that every other byte stays. */
function withScalars(text: string, values: Values): string | null {
  const edits: Edit[] = [];
  if (!findEdits(parseDocument(text).contents, values, edits)) return null;
  let updated = text;
  for (const edit of edits.toSorted((a, b) => b.start - a.start)) {
    updated = updated.slice(0, edit.start) + edit.text + updated.slice(edit.end);
  }
  return updated;
}

/** Finds the values to replace. Returns false if more than single values differ. */
function findEdits(node: unknown, values: Values, edits: Edit[]): boolean {
  const { current, wanted, isQuoted } = values;
  if (isDeepStrictEqual(current, wanted)) return true;
  if (isMap(node) && isObject(current) && isObject(wanted)) {
    const names = new Set([...Object.keys(current), ...Object.keys(wanted)]);
    return [...names].every((name) => {
      const inner = { current: current[name], wanted: wanted[name], isQuoted };
      if (isDeepStrictEqual(inner.current, inner.wanted)) return true;
      const isInAll = node.has(name) && name in current && name in wanted;
      return isInAll && findEdits(node.get(name, true), inner, edits);
    });
  }
  if (isSeq(node) && Array.isArray(current) && Array.isArray(wanted)) {
    const isAligned = node.items.length === wanted.length && current.length === wanted.length;
    if (!isAligned || !isDeepStrictEqual(current.map(keyOf), wanted.map(keyOf))) return false;
    return wanted.every((item, at) =>
      findEdits(node.items[at], { current: current[at], wanted: item, isQuoted }, edits),
    );
  }
  if (!isScalar(node) || !node.range || Object(wanted) === wanted) return false;
  const written = scalarText(wanted, node, isQuoted);
  if (written === null) return false;
  edits.push({ start: node.range[0], end: node.range[1], text: written });
  return true;
}

/** Returns the key of a step in a list. */
function keyOf(item: unknown): unknown {
  return isObject(item) ? item['key'] : undefined;
}

/** Writes a value in the style of the one that it replaces; null: not on one line. */
function scalarText(value: unknown, { type }: Scalar, isQuoted: boolean): string | null {
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = escapeVariables(value);
  if (type === 'BLOCK_FOLDED' || type === 'BLOCK_LITERAL') return null;
  if (type === 'QUOTE_SINGLE' && !text.includes('\n')) return `'${text.replaceAll("'", "''")}'`;
  if (type === 'QUOTE_DOUBLE' || isQuoted) return JSON.stringify(text);
  const plain = stringify(text, { lineWidth: 0 }).trimEnd();
  return plain.includes('\n') ? JSON.stringify(text) : plain;
}

/** Replaces nodes of the document, which keeps the comments of all others. */
const withNodes: Attempt = (text, current, wanted, isJson) => {
  const document = parseDocument(text);
  if (!isMap(document.contents)) return null;
  mergeNode(document, document.contents, current, wanted);
  if (isJson) return `${JSON.stringify(document.toJS(), null, 2)}\n`;
  return document.toString({ lineWidth: 0, flowCollectionPadding: /\{ \S/.test(text) });
};

/** Returns the node for a wanted value: the given one, changed where it differs, or a new one. */
function mergeNode(document: Document, node: unknown, current: unknown, wanted: unknown): unknown {
  if (isDeepStrictEqual(current, wanted)) return node;
  if (isMap(node) && isObject(current) && isObject(wanted)) {
    for (const name of new Set([...Object.keys(current), ...Object.keys(wanted)])) {
      if (isDeepStrictEqual(current[name], wanted[name])) continue;
      if (!(name in wanted)) node.delete(name);
      else if (node.has(name)) {
        node.set(name, mergeNode(document, node.get(name, true), current[name], wanted[name]));
      } else node.set(name, nodeOf(document, wanted[name], name));
    }
    return node;
  }
  if (isSeq(node) && Array.isArray(current) && Array.isArray(wanted)) {
    node.items = mergeItems(document, node.items, current, wanted);
    return node;
  }
  if (isScalar(node) && Object(wanted) !== wanted) {
    node.value = escaped(wanted);
    return node;
  }
  return nodeOf(document, wanted);
}

/** Keeps the nodes of items that are wanted, by key or equality, in the wanted order. */
function mergeItems(
  document: Document,
  nodes: readonly unknown[],
  current: readonly unknown[],
  wanted: readonly unknown[],
): unknown[] {
  const left = new Set(nodes.keys());
  const take = (isMatch: (value: unknown) => boolean) => {
    for (const at of left) {
      if (!isMatch(current[at])) continue;
      left.delete(at);
      return at;
    }
    return null;
  };
  const style = nodes.find(isCollection)?.flow;
  return wanted.map((item) => {
    const key = keyOf(item);
    const at = take((value) =>
      key === undefined ? isDeepStrictEqual(value, item) : keyOf(value) === key,
    );
    if (at !== null) return mergeNode(document, nodes[at], current[at], item);
    const made = nodeOf(document, item);
    if (isCollection(made)) made.flow = style ?? made.flow ?? false;
    return made;
  });
}

function escaped(value: unknown): unknown {
  return typeof value === 'string' ? escapeVariables(value) : value;
}

/** Makes a node in the style of the server's files. */
function nodeOf(document: Document, value: unknown, name?: string): unknown {
  const text = fileText({ [name ?? 'value']: value }, 'yaml');
  const made = parseDocument(text).get(name ?? 'value', true);
  return made ?? document.createNode(value);
}
