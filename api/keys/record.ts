import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { ApiKeyRow } from '../../db/projects/api-keys.ts';
import { found } from '../../domain/errors.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, Time, time } from '../http/schemas.ts';

const restriction = z.array(z.string()).nullable();

/**
 * A named key. The record of the project's own secret key has the same fields, except `createdBy`
 * and the creation times.
 */
export const ApiKey = named('ApiKey', {
  id: z.string().meta({
    description: '`secret` for the secret key of the pair',
    examples: ['a1000000-0000-4000-8000-000000000001'],
  }),
  name: z.string().meta({ examples: ['Shop backend'] }),
  kind: z.enum(['secret', 'public']),
  key: z.string().meta({
    description: 'Complete only in the response that has created it',
    examples: ['sk_…9f3a'],
  }),
  scopes: z.array(z.string()).meta({ examples: [['emails:send', 'contacts:write']] }),
  domains: restriction.describe('The only sender domains it may send from; null: any'),
  cidrs: restriction
    .describe('The only networks it works from; null: any')
    .meta({ examples: [['203.0.113.0/24']] }),
  events: restriction.describe('The only events that it may track; null: any'),
  expiresAt: Time.nullable().meta({ examples: ['2027-11-25T00:00:00.000Z'] }),
  rotatesUntil: Time.nullable().describe('Until then its former value works as well'),
  lastUsedAt: Time.nullable().describe('Exact to a minute'),
  createdBy: Actor.nullable().describe('null for the secret key of the pair'),
  revokedAt: Time.nullable(),
  revokedBy: Actor.nullable(),
  projectId: ofProject.projectId,
  createdAt: Time.nullable().describe('null for the secret key of the pair'),
  updatedAt: Time.nullable().describe('null for the secret key of the pair'),
});

export const apiKey: z.input<typeof ApiKey> = {
  ...exampleOf(ApiKey),
  createdBy: {
    type: 'user',
    id: 'f0000000-0000-4000-8000-000000000001',
    name: 'ada@shop.example',
  },
  createdAt: '2026-11-25T08:00:00.000Z',
  updatedAt: '2026-11-25T08:00:00.000Z',
};

export const apiKeyWithValue = { ...apiKey, key: `sk_${'9f3a'.repeat(16)}` };

/**
 * Returns the records of named keys, with the names of the users and keys that created and revoked
 * them.
 */
export async function presentKeys(
  db: Database,
  publicId: string,
  rows: readonly ApiKeyRow[],
): Promise<z.input<typeof ApiKey>[]> {
  const actorOf = await readActors(
    db,
    rows.flatMap((row) => [row.created_by, row.revoked_by]),
  );
  return rows.map((row) => {
    const rotatesUntil = row.rotates_until;
    const isRotating = rotatesUntil !== null && rotatesUntil.getTime() > Date.now();
    return present(ApiKey, row, {
      key: `${row.kind === 'public' ? 'pk' : 'sk'}_…${row.key_last4}`,
      rotatesUntil: isRotating ? time(rotatesUntil) : null,
      createdBy: actorOf(row.created_by),
      revokedBy: actorOf(row.revoked_by),
      projectId: publicId,
    });
  });
}

export async function presentKey(
  db: Database,
  publicId: string,
  row: ApiKeyRow,
): Promise<z.input<typeof ApiKey>> {
  const [record] = await presentKeys(db, publicId, [row]);
  return found('API_KEY', row.id, record);
}

/** Returns the record of the project's own secret key. */
export function presentPair(last4: string, publicId: string): z.input<typeof ApiKey> {
  return {
    id: 'secret',
    name: 'Secret key',
    kind: 'secret',
    key: `sk_…${last4}`,
    scopes: ['*'],
    domains: null,
    cidrs: null,
    events: null,
    expiresAt: null,
    rotatesUntil: null,
    lastUsedAt: null,
    createdBy: null,
    revokedAt: null,
    revokedBy: null,
    projectId: publicId,
    createdAt: null,
    updatedAt: null,
  };
}
