import { setImmediate } from 'node:timers/promises';
import { v7 as uuidV7 } from 'uuid';
import { type FileObject, findFileObjects, listFileObjects } from '../../../db/files/objects.ts';
import type { PlanRead } from '../../../db/files/plans.ts';
import { domainOf } from '../../../domain/email-address.ts';
import { invalidField } from '../../../domain/errors.ts';
import { type FieldDifference, fileDifferences } from '../../../domain/files/difference.ts';
import {
  type FileKind,
  fileKinds,
  type FilePattern,
  matchesFile,
} from '../../../domain/files/kinds.ts';
import {
  type FileReference,
  type ReferredKind,
  referencesIn,
} from '../../../domain/files/references.ts';
import { limits } from '../../../domain/limits.ts';
import type { PlannedChange } from '../changes.ts';
import { type Reader, readStoredFiles, type StoredFile } from '../contents.ts';
import { hashOf, nameOf } from '../hashes.ts';
import { listPolicies } from '../policies.ts';
import { sealText } from '../sealed-files.ts';
import type { FileIds, FileProblem, ReadObject } from '../reading/objects.ts';
import { canonicalOf, requestOf } from '../reading/requests.ts';

/** Compares the files of a request with the stored objects. */

type Fields = Readonly<Record<string, unknown>>;

export interface ComparedChange extends PlannedChange {
  fields: FieldDifference[];
  fieldCount: number;
  /** The objects that its file refers to. */
  references: readonly FileReference[];
  /** The value after the change; null: it is deleted. */
  value: Fields | null;
}

export interface Comparison {
  /** By kind and key. */
  changes: ComparedChange[];
  ids: FileIds;
  reads: PlanRead[];
  unchanged: number;
  /** Objects that have a file or are deleted, except policies. */
  managed: number;
  problems: FileProblem[];
}

export interface Patterns {
  prune: readonly FilePattern[];
  protect: readonly FilePattern[];
}

/** Maximum number of objects without a file that the files of a plan refer to. */
const referredMax = 1_000;

/** @throws Problem VALIDATION_ERROR if the plan is too large */
export async function compareFiles(
  reader: Reader & { checkTime: () => void },
  objects: readonly ReadObject[],
  patterns: Patterns,
): Promise<Comparison> {
  const files = objects.map((object) => ({ object, references: referencesIn(object.value) }));
  const known = await findKnown(reader, files);
  const given = files.map((file) => givenOf(file, known));
  const ids = idsOf(given, known);
  const deleted = await listDeleted(reader, given, patterns);
  const referred = listReferred(given, known, deleted);
  const found: Pick<Comparison, 'changes' | 'unchanged' | 'problems'> = {
    changes: [],
    unchanged: 0,
    problems: [],
  };
  for (const one of given.filter(({ current }) => current === null)) {
    reader.checkTime();
    note(found, comparedOf(one, null, ids));
    await setImmediate();
  }
  const pruned = new Set(deleted);
  const described = new Map(given.map((one) => [one.current, one]));
  const hashes = new Map<string, string>();
  const current = given.flatMap((one) => one.current ?? []);
  for await (const stored of readStoredFiles(
    reader,
    byKind([...current, ...deleted, ...referred]),
  )) {
    reader.checkTime();
    hashes.set(nameOf(stored.object), sealText(reader.cipher, hashOf(stored)));
    const one = described.get(stored.object);
    if (one) note(found, comparedOf(one, stored, ids));
    else if (pruned.has(stored.object)) found.changes.push(deletionOf(stored.object));
  }
  const managed = [...current, ...deleted].filter(({ id }) => id !== null).length;
  const reads = readsOf({
    given,
    others: [...deleted, ...referred],
    hashes,
    changes: found.changes,
  });
  return { ...found, changes: sorted(found.changes), ids, reads, managed };
}

/** A file of the request. */
interface GivenFile {
  object: ReadObject;
  references: readonly FileReference[];
  /** The stored object that the file describes; null: it is new. */
  current: FileObject | null;
  id: string | null;
}

function givenOf(
  file: Pick<GivenFile, 'object' | 'references'>,
  known: ReadonlyMap<string, FileObject>,
): GivenFile {
  const { kind, key, renamedFrom } = file.object;
  const former = renamedFrom === null ? undefined : known.get(nameOf({ kind, key: renamedFrom }));
  const current = known.get(nameOf({ kind, key })) ?? former ?? null;
  const isPolicy = kind === 'send-policy' || kind === 'consent-policy';
  return { ...file, current, id: current ? current.id : isPolicy ? null : uuidV7() };
}

/** Finds the stored objects that files describe or refer to, by `nameOf`. */
async function findKnown(
  { db, projectId }: Reader,
  files: readonly { object: ReadObject; references: readonly FileReference[] }[],
): Promise<Map<string, FileObject>> {
  const named = files.flatMap(({ object: { kind, key, renamedFrom }, references }) => [
    { kind, key },
    ...(renamedFrom === null ? [] : [{ kind, key: renamedFrom }]),
    ...references,
  ]);
  const distinct = [...new Map(named.map((one) => [nameOf(one), one])).values()];
  const objects = [
    ...(await findFileObjects(db, projectId, distinct)),
    ...(await listPolicies(db, projectId)),
  ];
  return new Map(objects.map((object) => [nameOf(object), object]));
}

/** Lists the objects that have no file and match a pattern of `prune`, and none of `protect`. */
async function listDeleted(
  { db, projectId }: Reader,
  given: readonly GivenFile[],
  { prune, protect }: Patterns,
): Promise<FileObject[]> {
  if (prune.length === 0) return [];
  const max = limits.fileObjects + given.length;
  const matching = await listFileObjects(db, projectId, { only: prune, max });
  const described = new Set(given.map(({ current }) => current?.id));
  const deleted = matching.filter((one) => !described.has(one.id) && !matchesFile(protect, one));
  if (deleted.length > limits.fileObjects || matching.length > max) {
    const message = `A plan deletes at most ${limits.fileObjects} objects. Choose fewer, for example template/shop-*.`;
    throw invalidField('prune', 'too_big', message);
  }
  return deleted;
}

/** Lists the stored objects without a file that files refer to. */
function listReferred(
  given: readonly GivenFile[],
  known: ReadonlyMap<string, FileObject>,
  deleted: readonly FileObject[],
): FileObject[] {
  const others = new Set([
    ...given.flatMap(({ current }) => current?.id ?? []),
    ...deleted.map(({ id }) => id),
  ]);
  const named = new Set(given.flatMap(({ references }) => references.map(nameOf)));
  const referred = [...known.values()].filter(
    (one) => named.has(nameOf(one)) && !others.has(one.id),
  );
  if (referred.length <= referredMax) return referred;
  const message = `Files refer to at most ${referredMax} objects that have no file. Add files of some of them.`;
  throw invalidField('files', 'too_big', message);
}

/**
 * Returns the ids by which references are resolved: first those of the files. The former key of a
 * renamed object has none.
 */
function idsOf(given: readonly GivenFile[], known: ReadonlyMap<string, FileObject>): FileIds {
  const maps = {
    template: new Map<string, string>(),
    segment: new Map<string, string>(),
    topic: new Map<string, string>(),
  } satisfies Record<ReferredKind, Map<string, string>>;
  const set = (kind: FileKind, key: string, id: string | null) => {
    if (id !== null && Object.hasOwn(maps, kind)) maps[kind as ReferredKind].set(key, id);
  };
  const described = new Set(given.map(({ current }) => current));
  for (const one of known.values()) if (!described.has(one)) set(one.kind, one.key, one.id);
  for (const { object, id } of given) set(object.kind, object.key, id);
  return { templates: maps.template, segments: maps.segment, topics: maps.topic };
}

type Compared = { problems: readonly FileProblem[] } | { change: ComparedChange | null };

function note(
  found: Pick<Comparison, 'changes' | 'unchanged' | 'problems'>,
  compared: Compared,
): void {
  if ('problems' in compared) found.problems.push(...compared.problems);
  else if (compared.change) found.changes.push(compared.change);
  else found.unchanged += 1;
}

/** Compares a file with its stored object. Returns null if both mean the same. */
function comparedOf(given: GivenFile, stored: StoredFile | null, ids: FileIds): Compared {
  const { object, references, current, id } = given;
  const made = requestOf(object, ids, stored);
  if ('problems' in made) return made;
  const value = canonicalOf(object, stored);
  const { fields, fieldCount } = fileDifferences(stored?.value ?? null, value);
  const { kind, key, path } = object;
  if (stored && current && current.key !== key) {
    const renamed = { at: 'key', before: current.key, after: key };
    return compared([renamed, ...fields].slice(0, limits.planFields), fieldCount + 1);
  }
  return stored && fieldCount === 0 ? { change: null } : compared(fields, fieldCount);

  function compared(shown: FieldDifference[], count: number): Compared {
    const change = {
      action: stored ? ('update' as const) : ('create' as const),
      kind,
      key,
      id: stored ? id : null,
      name: nameIn(kind, value) ?? key,
      path,
    };
    const difference = { fields: copied(shown), fieldCount: count };
    const kept = stored && withoutBody(stored);
    return { change: { change, id, object, stored: kept, ...difference, references, value } };
  }
}

/** Returns what later steps need of a stored object. A plan may have 500 bodies of 2 MB. */
function withoutBody(stored: StoredFile): StoredFile {
  const { body: _, ...value } = stored.value;
  return { ...stored, value };
}

/** Returns a copy, because a cut text refers to the whole text. */
function copied<T>(fields: T): T {
  return JSON.parse(JSON.stringify(fields)) as T;
}

function deletionOf({ kind, key, id, name }: FileObject): ComparedChange {
  const change = { action: 'delete' as const, kind, key, id, name, path: null };
  return {
    change,
    id,
    object: null,
    stored: null,
    fields: [],
    fieldCount: 0,
    references: [],
    value: null,
  };
}

/** Returns the name of an object, of a subscription its description or host; undefined: none. */
function nameIn(kind: FileKind, { name, description, url }: Fields): string | undefined {
  if (kind !== 'event-subscription') return name as string | undefined;
  const text = typeof description === 'string' && description !== '' ? description : null;
  return text ?? (URL.canParse(String(url)) ? new URL(String(url)).hostname : undefined);
}

/** Returns what a plan depends on. A renamed object is named by both keys. */
function readsOf(compared: {
  given: readonly GivenFile[];
  others: readonly FileObject[];
  hashes: ReadonlyMap<string, string>;
  changes: readonly ComparedChange[];
}): PlanRead[] {
  const { given, others, hashes, changes } = compared;
  const domains = new Map(changes.map((one) => [one.object, senderDomains(one)]));
  const stored = (one: FileObject): PlanRead => {
    const { kind, key, id } = one;
    return { kind, key, id, hash: hashes.get(nameOf(one)) ?? null };
  };
  const reads = given.flatMap(({ object, current }): PlanRead[] => {
    const { kind, key } = object;
    const used = domains.get(object) ?? [];
    const more = used.length > 0 ? { domains: used } : {};
    if (current?.key === key) return [{ ...stored(current), ...more }];
    const missing = { kind, key, id: null, hash: null, ...more };
    return current ? [missing, stored(current)] : [missing];
  });
  return [...reads, ...others.map(stored)];
}

function senderDomains({ value }: ComparedChange): string[] {
  const from = value?.['from'];
  return typeof from === 'string' ? [domainOf(from)] : [];
}

function sorted(changes: readonly ComparedChange[]): ComparedChange[] {
  const order = byKind(changes.map(({ change }) => change));
  const places = new Map(order.map((change, place) => [change, place]));
  return changes.toSorted(
    (one, other) => (places.get(one.change) ?? 0) - (places.get(other.change) ?? 0),
  );
}

function byKind<T extends { kind: FileKind; key: string }>(objects: readonly T[]): T[] {
  const order = ({ kind }: T) => fileKinds.indexOf(kind);
  return objects.toSorted(
    (one, other) => order(one) - order(other) || (one.key < other.key ? -1 : 1),
  );
}
