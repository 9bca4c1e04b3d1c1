import { bug, type FieldProblem } from '../../../domain/errors.ts';
import type { FileKind } from '../../../domain/files/kinds.ts';
import { cutPlace } from '../../../domain/files/places.ts';
import { readRequest, unknownField, unknownIn } from '../../http/validation.ts';
import { nameInList } from './document.ts';
import { segmentReader, templateReader, topicReader } from './content-readers.ts';
import type { Fields, KindReader } from './kind-reader.ts';
import { consentPolicyReader, sendPolicyReader, subscriptionReader } from './policy-readers.ts';
import { workflowReader } from './workflow-reader.ts';
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
  workflow: workflowReader,
  template: templateReader,
  segment: segmentReader,
  topic: topicReader,
  'event-subscription': subscriptionReader,
  'send-policy': sendPolicyReader,
  'consent-policy': consentPolicyReader,
};

type Readers = typeof readers;

/** The checked body of the request that creates an object or replaces all that its file says. */
export type FileRequest = {
  [Kind in keyof Readers]: {
    kind: Kind;
    body: Readers[Kind] extends KindReader<infer _, infer Request> ? Request : never;
  };
}[keyof Readers];

function readerOf(kind: FileKind): KindReader<unknown> {
  return readers[kind] as unknown as KindReader<unknown>;
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
  const refused = reader.checkStored?.(body, stored, object) ?? [];
  if (refused.length > 0) return { problems: refused.map((one) => inFile(object, one)) };
  const settled = reader.settle?.(body, stored, object) ?? body;
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
  return readerOf(object.kind).valueOf(body, ids.keys, stored, object);
}

/** Checks an object, and returns the body of its request and all problems. */
function check(object: ReadObject, ids: FileIds): { body: unknown; problems: FileProblem[] } {
  if (object.isUnread) return { body: undefined, problems: [] };
  const reader = readerOf(object.kind);
  const references = new References(ids);
  const body = reader.bodyOf(object, references);
  const read = readRequest({ body: reader.body }, { params: undefined, query: undefined, body });
  const unknown = unknownIn(reader.file, object.value).map(unknownField);
  const fields = [
    ...read.errors,
    ...references.problems,
    ...(reader.check?.(read.parts.body ?? {}, object) ?? []),
  ];
  const found = new Map<string, FileProblem>();
  const all = [
    ...unknown.map(({ field, code, message }) =>
      problemAt(object, withStepKeys(field, object), code, message),
    ),
    ...fields.map((one) => inFile(object, one)),
  ];
  // A strict schema reports an unknown key once more.
  for (const problem of all) {
    const name = `${problem.code} ${problem.place ?? ''}`;
    if (!found.has(name)) found.set(name, problem);
  }
  return { body: read.parts.body, problems: [...found.values()] };
}

/** Returns the problem of a request's field as a problem of the object's file. */
export function inFile(object: ReadObject, problem: FieldProblem): FileProblem {
  const { code, message } = problem;
  const field = cutPlace(problem.field);
  const place = readerOf(object.kind).placeOf?.(field, object) ?? field;
  const [former, name] = [nameOf(field), nameOf(place)];
  const text = message.replaceAll(`\`${former}\``, `\`${name}\``);
  return problemAt(object, place === '' ? null : place, code, text);
}

/** Returns a place with the key of a step in place of its index. */
function withStepKeys(place: string, { value }: ReadObject): string {
  const { steps } = value;
  return place.replace(/^steps\.(\d+)/, (written, index: string) =>
    Array.isArray(steps)
      ? `steps.${nameInList(steps[Number(index)], Number(index), ['steps'])}`
      : written,
  );
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('.') + 1);
}
