import { z } from 'zod';
import { countActiveOn, type VersionRow } from '../../../db/workflows/versions.ts';
import type { Database } from '../../../db/database.ts';
import type { WorkflowRow } from '../../../db/workflows/workflows.ts';
import { faultWithGiven } from '../../../domain/errors.ts';
import { changeKinds, changesMax } from '../../../domain/workflow/versions/changes.ts';
import { Actor, readActors } from '../../actors/actor.ts';
import { named, Time, time } from '../../http/schemas.ts';
import { Step, stepExample, WorkflowById } from '../graph/record.ts';
import { portableExample, VersionGraph } from '../portable/record.ts';

const Change = named('VersionChange', {
  kind: z.enum(changeKinds),
  stepId: z
    .uuid()
    .nullable()
    .describe('The changed step; for a transition, the step at which it begins'),
  name: Step.shape.name.nullable(),
  text: z.string().describe('The change in words'),
});

export const Version = named('WorkflowVersion', {
  version: z.int(),
  at: Time.describe('When it was made'),
  causedBy: Actor.nullable().describe('Who made it; null: not known'),
  changes: z
    .array(Change)
    .describe(`Against the version before, at most ${changesMax}; values of headers are masked`),
  restoredFrom: z.int().nullable().describe('The version that it restored'),
  active: z.int().describe('Active executions that are on this version now'),
  current: z.boolean().describe('True for the version that is being edited'),
});

export const WholeVersion = named('WorkflowVersionGraph', {
  ...Version.shape,
  graph: VersionGraph,
});

export const VersionByNumber = WorkflowById.extend({
  version: z
    .string()
    .regex(
      /^0*[1-9]\d{0,14}$/,
      faultWithGiven('invalid_string', 'Must be a whole number of at least 1.'),
    )
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, description: 'A version of the workflow' }),
});

/** Returns the records of versions, with their actors and their numbers of active executions. */
export async function presentVersions(
  db: Database,
  { id, version: current }: Pick<WorkflowRow, 'id' | 'version'>,
  rows: readonly VersionRow[],
): Promise<z.input<typeof Version>[]> {
  const versions = rows.map(({ version }) => version);
  const active = await countActiveOn(db, id, versions);
  const actorOf = await readActors(
    db,
    rows.map(({ caused_by: causedBy }) => causedBy),
  );
  return rows.map((row) => ({
    version: row.version,
    at: time(row.created_at),
    causedBy: actorOf(row.caused_by),
    changes: row.changes,
    restoredFrom: row.restored_from,
    active: active.get(row.version) ?? 0,
    current: row.version === current,
  }));
}

export const versionExample: z.input<typeof Version> = {
  version: 3,
  at: '2026-11-21T08:30:00.000Z',
  causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
  changes: [
    {
      kind: 'step_changed',
      stepId: stepExample.id,
      name: stepExample.name,
      text: 'Two days: amount 2 → 3',
    },
  ],
  restoredFrom: null,
  active: 12,
  current: true,
};

const { trigger, exitRules, steps, transitions } = portableExample;

export const wholeVersionExample: z.input<typeof WholeVersion> = {
  ...versionExample,
  graph: {
    trigger,
    exitRules,
    steps: steps.map((step, index) => ({
      id: `aa000000-0000-4000-8000-00000000000${index + 1}`,
      ...step,
    })),
    transitions,
  },
};
