import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { RequestRow } from '../../db/requests/requests.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, Time } from '../http/schemas.ts';

/** The ways in which a request used its Idempotency-Key. */
export const idempotencyUses = ['first', 'replayed', 'refused'] as const;

export const LoggedRequest = named('LoggedRequest', {
  requestId: z
    .string()
    .describe('As in the header X-Request-ID of the response')
    .meta({ examples: ['1d0c4f0e-6a0e-4c57-9a2b-5d1a2f9e7c11'] }),
  at: Time,
  method: z.string().meta({ examples: ['POST'] }),
  route: z
    .string()
    .nullable()
    .describe('The path as the reference has it, such as `/contacts/{id}`; null: no such path')
    .meta({ examples: ['/v1/send'] }),
  status: z.int().meta({ examples: [422] }),
  ms: z.int().describe('Milliseconds from the headers of the request to its response'),
  errorCode: z
    .string()
    .nullable()
    .meta({ examples: ['VALIDATION_ERROR'] }),
  actor: Actor.nullable(),
  ip: z.string().meta({ examples: ['203.0.113.7'] }),
  idempotency: z
    .enum(idempotencyUses)
    .nullable()
    .describe('How the Idempotency-Key was used; null: it had no effect'),
  sample: z
    .int()
    .describe('The entry stands for this number of requests; only of tracked events it is not 1')
    .meta({ examples: [1] }),
});

export const LoggedRequestDetail = named('LoggedRequestDetail', {
  ...LoggedRequest.shape,
  errors: z
    .array(z.object({ field: z.string(), code: z.string() }))
    .nullable()
    .describe('The invalid fields of a VALIDATION_ERROR, at most 50')
    .meta({ examples: [[{ field: 'to', code: 'required' }]] }),
  details: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The details of an error if they hold only ids, codes and numbers'),
});

const actor = {
  type: 'key' as const,
  id: 'a1000000-0000-4000-8000-000000000001',
  name: 'Shop backend',
};

export const requestExample = { ...exampleOf(LoggedRequest), actor };
export const detailExample = { ...exampleOf(LoggedRequestDetail), actor, details: null };

/** Returns a function that presents requests, with the names of their callers. */
export async function readRequests(
  db: Database,
  rows: readonly RequestRow[],
): Promise<(row: RequestRow) => z.input<typeof LoggedRequest>> {
  const actorOf = await readActors(
    db,
    rows.map((row) => row.actor),
  );
  return (row) => present(LoggedRequest, row, { actor: actorOf(row.actor) });
}

export async function presentDetail(
  db: Database,
  row: RequestRow,
): Promise<z.input<typeof LoggedRequestDetail>> {
  const presented = await readRequests(db, [row]);
  return {
    ...presented(row),
    errors: row.errors as z.input<typeof LoggedRequestDetail>['errors'],
    details: row.details as z.input<typeof LoggedRequestDetail>['details'],
  };
}
