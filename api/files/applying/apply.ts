import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { Uuid } from '../../http/schemas.ts';
import { planExample, projectOf } from '../planning/plans.ts';
import { PlanRecord, presentPlan } from '../planning/record.ts';
import { applyPlan } from './apply-plan.ts';

/** Maximum number of characters of the note of an applied plan. */
const noteChars = 200;

const apply = endpoint({
  id: 'applyPlan',
  method: 'POST',
  path: '/apply',
  summary: 'Apply a plan: make all of its changes, or none',
  description:
    'All changes are made at the same moment, with one new version for each changed workflow. ' +
    'Active executions stay on their version; with `migrate: auto` a job moves them to the new ' +
    'one, and those whose step it does not have stay. An applied plan is answered again, without ' +
    'any change. PLAN_STALE: `details.changed` lists the objects that have changed since the plan ' +
    'was made. PLAN_BLOCKED: `details.changes` lists the changes that active executions or other ' +
    'objects prevent. SERVICE_UNAVAILABLE: other plans of the project took over 30 seconds, or ' +
    'this one over a minute; nothing was done.',
  access: 'secret',
  role: 'ADMIN',
  body: z.object({
    planId: Uuid,
    migrate: z
      .enum(['none', 'auto'])
      .default('none')
      .describe('auto: moves active executions to the new versions of their workflows'),
    note: z.string().max(noteChars).optional().describe('Why, for the list of applied plans'),
  }),
  response: PlanRecord,
  problems: ['PLAN_NOT_FOUND', 'PLAN_STALE', 'PLAN_BLOCKED', 'SERVICE_UNAVAILABLE'],
  example: {
    body: { planId: planExample.id, note: 'Wait two days before the second mail' },
    response: appliedExample(),
  },
  async handle({ db, cipher, renderer, webhooks, log, caller, body, note }) {
    const { planId, migrate } = body;
    const options = { migrate, note: body.note ?? null };
    const applier = { db, cipher, renderer, webhooks, log, caller, note };
    const plan = await applyPlan(applier, planId, options);
    return presentPlan(db, await projectOf(db, caller), plan);
  },
});

function appliedExample(): z.input<typeof PlanRecord> {
  const { createdBy, createdAt, changes } = planExample;
  const objects = changes.map(({ action, kind, key, id }) => ({ action, kind, key, id }));
  return {
    ...planExample,
    state: 'applied',
    expiresAt: null,
    appliedAt: createdAt,
    appliedBy: createdBy,
    migrate: 'none',
    note: 'Wait two days before the second mail',
    result: { objects, jobs: [] },
  };
}

export const applyEndpoints = [apply];
