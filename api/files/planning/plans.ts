import { z } from 'zod';
import { findPlan, listPlans } from '../../../db/files/plans.ts';
import { findProject } from '../../../db/projects/projects.ts';
import type { Database } from '../../../db/database.ts';
import type { CursorForm } from '../../../domain/cursor.ts';
import { found } from '../../../domain/errors.ts';
import { fileKinds, parseFilePattern } from '../../../domain/files/kinds.ts';
import { limits } from '../../../domain/limits.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import { endpoint } from '../../http/endpoint.ts';
import {
  addFault,
  ById,
  cursorListOf,
  cursorQuery,
  fault,
  presentCursorList,
  textRead,
  time,
} from '../../http/schemas.ts';
import { variableName } from '../reading/variables.ts';
import { makePlan } from './make-plan.ts';
import { ListedPlanRecord, planPresenter, PlanRecord, presentPlan } from './record.ts';

/** Plans: what a set of files would change. */

/** Maximum value of `examples`, as in a dry run. */
const examplesMax = 50;

const Patterns = z
  .array(
    textRead(
      parseFilePattern,
      'invalid_string',
      `Must be a pattern such as template/welcome or workflow/shop-*. Kinds are ${fileKinds.join(', ')}.`,
    ),
  )
  .max(limits.filePatterns)
  .default([]);

const Files = z
  .record(z.string(), z.string())
  .refine(
    (files) => Object.keys(files).length <= limits.fileObjects,
    fault('too_big', `Must have at most ${limits.fileObjects} files.`),
  )
  .describe(
    'The text of each file by its path, as of GET /files. Files that are left out change nothing',
  );

const Variables = z
  .record(z.string(), z.string().max(limits.fileVariableChars))
  .superRefine((variables, context) => {
    const names = Object.keys(variables);
    if (names.length > limits.fileVariables) {
      addFault(context, 'too_big', `Must have at most ${limits.fileVariables} variables.`);
    }
    for (const name of names.filter((one) => !variableName.test(one))) {
      const message = 'Must be 1 to 64 of the characters A-Z, 0-9 and _, and begin with a letter.';
      addFault(context, 'invalid_string', message, [name]);
    }
  })
  .default({})
  .describe('Values of `${NAME}` in the files');

export const planExample: z.input<typeof PlanRecord> = {
  id: '7c000000-0000-4000-8000-000000000001',
  project: { id: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01', name: 'Shop' },
  state: 'open',
  createdBy: { type: 'key', id: 'secret', name: 'Secret key' },
  expiresAt: '2026-11-28T08:30:00.000Z',
  appliedAt: null,
  appliedBy: null,
  migrate: null,
  note: null,
  result: null,
  summary: { create: 0, update: 1, delete: 0, unchanged: 12, blocked: 0, unmanaged: 3 },
  changes: [
    {
      action: 'update',
      kind: 'workflow',
      key: 'onboarding',
      id: '1c2d3e4f-5a6b-4c7d-8e9f-0a1b2c3d4e5f',
      name: 'Onboarding',
      path: 'workflows/onboarding.yaml',
      fields: [{ at: 'steps.two-days.config.amount', before: 2, after: 3 }],
      fieldCount: 1,
      newVersion: 5,
      people: {
        active: 120,
        same: 80,
        differs: 36,
        unmappable: 4,
        why: { config: 36, step_gone: 4 },
        versions: [],
        steps: [],
        examples: [],
      },
      usedBy: [],
      blocked: null,
    },
  ],
  warnings: [],
  createdAt: '2026-11-21T08:30:00.000Z',
  updatedAt: '2026-11-21T08:30:00.000Z',
};

const createPlan = endpoint({
  id: 'createPlan',
  method: 'POST',
  path: '/plan',
  summary: 'Plan changes by files: what they would change, and for whom',
  description:
    'Compares files with the objects of the project and changes nothing; POST /apply makes the ' +
    'changes. Objects without a file stay, except those that match a pattern of `prune` and none ' +
    'of `protect`: these are deleted. VALIDATION_ERROR names each problem as ' +
    '`files.<path>#<place>`, with `line` and `column`. A plan is kept for seven days, and the last ' +
    'ten open plans of a project. SERVICE_UNAVAILABLE: other plans of the project took over ' +
    '30 seconds, or this one over a minute.',
  access: 'secret',
  role: 'ADMIN',
  bodyBytesMax: limits.planBodyBytes,
  body: z.object({
    files: Files,
    variables: Variables,
    prune: Patterns.describe('Patterns `<kind>/<key>` or `<kind>/<beginning>*`'),
    protect: Patterns.describe('Patterns of objects that are never deleted'),
    examples: z
      .int()
      .min(0)
      .max(examplesMax)
      .default(3)
      .describe('Number of active executions to list for each changed workflow'),
  }),
  response: PlanRecord,
  problems: ['SERVICE_UNAVAILABLE'],
  example: {
    body: {
      files: { 'topics/news.yaml': 'name: News\nvisibility: public\ndefault: subscribed\n' },
    },
    response: planExample,
  },
  async handle({ db, cipher, renderer, webhooks, config, caller, body }) {
    const causedBy = actorOf(caller);
    const { projectId } = caller;
    const planner = { db, cipher, renderer, webhooks, config, projectId, causedBy };
    const plan = await makePlan(planner, body);
    return presentPlan(db, await projectOf(db, caller), plan);
  },
});

const newestFirst: CursorForm = { order: 'plans', value: 'time' };

const getPlans = endpoint({
  id: 'listPlans',
  method: 'GET',
  path: '/plans',
  summary: 'List the plans, newest first',
  description:
    'A cursor list without `changes` and `warnings`. `state=applied` lists what was changed by ' +
    `files, when and by whom: the last ${limits.appliedPlans} plans.`,
  access: 'secret',
  role: 'ADMIN',
  query: cursorQuery(newestFirst).extend({ state: z.enum(['open', 'applied']).optional() }),
  response: cursorListOf(ListedPlanRecord),
  example: { response: { data: [listedExample()], hasMore: false, total: 1 } },
  async handle({ db, caller, query: { cursor, limit, state } }) {
    const page = { state, after: cursor, limit: limit + 1 };
    const { rows, total } = await listPlans(db, caller.projectId, page);
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.created_at), id: row.id }),
      present: await planPresenter(db, await projectOf(db, caller), rows),
    });
  },
});

const getPlan = endpoint({
  id: 'getPlan',
  method: 'GET',
  path: '/plans/{id}',
  summary: 'Get one plan',
  description: 'PLAN_NOT_FOUND: there is no such plan, or it has expired.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  response: PlanRecord,
  problems: ['PLAN_NOT_FOUND'],
  example: { response: planExample },
  async handle({ db, caller, params: { id } }) {
    const plan = found('PLAN', id, await findPlan(db, caller.projectId, id));
    return presentPlan(db, await projectOf(db, caller), plan);
  },
});

function listedExample(): z.input<typeof ListedPlanRecord> {
  const { changes: _, warnings: __, ...listed } = planExample;
  return listed;
}

/** Returns the project as a plan shows it. */
export async function projectOf(db: Database, { projectId, project: { publicId } }: ProjectCaller) {
  const { name } = found('PROJECT', publicId, await findProject(db, projectId));
  return { id: publicId, name };
}

export const planEndpoints = [createPlan, getPlans, getPlan];
