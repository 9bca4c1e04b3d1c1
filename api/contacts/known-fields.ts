import { findDataKeys, isKeyInUse } from '../../db/contacts/fields.ts';
import type { Database } from '../../db/database.ts';
import { type FieldProblem, Problem } from '../../domain/errors.ts';
import type { BareName } from '../../domain/filter/filter.ts';
import { nearest } from '../../domain/text-rules.ts';

/** Letters by which a name may differ from the one that was meant. */
const lettersMax = 2;
const standardFields = ['email', 'subscribed', 'createdAt', 'updatedAt'];

/**
 * Refuses names without a prefix that no contact of the project has: `plan` is `data.plan`, if there
 * is one. With the prefix `data.` any name is allowed.
 * @throws Problem VALIDATION_ERROR `unsupported_field`
 */
export async function refuseUnknownFields(
  db: Database,
  projectId: string,
  names: readonly BareName[],
): Promise<void> {
  const unknown = new Set<string>();
  for (const key of new Set(names.map((name) => name.key))) {
    if (!(await isKeyInUse(db, projectId, key))) unknown.add(key);
  }
  if (unknown.size === 0) return;
  const known = [...standardFields, ...(await findDataKeys(db, projectId))];
  const errors = names
    .filter(({ key }) => unknown.has(key))
    .map(({ field, key }): FieldProblem => {
      const meant = nearest(key, known, lettersMax);
      const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
      const message = `No contact has the field "${key}".${hint}`;
      return { field, code: 'unsupported_field', message, received: key };
    });
  throw new Problem('VALIDATION_ERROR', { errors });
}
