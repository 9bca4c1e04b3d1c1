import { findFileObjects } from '../../../db/files/objects.ts';
import { referencesIn } from '../../../domain/files/references.ts';
import type { Services } from '../../services/services.ts';
import { findBrokenTemplates } from '../../workflows/graph/enabling.ts';
import { nameOf } from '../hashes.ts';
import type { ReadObject } from '../reading/objects.ts';

/**
 * Returns the error of each invalid template that the files of enabled workflows use, by template id.
 * Templates with a file are left out: their texts were checked when the file was read. Call it
 * before a transaction begins, because parsing a large template takes seconds.
 */
export async function findBrokenOf(
  services: Pick<Services, 'db' | 'renderer'>,
  projectId: string,
  objects: readonly ReadObject[],
): Promise<ReadonlyMap<string, string>> {
  const described = new Set(objects.map(nameOf));
  const used = objects
    .filter(({ kind, value }) => kind === 'workflow' && value['enabled'] !== false)
    .flatMap(({ value }) => referencesIn(value))
    .filter((one) => one.kind === 'template' && !described.has(nameOf(one)));
  const templates = await findFileObjects(services.db, projectId, used);
  const steps = templates.map(({ id }) => ({ templateId: id }));
  return findBrokenTemplates(services, projectId, steps);
}
