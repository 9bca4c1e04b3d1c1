import {
  findDataKeys,
  findKeysInUse,
  findUnknownKeys,
  isKeyInUse,
  newestContacts,
} from '../../db/contacts/fields.ts';
import type { Database } from '../../db/database.ts';
import { type FieldProblem, Problem } from '../../domain/errors.ts';
import type { BareName } from '../../domain/filter/filter.ts';
import { nearest } from '../../domain/text-rules.ts';

/** Maximum number of different letters between an unknown name and a suggested one. */
const lettersMax = 2;
const standardFields = ['email', 'subscribed', 'createdAt', 'updatedAt'];

/**
 * Refuses names without the prefix `data.` that no contact of the project has. `plan` means
 * `data.plan` if a contact has this field. With the prefix, any name is allowed.
 * @throws Problem VALIDATION_ERROR `unsupported_field`
 */
export async function refuseUnknownFields(
  db: Database,
  projectId: string,
  names: readonly BareName[],
): Promise<void> {
  const used = await keysInUse(
    db,
    projectId,
    new Set(names.flatMap(({ key, name }) => [key, name])),
  );
  const unknown = names.filter(({ key, name }) => !used.has(key) && !used.has(name));
  if (unknown.length === 0) return;
  const known = [...standardFields, ...(await findDataKeys(db, projectId))];
  const errors = unknown.map(({ field, key }): FieldProblem => {
    const hint =
      hintOf(key, known) ||
      ` If contacts will get it later as a field of their data, send "data.${key}".`;
    const message = `No contact has the field "${key}".${hint}`;
    return { field, code: 'unsupported_field', message, received: key };
  });
  throw new Problem('VALIDATION_ERROR', { errors });
}

/**
 * Returns the keys that at least one contact has. Keys are looked up one by one, because a common
 * key is found quickly. A key that no contact has costs a read of all contacts, so after the first
 * such key, one query looks up all remaining keys together.
 */
async function keysInUse(
  db: Database,
  projectId: string,
  keys: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const [index, key] of [...keys].entries()) {
    if (await isKeyInUse(db, projectId, key)) {
      used.add(key);
      continue;
    }
    const rest = [...keys].slice(index + 1);
    for (const found of await findKeysInUse(db, projectId, rest)) used.add(found);
    break;
  }
  return used;
}

/** Returns warnings, by key, about keys that none of the newest contacts has. */
export async function unknownKeyTexts(
  db: Database,
  projectId: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const unknown = keys.length === 0 ? [] : await findUnknownKeys(db, projectId, keys);
  if (unknown.length === 0) return new Map();
  const known = await findDataKeys(db, projectId);
  const who = `None of the newest ${newestContacts.toLocaleString('en-US')} contacts has`;
  return new Map(
    unknown.map((key) => [key, `${who} the field "data.${key}".${hintOf(key, known)}`]),
  );
}

function hintOf(key: string, known: readonly string[]): string {
  const meant = nearest(key, known, lettersMax);
  return meant === undefined ? '' : ` Did you mean "${meant}"?`;
}
