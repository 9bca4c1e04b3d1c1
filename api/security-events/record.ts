import { z } from 'zod';
import type { SecurityEventRow } from '../../db/accounts/security-search.ts';
import type { Database } from '../../db/database.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, Time, time } from '../http/schemas.ts';

export const SecurityEventRecord = named('SecurityEvent', {
  id: z.uuid().meta({ examples: ['b5000000-0000-4000-8000-000000000001'] }),
  event: z.string().meta({ examples: ['event_subscription.changed'] }),
  at: Time,
  actor: Actor.nullable(),
  ip: z
    .string()
    .nullable()
    .meta({ examples: ['203.0.113.7'] }),
  requestId: z
    .string()
    .nullable()
    .describe('As in the header X-Request-ID of the response')
    .meta({ examples: ['1d0c4f0e-6a0e-4c57-9a2b-5d1a2f9e7c11'] }),
  target: z
    .object({
      type: z.string(),
      id: z.string(),
    })
    .nullable()
    .describe('The changed record; null: the change concerns no single record'),
  changes: z
    .array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() }))
    .nullable()
    .describe(
      'The fields that changed. Secret values are `•••`; of a value longer than 200 characters, ' +
        '`{length, sha256}` is kept',
    ),
  details: z.record(z.string(), z.unknown()).describe('More about the event: ids and short texts'),
  count: z
    .int()
    .describe('Number of equal events within a minute that the entry stands for')
    .meta({ examples: [1] }),
});

export const securityEventExample = {
  ...exampleOf(SecurityEventRecord),
  actor: {
    type: 'user' as const,
    id: 'f0000000-0000-4000-8000-000000000001',
    name: 'ada@shop.example',
  },
  target: { type: 'event_subscription', id: '5d000000-0000-4000-8000-000000000001' },
  changes: [{ field: 'headers', before: '•••', after: '•••' }],
  details: {},
};

/**
 * Returns a function that presents security events, with the names of their actors.
 * @param publicId the project of the log; null: the log has the user's own events
 */
export async function readSecurityRecords(
  db: Database,
  rows: readonly SecurityEventRow[],
  publicId: string | null,
): Promise<(row: SecurityEventRow) => z.input<typeof SecurityEventRecord>> {
  const actorOf = await readActors(
    db,
    rows.map((row) => row.actor),
  );
  return (row) =>
    present(SecurityEventRecord, row, {
      at: time(row.created_at),
      actor: actorOf(row.actor),
      changes: row.changes as z.input<typeof SecurityEventRecord>['changes'],
      details: row.details as z.input<typeof SecurityEventRecord>['details'],
      target:
        row.target_type === null || row.target_id === null
          ? null
          : { type: row.target_type, id: isOf(row, publicId) ? publicId : row.target_id },
    });
}

/**
 * Returns true if the changed record is the project itself, which clients know by its public id.
 */
function isOf(
  { target_type: type }: SecurityEventRow,
  publicId: string | null,
): publicId is string {
  return type === 'project' && publicId !== null;
}
