import { z } from 'zod';
import { triggerWhereOf, type WorkflowRow } from '../../db/workflows/workflows.ts';
import { invalidField } from '../../domain/errors.ts';
import type { ContactValues } from '../../domain/filter/evaluate.ts';
import { meetsTrigger } from '../../domain/filter/where.ts';
import { startKeyOf } from '../../domain/workflow/start.ts';

export const SimulatedStart = z
  .object({
    starts: z.boolean(),
    reason: z.enum(['where', 'no_key', 'key_too_long']).nullable(),
    key: z.string().nullable(),
  })
  .describe(
    'The start of an execution by an event with `context` as its data. Only for workflows ' +
      'whose trigger has `where`, or with executionKey',
  );

/** The fields of a request for a simulation that determine the start. */
interface GivenStart {
  key?: string | undefined;
  context?: Record<string, unknown> | undefined;
}

/**
 * Refuses a key for a workflow without keys.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseKey({ execution_key }: WorkflowRow, { key }: GivenStart): void {
  if (execution_key !== null || key === undefined) return;
  throw invalidField('key', 'not_allowed', 'The workflow has no executionKey. Leave `key` out.');
}

/**
 * Returns the key of the simulated execution. `start` is the result for an event with `context` as
 * its data; absent: each event of the trigger starts an execution.
 */
export function startOf(
  workflow: WorkflowRow,
  { key, context }: GivenStart,
  contact: ContactValues,
): { key: string | null; start?: z.output<typeof SimulatedStart> } {
  const where = triggerWhereOf(workflow);
  const { execution_key: executionKey } = workflow;
  if (where === null && executionKey === null) return { key: null };
  const data = context ?? null;
  const found = startKeyOf(executionKey, data);
  const known = 'key' in found ? found.key : null;
  const isMet = meetsTrigger(where ?? [], { event: data, contact });
  const reason = !isMet ? 'where' : 'fault' in found ? found.fault : null;
  return { key: key ?? known, start: { starts: reason === null, reason, key: known } };
}
