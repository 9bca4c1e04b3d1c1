import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import type { ListedPlan, ShownPlan } from '../../../db/files/plans.ts';
import { fileKinds } from '../../../domain/files/kinds.ts';
import { Actor, readActors } from '../../actors/actor.ts';
import { named, Time, time } from '../../http/schemas.ts';
import { differingWhys, editEffect } from '../../workflows/edit-effect.ts';
import { changeActions } from '../changes.ts';
import { blockingCodes } from './problems.ts';
import { planWarningCodes } from './warnings.ts';

/** Plans as the API shows them. */

const Summary = z.object({
  create: z.int(),
  update: z.int(),
  delete: z.int(),
  unchanged: z.int().describe('Files that mean the same as their objects'),
  blocked: z.int().describe('Changes that other objects or active executions prevent'),
  unmanaged: z.int().describe('Objects without a file that stay, without policies'),
});

const People = named('PlanPeople', {
  active: z.int(),
  same: z.int().describe('Everything that the execution can reach is equal'),
  differs: z.int().describe('It would go another way; `why` says where'),
  unmappable: z.int().describe('Its step is not in the new graph'),
  why: z.partialRecord(z.enum(differingWhys), z.int()).describe('Numbers by reason, without zeros'),
  versions: editEffect.versions,
  steps: z.array(editEffect.steps.element.extend({ key: z.string() })),
  examples: editEffect.examples,
});

const Change = named('PlanChange', {
  action: z.enum(changeActions),
  kind: z.enum(fileKinds),
  key: z.string(),
  id: z.uuid().nullable().describe('null for new objects and policies'),
  name: z.string(),
  path: z.string().nullable().describe('null: the object is deleted'),
  fields: z
    .array(z.object({ at: z.string(), before: z.unknown(), after: z.unknown() }))
    .describe(
      'The first 100 fields that differ: a step by its key, other items of a list by index. ' +
        'null where there is none; long texts are cut',
    ),
  fieldCount: z.int().describe('Number of all fields that differ'),
  newVersion: z.int().nullable().describe('The version that the workflow gets; null: none'),
  people: People.nullable().describe(
    'The effect on active executions, as of POST /workflows/{id}/dry-run; null: there is no new version',
  ),
  usedBy: z
    .array(
      z.object({
        kind: z.enum(['workflow', 'template', 'segment', 'consent-policy']),
        key: z.string(),
        active: z.int().describe('Active executions of a workflow, which the change reaches'),
      }),
    )
    .describe('The objects that name this template, segment or topic after the plan'),
  blocked: z
    .object({ code: z.enum(blockingCodes), details: z.record(z.string(), z.unknown()) })
    .nullable()
    .describe('Why the change cannot be made: the error of the endpoint of the object'),
});

const Warning = named('PlanWarning', {
  code: z.enum(planWarningCodes),
  path: z.string(),
  at: z.string().describe('Dot path in the file'),
  message: z.string(),
});

const Result = named('PlanResult', {
  objects: z.array(
    z.object({
      action: z.enum(changeActions),
      kind: z.enum(fileKinds),
      key: z.string(),
      id: z.uuid().nullable(),
    }),
  ),
  jobs: z
    .array(z.object({ key: z.string(), workflowId: z.uuid(), jobId: z.string() }))
    .describe('The migrations of active executions'),
});

export const ListedPlanRecord = named('ListedPlan', {
  id: z.uuid(),
  project: z.object({ id: z.uuid(), name: z.string() }),
  state: z.enum(['open', 'applied']),
  createdBy: Actor.nullable(),
  expiresAt: Time.nullable().describe('null: the plan is applied'),
  appliedAt: Time.nullable(),
  appliedBy: Actor.nullable(),
  migrate: z.enum(['none', 'auto']).nullable(),
  note: z.string().nullable(),
  result: Result.nullable(),
  summary: Summary,
  createdAt: Time,
  updatedAt: Time,
});

export const PlanRecord = named('Plan', {
  ...ListedPlanRecord.shape,
  changes: z.array(Change).describe('By kind and key'),
  warnings: z.array(Warning).describe('About the files of the changes'),
});

export type PlanSummary = z.input<typeof Summary>;
export type ShownChange = z.input<typeof Change>;
export type PlanResult = z.input<typeof Result>;

/** Returns a function that presents plans of a project, with the names of their actors. */
export async function planPresenter(
  db: Database,
  project: { id: string; name: string },
  rows: readonly ListedPlan[],
): Promise<(row: ListedPlan) => z.input<typeof ListedPlanRecord>> {
  const actors = rows.flatMap((row) => [row.created_by, row.applied_by]);
  const actorOf = await readActors(db, actors);
  return (row) => ({
    id: row.id,
    project,
    state: row.state as 'open' | 'applied',
    createdBy: actorOf(row.created_by),
    expiresAt: row.expires_at && time(row.expires_at),
    appliedAt: row.applied_at && time(row.applied_at),
    appliedBy: actorOf(row.applied_by),
    migrate: row.migrate as 'none' | 'auto' | null,
    note: row.note,
    result: row.result as PlanResult | null,
    summary: row.summary as unknown as PlanSummary,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  });
}

/** Returns a plan as the API shows it. */
export async function presentPlan(
  db: Database,
  project: { id: string; name: string },
  plan: ShownPlan,
): Promise<z.input<typeof PlanRecord>> {
  const shown = (await planPresenter(db, project, [plan]))(plan);
  return {
    ...shown,
    changes: plan.changes as unknown as ShownChange[],
    warnings: plan.warnings as unknown as z.input<typeof Warning>[],
  };
}
