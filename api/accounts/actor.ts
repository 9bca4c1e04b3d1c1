import { z } from 'zod';
import { listUserEmails } from '../../db/accounts/users.ts';
import { listKeyNames } from '../../db/projects/api-keys.ts';
import type { Database } from '../../db/database.ts';
import { isUuid } from '../../domain/ids.ts';
import { named } from '../http/schemas.ts';

/** Actors: the users and keys that cause something. They are stored as `<type>:<id>`. */

export const Actor = named('Actor', {
  type: z.enum(['user', 'key']),
  id: z
    .string()
    .describe('Id of the user or named key; `secret` or `public` for a key of the pair'),
  name: z
    .string()
    .nullable()
    .describe(
      'Address of the user, null when the account is gone; name of the key, `Secret key` or ' +
        '`Public key`',
    ),
}).meta({ examples: [{ type: 'key', id: 'secret', name: 'Secret key' }] });

const pairNames: Readonly<Record<string, string>> = { secret: 'Secret key', public: 'Public key' };

/** Returns a function that presents a stored actor, with the present address of its user. */
export async function readActors(
  db: Database,
  stored: readonly (string | null)[],
): Promise<(actor: string | null) => z.input<typeof Actor> | null> {
  const idsOf = (type: 'user' | 'key') => [
    ...new Set(
      stored.flatMap((actor) => {
        const parts = partsOf(actor);
        return parts?.type === type && isUuid(parts.id) ? [parts.id] : [];
      }),
    ),
  ];
  const emails = await listUserEmails(db, idsOf('user'));
  const named = await listKeyNames(db, idsOf('key'));
  return (actor) => {
    const parts = partsOf(actor);
    if (!parts) return null;
    const { type, id } = parts;
    const name = type === 'user' ? emails.get(id) : (pairNames[id] ?? named.get(id));
    return { type, id, name: name ?? null };
  };
}

function partsOf(actor: string | null): { type: 'user' | 'key'; id: string } | null {
  const [type, id = ''] = actor?.split(':') ?? [];
  return type === 'user' || type === 'key' ? { type, id } : null;
}
