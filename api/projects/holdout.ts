import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { readHoldout, type StoredHoldout, updateHoldout } from '../../db/projects/holdout.ts';
import { listKnownWorkflows } from '../../db/workflows/workflows.ts';
import { fault, foundAll } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import type { HoldoutScope } from '../../domain/holdout/holdout.ts';
import { changesBetween } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import { addFault, byKind, Moment, named, Time, time, Uuid } from '../http/schemas.ts';
import { requireTopics } from '../topics/references.ts';

/**
 * The hold-out: contacts that get no marketing mail, so that the effect of this mail can be
 * measured.
 */

const Ids = z
  .array(Uuid)
  .min(1)
  .max(limits.holdoutScopeIds)
  .transform((ids) => [...new Set(ids)]);

const ScopeOfIds = z
  .object({ topicIds: Ids.optional(), workflowIds: Ids.optional() })
  .transform(({ topicIds, workflowIds }, context): HoldoutScope => {
    if (topicIds && !workflowIds) return { topicIds };
    if (workflowIds && !topicIds) return { workflowIds };
    return addFault(context, 'custom', 'Must have exactly one of `topicIds` and `workflowIds`.');
  });

const Scope = byKind({ text: z.enum(['marketing']), object: ScopeOfIds }).describe(
  '`marketing`: all mail that the send policy concerns; or only mail of these topics or workflows',
);

const Percent = z
  .number()
  .min(0)
  .max(limits.holdoutPercent)
  .refine(
    (percent) => Number(percent.toFixed(2)) === percent,
    fault('custom', 'Must have at most two decimals.'),
  )
  .describe('0: no contact. A higher percentage keeps the contacts that are held out already');

const fields = {
  percent: Percent,
  salt: z
    .string()
    .min(1)
    .max(limits.holdoutSaltChars)
    .describe('Key of the hash that chooses the contacts: another salt, other contacts'),
  scope: Scope,
  endsAt: Moment.refine(
    (at) => at.getTime() > Date.now(),
    fault('too_small', 'Must be in the future.'),
  )
    .nullable()
    .describe('From then on, no contact is held out'),
};

const Holdout = named('Holdout', {
  percent: z.number(),
  salt: z.string().nullable().describe('null: it was neither set nor made'),
  scope: z.union([
    z.literal('marketing'),
    named('HoldoutTopics', { topicIds: z.array(z.uuid()) }),
    named('HoldoutWorkflows', { workflowIds: z.array(z.uuid()) }),
  ]),
  endsAt: Time.nullable(),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

function present({ scope, endsAt, updatedAt, ...settings }: StoredHoldout) {
  return {
    ...settings,
    scope: presentScope(scope),
    endsAt: time(endsAt),
    updatedAt: time(updatedAt),
  };
}

function presentScope(scope: HoldoutScope): z.output<typeof Holdout>['scope'] {
  if (scope === 'marketing') return scope;
  return 'topicIds' in scope
    ? { topicIds: [...scope.topicIds] }
    : { workflowIds: [...scope.workflowIds] };
}

const example: z.input<typeof Holdout> = {
  percent: 10,
  salt: '4f0c1f0a9b6d4a51b7c8d2e3f4a5b6c7',
  scope: 'marketing',
  endsAt: null,
  updatedAt: '2026-11-20T10:00:00.000Z',
};

const about =
  'A contact that is held out gets no mail of class MARKETING from campaigns and SEND_EMAIL steps: ' +
  'that mail fails with `held_out`, and executions go on. Mail of the classes TRANSACTIONAL and ' +
  'HEADLESS, of `/v1/send`, and tests are sent.';

const getHoldout = endpoint({
  id: 'getHoldout',
  method: 'GET',
  path: '/holdout',
  summary: 'Get the hold-out: the share of contacts that gets no marketing mail',
  description: `Defaults and \`updatedAt: null\` until it is set. ${about}`,
  access: 'secret',
  response: Holdout,
  example: { response: example },
  async handle({ db, caller }) {
    return present(await readHoldout(db, caller.projectId));
  },
});

const putHoldout = endpoint({
  id: 'setHoldout',
  method: 'PUT',
  path: '/holdout',
  summary: 'Set the hold-out: the share of contacts that gets no marketing mail',
  description:
    `Fields that are left out keep their value; the salt is made if there is none. ${about} ` +
    'TOPIC_NOT_FOUND, WORKFLOW_NOT_FOUND: the scope has an unknown id.',
  access: 'secret',
  role: 'ADMIN',
  body: z.object(fields).partial(),
  response: Holdout,
  problems: ['TOPIC_NOT_FOUND', 'WORKFLOW_NOT_FOUND'],
  example: { body: { percent: 10 }, response: example },
  async handle({ db, caller: { projectId }, body, note }) {
    return transact(db, async (tx) => {
      if (body.scope) await requireScope(tx, projectId, body.scope);
      const before = present(await readHoldout(tx, projectId));
      await updateHoldout(tx, projectId, body);
      const after = present(await readHoldout(tx, projectId));
      const { updatedAt: _, ...settings } = after;
      const changes = changesBetween(before, after, { fields: Object.keys(settings) });
      const details = { fields: Object.keys(body).join(', ') };
      await note({ event: 'holdout.changed', projectId, changes, details }, tx);
      return after;
    });
  },
});

/**
 * Requires that the topics and workflows of a hold-out exist.
 * @throws Problem TOPIC_NOT_FOUND, WORKFLOW_NOT_FOUND
 */
async function requireScope(tx: Database, projectId: string, scope: HoldoutScope): Promise<void> {
  if (scope === 'marketing') return;
  if ('topicIds' in scope) return requireTopics(tx, projectId, scope.topicIds);
  const { workflowIds } = scope;
  foundAll('WORKFLOW', workflowIds, await listKnownWorkflows(tx, projectId, workflowIds));
}

export const holdoutEndpoints = [getHoldout, putHoldout];
