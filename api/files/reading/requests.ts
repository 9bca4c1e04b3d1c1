import { bug, type FieldProblem } from '../../../domain/errors.ts';
import type { FileKind } from '../../../domain/files/kinds.ts';
import { findTemplateFault } from '../../../domain/template/render.ts';
import { readRequest, unknownField, unknownIn } from '../../http/validation.ts';
import { segmentReader, templateReader, topicReader } from './content-readers.ts';
import type { Fields, KindReader } from './kind-reader.ts';
import {
  type FileIds,
  type FileProblem,
  problemAt,
  type ReadObject,
  type StoredObject,
} from './objects.ts';
import { MadeIds, References } from './references.ts';

/** Makes requests of the objects in files: what a client would send to their own endpoints. */

const readers = {
  template: templateReader,
  segment: segmentReader,
  topic: topicReader,
};

type Readers = typeof readers;

/** The checked body of the request that creates an object or replaces all that its file says. */
export type FileRequest = {
  [Kind in keyof Readers]: {
    kind: Kind;
    body: Readers[Kind] extends KindReader<infer Body> ? Body : never;
  };
}[keyof Readers];

export function readerOf(kind: FileKind): KindReader<unknown> {
  return readers[kind as keyof Readers] as unknown as KindReader<unknown>;
}

/**
 * Returns the request of an object, with references resolved by `ids`.
 * @param stored the object with this key; null: there is none, so the request creates it
 */
export function requestOf(
  object: ReadObject,
  ids: FileIds,
  stored: StoredObject | null,
): { request: FileRequest } | { problems: FileProblem[] } {
  const { kind } = object;
  const reader = readerOf(kind);
  const { body, problems } = check(object, ids);
  if (object.isUnread || problems.length > 0) return { problems };
  const refused = reader.checkStored?.(body, stored) ?? [];
  if (refused.length > 0) return { problems: refused.map((one) => inFile(object, one)) };
  const settled = reader.settle?.(body, stored) ?? body;
  return { request: { kind, body: settled } as FileRequest };
}

/** Returns the problems of an object that do not depend on other objects. */
export function shapeProblems(object: ReadObject): FileProblem[] {
  return check(object, new MadeIds()).problems;
}

/**
 * Returns the value of an object as `GET /files` would write it once it is applied. Fields that the
 * file leaves out, and that stay unchanged then, have the stored value. Two objects are equal if
 * these values are deeply equal. A hidden value that the file changes is `••• (changed)`.
 * @throws Error if the object has problems
 */
export function canonicalOf(object: ReadObject, stored: StoredObject | null): Fields {
  const ids = new MadeIds();
  const { body, problems } = check(object, ids);
  if (object.isUnread || problems.length > 0) throw bug(`${object.path} has problems.`);
  return readerOf(object.kind).valueOf(body, ids.keys, stored);
}

/** Checks an object, and returns the body of its request and all problems. */
function check(object: ReadObject, ids: FileIds): { body: unknown; problems: FileProblem[] } {
  if (object.isUnread) return { body: undefined, problems: [] };
  const reader = readerOf(object.kind);
  const references = new References(ids);
  const body = reader.bodyOf(object, references);
  const read = readRequest({ body: reader.body }, { params: undefined, query: undefined, body });
  const fields = [
    ...unknownIn(reader.file, object.value).map(unknownField),
    ...read.errors,
    ...references.problems,
    ...(reader.check?.(read.parts.body ?? {}, object) ?? []),
  ];
  const found = new Map<string, FileProblem>();
  for (const problem of [...fields.map((one) => inFile(object, one)), ...bodyProblems(object)]) {
    // A strict schema reports an unknown key once more.
    found.set(`${problem.code} ${problem.place ?? ''}`, problem);
  }
  return { body: read.parts.body, problems: [...found.values()] };
}

/** Returns the error of a template's body, with its position in the file. */
function bodyProblems(object: ReadObject): FileProblem[] {
  const { body } = object.value;
  const fault = object.kind === 'template' && typeof body === 'string' && findTemplateFault(body);
  if (!fault) return [];
  const problem = problemAt(object, 'body', 'invalid_template', fault.message);
  const { line, column } = fault;
  return [{ ...problem, ...(line !== null && { line: (problem.line ?? 1) + line - 1, column }) }];
}

/** Returns the problem of a request's field as a problem of the file. */
function inFile(object: ReadObject, { field, code, message }: FieldProblem): FileProblem {
  let [place, text] = [field, message];
  for (const [pattern, name] of readerOf(object.kind).renamed ?? []) {
    const former = place.slice(place.lastIndexOf('.') + 1);
    if (!pattern.test(place)) continue;
    place = place.slice(0, place.length - former.length) + name;
    text = text.replaceAll(`\`${former}\``, `\`${name}\``);
  }
  return problemAt(object, place === '' ? null : place, code, text);
}
