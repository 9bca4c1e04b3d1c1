import { z } from 'zod';
import { listUserEmails } from '../../db/accounts/users.ts';
import { listKeyNames } from '../../db/projects/api-keys.ts';
import type { Database } from '../../db/database.ts';
import { actorTypes, readActor } from '../../domain/access/actor.ts';
import { isUuid } from '../../domain/ids.ts';
import { named } from '../http/schemas.ts';

/** Actors, stored as `<type>:<id>`: the users, keys and others that caused something. */

export const Actor = named('Actor', {
  type: z
    .enum(actorTypes)
    .describe('`contact`: by a link of a mail, or a page. `system`: without a request'),
  id: z
    .string()
    .nullable()
    .describe(
      'Id of the user, named key or contact; `secret` or `public` for a key of the pair; null ' +
        'for `system`',
    ),
  name: z
    .string()
    .nullable()
    .describe(
      'Address of the user, or name of the key, null when it is gone; `Secret key` or ' +
        '`Public key` for the pair; null for a contact; `schedule`, `segment`, `inbound`, `feedback` or ' +
        '`server` for `system`',
    ),
}).meta({ examples: [{ type: 'key', id: 'secret', name: 'Secret key' }] });

const pairNames: Readonly<Record<string, string>> = { secret: 'Secret key', public: 'Public key' };

/** Returns a function that presents a stored actor, with the current address of its user. */
export async function readActors(
  db: Database,
  stored: readonly (string | null)[],
): Promise<(actor: string | null) => z.input<typeof Actor> | null> {
  const idsOf = (type: 'user' | 'key') => [
    ...new Set(
      stored.flatMap((actor) => {
        const parts = readActor(actor);
        return parts?.type === type && isUuid(parts.id) ? [parts.id] : [];
      }),
    ),
  ];
  const emails = await listUserEmails(db, idsOf('user'));
  const named = await listKeyNames(db, idsOf('key'));
  return (actor) => {
    const parts = readActor(actor);
    if (!parts) return null;
    const { type, id } = parts;
    if (type === 'system') return { type, id: null, name: id };
    if (type === 'contact') return { type, id, name: null };
    const name = type === 'user' ? emails.get(id) : (pairNames[id] ?? named.get(id));
    return { type, id, name: name ?? null };
  };
}

/** Returns one stored actor as the API shows it. For several actors, use `readActors`. */
export async function presentActor(
  db: Database,
  stored: string | null,
): Promise<z.input<typeof Actor> | null> {
  return (await readActors(db, [stored]))(stored);
}
