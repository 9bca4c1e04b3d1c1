import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { type ApiKeyRow, findApiKey, updateApiKey } from '../../db/projects/api-keys.ts';
import { columnsFrom } from '../../db/columns.ts';
import { keyFaults } from '../../domain/access/key-rules.ts';
import { type FieldProblem, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { changesBetween } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { KeyEnd, keyFields, KeyScopes } from './input.ts';
import { newValue } from './make.ts';
import { changeableKey, isExpired, lockMaker, refuseExcess, rightsOf } from './maker.ts';
import { ApiKey, apiKey, apiKeyWithValue, presentKey } from './record.ts';

const KeyChange = z
  .object({ ...keyFields, kind: z.enum(['secret', 'public']), scopes: KeyScopes })
  .partial();

export const updateKey = endpoint({
  id: 'updateApiKey',
  method: 'PATCH',
  path: '/api-keys/{id}',
  summary: 'Change the name, scopes, restrictions or end of a named key',
  description:
    'Fields that are left out keep their value. The change holds for every request that begins ' +
    'after the response. `kind` never changes. KEY_RESTRICTED: a key can only change keys that ' +
    'it made.',
  access: 'secret',
  role: 'ADMIN',
  fresh: true,
  params: ById,
  body: KeyChange,
  response: ApiKey,
  problems: ['API_KEY_NOT_FOUND'],
  example: { body: { scopes: ['emails:send'] }, response: { ...apiKey, scopes: ['emails:send'] } },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const row = await findApiKey(db, projectId, id);
    if (row) refuseFaults(row, body);
  },
  async handle({ db, caller, request, params: { id }, body, note }) {
    const { projectId, project } = caller;
    const { kind: _, ...fields } = body;
    return transact(db, async (tx) => {
      const maker = await lockMaker(tx, caller, request);
      const before = await changeableKey(tx, projectId, id, maker);
      refuseFaults(before, body);
      const change = columnsFrom(fields);
      refuseExcess(rightsOf({ ...before, ...change }), maker);
      if (Object.keys(change).length === 0) return presentKey(tx, project.publicId, before);
      const row = await updateApiKey(tx, before, change);
      const details = { keyId: id, fields: Object.keys(fields).join(', ') };
      const target = { type: 'api_key', id };
      const shown = await presentKey(tx, project.publicId, row);
      const former = await presentKey(tx, project.publicId, before);
      const changes = changesBetween(former, shown, { fields: Object.keys(fields) });
      await note({ event: 'api_key.changed', projectId, target, changes, details }, tx);
      return shown;
    });
  },
});

/**
 * Refuses a change if the fields of the changed key would contradict each other.
 * @throws Problem VALIDATION_ERROR
 */
function refuseFaults(row: ApiKeyRow, change: z.output<typeof KeyChange>): void {
  const kind = row.kind as 'secret' | 'public';
  const { scopes = row.scopes } = change;
  const { domains = row.domains, events = row.events } = change;
  const errors: FieldProblem[] = keyFaults(kind, { scopes, domains, events });
  if (change.kind !== undefined && change.kind !== kind) {
    const message = `The kind of a key cannot be changed; this one is ${kind}. Leave \`kind\` out.`;
    errors.push({ field: 'kind', message, code: 'not_allowed' });
  }
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

export const rotateKey = endpoint({
  id: 'rotateApiKey',
  method: 'POST',
  path: '/api-keys/{id}/rotate',
  summary: 'Replace the value of a named key; only this response has the whole new one',
  description:
    'The former value works for `overlapSeconds`, at most seven days; its responses have the ' +
    'header `Everpost-Key-Expires`. Another rotation meanwhile ends the former value at once. ' +
    'API_KEY_EXPIRED: the key has expired, and no `expiresAt` was sent.',
  access: 'secret',
  role: 'ADMIN',
  fresh: true,
  showsSecret: true,
  params: ById,
  body: z.object({
    overlapSeconds: z.int().min(0).max(limits.keyOverlapSeconds).default(0),
    expiresAt: KeyEnd.optional().describe('Left out: unchanged; null: never'),
  }),
  response: ApiKey,
  problems: ['API_KEY_NOT_FOUND', 'API_KEY_EXPIRED'],
  example: {
    body: { overlapSeconds: 86_400 },
    response: { ...apiKeyWithValue, rotatesUntil: '2026-11-26T08:00:00.000Z' },
  },
  async handle({ db, caller, request, params: { id }, body, keyUse, note }) {
    const { projectId, project } = caller;
    return transact(db, async (tx) => {
      const maker = await lockMaker(tx, caller, request);
      const before = await changeableKey(tx, projectId, id, maker);
      const { expiresAt = before.expires_at, overlapSeconds } = body;
      refuseExcess({ ...rightsOf(before), expiresAt }, maker);
      if (isExpired({ expires_at: expiresAt })) throw new Problem('API_KEY_EXPIRED');
      const { value, row } = await replaceValue(tx, before, { expiresAt, overlapSeconds });
      const target = { type: 'api_key', id };
      await note({ event: 'api_key.rotated', projectId, target, details: { keyId: id } }, tx);
      const record = { ...(await presentKey(tx, project.publicId, row)), key: value };
      await keyUse?.completeIn(tx, record);
      return record;
    });
  },
});

async function replaceValue(
  tx: Database,
  before: ApiKeyRow,
  { expiresAt, overlapSeconds }: { expiresAt: Date | null; overlapSeconds: number },
): Promise<{ value: string; row: ApiKeyRow }> {
  const { value, stored } = newValue(before.kind);
  const change = {
    ...stored,
    expires_at: expiresAt,
    previous_hash: before.key_hash,
    rotates_until: new Date(Date.now() + overlapSeconds * 1000),
  };
  return { value, row: await updateApiKey(tx, before, change) };
}
