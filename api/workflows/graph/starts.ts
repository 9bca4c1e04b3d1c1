import { z } from 'zod';
import type { WorkflowRow } from '../../../db/workflows/workflows.ts';
import { invalidField, Refusals } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { type Reentry, reentryModes } from '../../../domain/workflow/start.ts';
import { fault } from '../../http/schemas.ts';

/** Execution keys, and the rules for re-entry of a contact into a workflow. */

const KeyText = z.string().min(1).max(limits.executionKeyChars);

/** An execution key in a request. Numbers and booleans are converted to text. */
export const Key = z
  .union([KeyText, z.number().transform(String), z.boolean().transform(String)])
  .describe('By default it is read from the context at the path of `executionKey`');

export const OfKey = KeyText.optional().describe('Only executions with exactly this key');

const ExecutionKey = z
  .string()
  .max(limits.executionKeyChars)
  .refine(
    (path) => /^event(\.[^.]+)+$/s.test(path),
    fault('unsupported_field', 'Must be a path in the data of the event, such as event.orderId.'),
  )
  .nullable()
  .meta({
    description:
      'Path of the key in the data of the starting event, such as `event.orderId`: a contact may be in the ' +
      'workflow once for each key. null: without keys',
  });

const GivenReentry = z
  .object({
    mode: z.enum(reentryModes).default('once'),
    minIntervalSeconds: z.int().min(1).max(limits.reentrySecondsMax).nullable().default(null),
  })
  .describe('Replaced as a whole');

/** The settings in a request. A missing setting keeps its value. */
export const startFields = {
  allowReentry: z
    .boolean()
    .optional()
    .describe('false: sets `reentry.mode` to `once`; true: sets it to `after_end` if it is `once`'),
  executionKey: ExecutionKey.optional(),
  reentry: GivenReentry.optional(),
};

export type StartFields = z.output<z.ZodObject<typeof startFields>>;

/** The settings in a record of a workflow. */
export const StartRecord = {
  allowReentry: z.boolean().describe('`reentry.mode` is not `once`'),
  executionKey: z.string().nullable().describe('Path of the key in the data of the event'),
  reentry: z
    .object({
      mode: z
        .enum(reentryModes)
        .describe(
          'When a contact may enter again with the same key: never (`once`), when no execution is active (`after_end`), or always (`parallel`)',
        ),
      minIntervalSeconds: z
        .int()
        .nullable()
        .describe('Seconds after a start in which the next one is refused; null: none'),
    })
    .meta({ examples: [{ mode: 'once', minIntervalSeconds: null }] }),
};

type StartColumns = Pick<WorkflowRow, 'execution_key' | 'reentry_mode' | 'reentry_min_interval'>;
type StartRow = StartColumns & Pick<WorkflowRow, 'trigger_type'>;

export const newStart: StartRow = {
  trigger_type: 'EVENT',
  execution_key: null,
  reentry_mode: 'once',
  reentry_min_interval: null,
};

export function presentStart(row: StartColumns): { allowReentry: boolean; reentry: Reentry } {
  return {
    allowReentry: row.reentry_mode !== 'once',
    reentry: {
      mode: row.reentry_mode as Reentry['mode'],
      minIntervalSeconds: row.reentry_min_interval,
    },
  };
}

/**
 * Returns the columns of a workflow after a change of its settings.
 * @param triggerType the trigger after the change
 * @throws Problem VALIDATION_ERROR with all invalid fields, named as in `startFields`
 */
export function changedStart(
  before: StartRow,
  given: StartFields,
  triggerType = before.trigger_type,
): StartColumns {
  const { allowReentry, executionKey = before.execution_key } = given;
  const { mode, minIntervalSeconds } = given.reentry ?? reentryOf(before, allowReentry);
  const refusals = new Refusals();
  const refuse = (isWrong: boolean, ...problem: Parameters<typeof invalidField>) => {
    if (isWrong) refusals.add(invalidField(...problem));
  };
  refuse(
    executionKey !== null && triggerType === 'SCHEDULE',
    'executionKey',
    'not_allowed',
    'A workflow with a schedule cannot have `executionKey`. Set it to null.',
  );
  refuse(
    executionKey !== null && mode === 'parallel',
    'reentry.mode',
    'not_allowed',
    '`parallel` cannot be combined with `executionKey`: different keys run in parallel anyway. Choose `once` or `after_end`.',
  );
  refuse(
    allowReentry !== undefined && allowReentry === (mode === 'once'),
    'reentry.mode',
    'custom',
    '`allowReentry` and `reentry` contradict each other. Leave `allowReentry` out.',
  );
  refuse(
    mode === 'once' && minIntervalSeconds !== null,
    'reentry.minIntervalSeconds',
    'not_allowed',
    'Cannot be combined with the mode `once`, in which a contact never enters again. Leave it out, or choose another mode.',
  );
  refusals.throw();
  return {
    execution_key: executionKey,
    reentry_mode: mode,
    reentry_min_interval: minIntervalSeconds,
  };
}

/** Returns the re-entry rules after a request that changes only `allowReentry`. */
function reentryOf(before: StartColumns, allowReentry: boolean | undefined): Reentry {
  const { reentry } = presentStart(before);
  if (allowReentry === false) return { mode: 'once', minIntervalSeconds: null };
  if (allowReentry === true && reentry.mode === 'once') return { ...reentry, mode: 'after_end' };
  return reentry;
}

/**
 * Returns the columns of a new workflow. Settings in the body override settings in the graph of the
 * body.
 */
export function startOfNew(
  body: StartFields & {
    graph?: (StartFields & { trigger?: { type: string } | undefined }) | undefined;
  },
): StartColumns {
  const type = body.graph?.trigger?.type ?? newStart.trigger_type;
  const ofGraph = { ...changedStart(newStart, body.graph ?? {}, type), trigger_type: type };
  return changedStart(ofGraph, body);
}
