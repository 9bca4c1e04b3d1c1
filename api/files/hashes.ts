import { createHash } from 'node:crypto';
import { findSenderDomain } from '../../db/domains/domains.ts';
import { findFileObjects, type FileObject } from '../../db/files/objects.ts';
import type { PlanRead } from '../../db/files/plans.ts';
import type { FileKind } from '../../domain/files/kinds.ts';
import { type Reader, readStoredFiles, type StoredFile } from './contents.ts';
import { listPolicies } from './policies.ts';
import { openText } from './sealed-files.ts';

/** Notices changes of the objects that a plan depends on. */

/** Returns the hash of a stored object, with its hidden values. */
export function hashOf({ value, hidden }: Pick<StoredFile, 'value' | 'hidden'>): string {
  return createHash('sha256')
    .update(JSON.stringify([value, [...hidden]]))
    .digest('base64url');
}

/**
 * Returns the objects that were changed, created or deleted since a plan was made, or whose sender
 * domain is no longer verified. A change that was taken back is none.
 */
export async function findStaleReads(
  reader: Reader,
  reads: readonly PlanRead[],
): Promise<{ kind: FileKind; key: string }[]> {
  const { db, projectId } = reader;
  const objects = [
    ...(await findFileObjects(db, projectId, reads)),
    ...(await listPolicies(db, projectId)),
  ];
  const read = new Set(reads.map(nameOf));
  const hashes = new Map<string, string>();
  for await (const stored of readStoredFiles(
    reader,
    objects.filter((one) => read.has(nameOf(one))),
  )) {
    hashes.set(nameOf(stored.object), hashOf(stored));
  }
  const ids = new Map(objects.map((object) => [nameOf(object), object.id]));
  const gone = await listUnverified(reader, new Set(reads.flatMap((one) => one.domains ?? [])));
  return reads
    .filter((one) => {
      const name = nameOf(one);
      const hash = one.hash === null ? null : openText(reader.cipher, one.hash);
      const isSame = (ids.get(name) ?? null) === one.id && (hashes.get(name) ?? null) === hash;
      return !isSame || one.domains?.some((domain) => gone.has(domain));
    })
    .map(({ kind, key }) => ({ kind, key }));
}

async function listUnverified(
  { db, projectId }: Reader,
  domains: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const unverified = new Set<string>();
  for (const domain of domains) {
    const found = await findSenderDomain(db, projectId, domain);
    if (found?.status !== 'verified') unverified.add(domain);
  }
  return unverified;
}

/** Returns a text that identifies an object by its kind and key. */
export function nameOf({ kind, key }: Pick<FileObject, 'kind' | 'key'>): string {
  return `${kind}/${key}`;
}
