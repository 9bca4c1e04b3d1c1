import { type Database, transact } from '../../../db/database.ts';
import { lockFileObjects } from '../../../db/files/objects.ts';
import {
  completePlan,
  findPlan,
  findPlanRequest,
  lockPlan,
  type PlanRequest,
  type ShownPlan,
} from '../../../db/files/plans.ts';
import { lockProject } from '../../../db/projects/projects.ts';
import { lockSendPolicy } from '../../../db/projects/send-policy.ts';
import { lockTopics } from '../../../db/topics/topics.ts';
import { found, Problem } from '../../../domain/errors.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { SecurityLog } from '../../access/security-log.ts';
import type { Services } from '../../services/services.ts';
import type { FileChange } from '../changes.ts';
import { readFilesApart } from '../apart/read-files.ts';
import { limitDuration } from '../duration.ts';
import { openFiles } from '../sealed-files.ts';
import { findStaleReads } from '../hashes.ts';
import { compareFiles, type Comparison } from '../planning/compare.ts';
import { waitForPlans } from '../planning/make-plan.ts';
import { isBlocking, refusal } from '../planning/problems.ts';
import type { ReadObject } from '../reading/objects.ts';
import { finishApply } from './finish.ts';
import { type Migration, storeMigrations, versionsOf } from './migrations.ts';
import { findBrokenOf } from '../writing/broken.ts';
import { writeChanges } from '../writing/write.ts';

/** Applies plans: one transaction makes all of the changes. */

interface Applier extends Pick<Services, 'db' | 'cipher' | 'renderer' | 'webhooks' | 'log'> {
  caller: ProjectCaller;
  note: SecurityLog['note'];
}

interface ApplyOptions {
  migrate: 'none' | 'auto';
  note: string | null;
}

/**
 * Applies a plan. An applied plan is returned as it is.
 * @throws Problem PLAN_NOT_FOUND, PLAN_STALE, PLAN_BLOCKED, PROJECT_DISABLED; SERVICE_UNAVAILABLE if
 * other plans of the project take too long
 */
export async function applyPlan(
  applier: Applier,
  planId: string,
  options: ApplyOptions,
): Promise<ShownPlan> {
  const { db, caller } = applier;
  const plan = found('PLAN', planId, await findPlan(db, caller.projectId, planId));
  if (plan.state === 'applied') return plan;
  const paths = changesOf(plan).flatMap(({ path }) => path ?? []);
  const request = await findPlanRequest(db, planId, paths);
  const objects = request ? await readChanged(applier, plan, request) : [];
  const broken = await findBrokenOf(applier, caller.projectId, objects);
  const apply = (collects: boolean) =>
    applyOnce(applier, { planId, request, objects, broken, collects }, options);
  const { row, isNew } = await applyAgainIfBlocked(apply);
  if (isNew) await finishQuietly(applier, row);
  return row;
}

/** The plan is applied, whatever fails now. */
async function finishQuietly({ db, caller, log }: Applier, row: ShownPlan): Promise<void> {
  try {
    await finishApply(db, caller.projectId, row);
  } catch (error) {
    log.warn({ error, planId: row.id }, 'Segments were not counted after an apply');
  }
}

/**
 * Reads the files of the objects that a plan changes.
 * @throws Problem VALIDATION_ERROR if they can no longer be read
 */
async function readChanged(
  { cipher, caller: { projectId } }: Applier,
  plan: ShownPlan,
  { files, variables }: PlanRequest,
): Promise<ReadObject[]> {
  const { objects, problems } = await readFilesApart(
    projectId,
    openFiles(cipher, files),
    variables,
  );
  if (problems.length > 0) throw refusal(problems);
  const created = new Set(
    changesOf(plan).flatMap(({ action, path }) => (action === 'create' ? [path] : [])),
  );
  // The plan ignored `renamedFrom` if the object with this key had its own file, which may be
  // unchanged and so not be read here.
  return objects.map((object) =>
    created.has(object.path) ? { ...object, renamedFrom: null } : object,
  );
}

interface Applied {
  row: ShownPlan;
  /** False: the plan had been applied before. */
  isNew: boolean;
}

/** If a change is blocked, applies again, to find all changes that are. */
async function applyAgainIfBlocked(
  apply: (collects: boolean) => Promise<Applied>,
): Promise<Applied> {
  try {
    return await apply(false);
  } catch (error) {
    if (!(error instanceof Problem) || !isBlocking(error.code)) throw error;
    return apply(true);
  }
}

interface GivenPlan {
  planId: string;
  /** Null: the plan is applied, or gone. */
  request: PlanRequest | null;
  objects: readonly ReadObject[];
  /** The result of `findBrokenOf`. */
  broken: ReadonlyMap<string, string>;
  /** True: finds all changes that are blocked, instead of the first. */
  collects: boolean;
}

async function applyOnce(
  applier: Applier,
  { planId, request, objects, broken, collects }: GivenPlan,
  options: ApplyOptions,
): Promise<Applied> {
  const { db, cipher, webhooks, caller } = applier;
  const { projectId } = caller;
  return transact(db, async (tx) => {
    await waitForPlans(tx, projectId);
    const plan = found('PLAN', planId, await lockPlan(tx, projectId, planId));
    if (plan.state === 'applied' || !request) return { row: plan, isNew: false };
    await lockForChanges(tx, caller, request);
    const checkTime = limitDuration();
    const reader = { db: tx, projectId, cipher, checkTime };
    const changed = await findStaleReads(reader, request.reads);
    if (changed.length > 0) throw new Problem('PLAN_STALE', { details: { changed } });
    const compared = await compareFiles(reader, objects, deletionsOf(plan));
    if (compared.problems.length > 0) throw refusal(compared.problems);
    const { changes, ids } = compared;
    const before = await versionsOf(tx, changes);
    const causedBy = actorOf(caller);
    const writing = { tx, projectId, causedBy, cipher, webhooks, broken, checkTime };
    const outcomes = await writeChanges(writing, changes, ids, { collects });
    refuseBlocked(changes, outcomes);
    const jobs =
      options.migrate === 'auto' ? await storeMigrations(tx, caller, outcomes, before) : [];
    const row = await complete(applier, tx, plan, { changes, jobs, options });
    return { row, isNew: true };
  });
}

/**
 * Locks the project and the objects that the plan depends on, in a fixed order.
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED
 */
async function lockForChanges(
  tx: Database,
  { projectId, project: { publicId } }: ProjectCaller,
  { reads }: PlanRequest,
): Promise<void> {
  const project = found('PROJECT', publicId, await lockProject(tx, projectId));
  const { disabled_reason: reason } = project;
  if (reason !== null) throw new Problem('PROJECT_DISABLED', { details: { reason } });
  await lockFileObjects(tx, projectId, reads);
  if (reads.some(({ kind }) => kind === 'send-policy')) await lockSendPolicy(tx, projectId);
  // No topic gets a key of the plan meanwhile.
  if (reads.some(({ kind, id }) => kind === 'topic' && id === null))
    await lockTopics(tx, projectId);
}

/** Returns patterns that match exactly the objects that the plan deletes. */
function deletionsOf(plan: ShownPlan) {
  const deleted = changesOf(plan).filter(({ action }) => action === 'delete');
  const prune = deleted.map(({ kind, key }) => ({ kind, beginning: key, isKey: true }));
  return { prune, protect: [] };
}

/** @throws Problem PLAN_BLOCKED with all changes that are blocked */
function refuseBlocked(
  changes: Comparison['changes'],
  outcomes: Awaited<ReturnType<typeof writeChanges>>,
): void {
  const blocked = changes.flatMap((planned) => {
    const { kind, key } = planned.change;
    const refused = outcomes.get(planned)?.refused;
    if (!refused) return [];
    if (!isBlocking(refused.code)) throw refused;
    return [{ kind, key, code: refused.code }];
  });
  if (blocked.length > 0) throw new Problem('PLAN_BLOCKED', { details: { changes: blocked } });
}

/** Stores the result of a plan, and notes it in the security log. */
async function complete(
  { caller, note }: Applier,
  tx: Database,
  plan: ShownPlan,
  made: { changes: Comparison['changes']; jobs: Migration[]; options: ApplyOptions },
): Promise<ShownPlan> {
  const { changes, jobs, options } = made;
  const objects = changes.map(({ change: { action, kind, key }, id }) => ({
    action,
    kind,
    key,
    id,
  }));
  const count = (action: FileChange['action']) =>
    objects.filter((object) => object.action === action).length;
  const target = { type: 'plan', id: plan.id };
  const details = {
    created: count('create'),
    updated: count('update'),
    deleted: count('delete'),
    migrate: options.migrate,
  };
  const { projectId } = caller;
  await note({ event: 'files.applied', projectId, target, details }, tx);
  return completePlan(tx, plan, {
    appliedBy: actorOf(caller),
    ...options,
    result: { objects, jobs },
  });
}

function changesOf({ changes }: ShownPlan): FileChange[] {
  return changes as unknown as FileChange[];
}
