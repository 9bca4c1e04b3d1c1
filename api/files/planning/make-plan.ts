import { type Database, transact } from '../../../db/database.ts';
import { countFileObjects } from '../../../db/files/objects.ts';
import { insertPlan, lockPlans, type ShownPlan } from '../../../db/files/plans.ts';
import { isLockTimeout } from '../../../db/sql-state.ts';
import { makeMissingKeys } from '../../../db/transactions/files/make-keys.ts';
import { Problem } from '../../../domain/errors.ts';
import { fileKinds } from '../../../domain/files/kinds.ts';
import type { Services } from '../../services/services.ts';
import { readFilesApart } from '../apart/read-files.ts';
import { limitDuration } from '../duration.ts';
import { sealFiles } from '../sealed-files.ts';
import { findBrokenOf } from '../writing/broken.ts';
import { type Comparison, compareFiles, type Patterns } from './compare.ts';
import { mergeProblems } from '../reading/read.ts';
import { refusal } from './problems.ts';
import type { PlanSummary, ShownChange } from './record.ts';
import { rehearse, type Rehearsal, type RehearsedChange } from './rehearse.ts';
import { findPlanWarnings } from './warnings.ts';

interface GivenPlan extends Patterns {
  files: Readonly<Record<string, string>>;
  variables: Readonly<Record<string, string>>;
  examples: number;
}

interface Planner extends Pick<Services, 'db' | 'cipher' | 'renderer' | 'webhooks' | 'config'> {
  projectId: string;
  /** The result of `actorOf`. */
  causedBy: string;
}

/**
 * Makes a plan: compares files with the stored objects, and makes the changes in a transaction that
 * is rolled back.
 * @throws Problem VALIDATION_ERROR with all problems of the files; SERVICE_UNAVAILABLE if other plans
 * of the project take too long
 */
export async function makePlan(planner: Planner, given: GivenPlan): Promise<ShownPlan> {
  const { db, projectId, causedBy, cipher, webhooks } = planner;
  const { files, variables } = given;
  const { objects, problems } = await readFilesApart(projectId, files, variables);
  await makeMissingKeys(db, projectId);
  const broken = await findBrokenOf(planner, projectId, objects);
  const { comparison, rehearsal, total } = await rolledBack(planner, async (tx) => {
    const checkTime = limitDuration();
    const reader = { db: tx, projectId, cipher, checkTime };
    const compared = await compareFiles(reader, objects, given);
    const writing = { tx, projectId, causedBy, cipher, webhooks, broken, checkTime };
    const all = { ...compared, problems: mergeProblems(problems, compared.problems) };
    return {
      comparison: all,
      total: await countFileObjects(tx, projectId),
      rehearsal: await rehearse(writing, all, given.examples),
    };
  });
  const refused = mergeProblems(comparison.problems, rehearsal.problems);
  if (refused.length > 0) throw refusal(refused);
  const shown = {
    summary: summaryOf(comparison, rehearsal, total),
    changes: rehearsal.changes.map(shownChange),
    warnings: await findPlanWarnings(planner, projectId, rehearsal.changes),
  };
  const { reads } = comparison;
  const request = { files: sealFiles(cipher, files), variables, reads };
  const row = await transact(db, (tx) =>
    insertPlan(tx, { projectId, createdBy: causedBy, ...request, ...shown }),
  );
  return { ...row, changes: shown.changes, warnings: shown.warnings } as unknown as ShownPlan;
}

/** Ends a transaction that must change nothing, and carries its result. */
class RolledBack<T> {
  readonly result: T;

  constructor(result: T) {
    this.result = result;
  }
}

/** Runs `work` alone among the plans of the project, in a transaction that is rolled back. */
async function rolledBack<T>(
  { db, projectId }: Planner,
  work: (tx: Database) => Promise<T>,
): Promise<T> {
  let ended: RolledBack<T> | undefined;
  try {
    await transact(db, async (tx) => {
      await waitForPlans(tx, projectId);
      ended = new RolledBack(await work(tx));
      throw ended;
    });
  } catch (error) {
    if (error instanceof RolledBack && error === ended) return ended.result;
    throw error;
  }
  throw new Error('The transaction of a plan was committed.');
}

/**
 * Makes plans and applies of a project run one after the other, until the end of the transaction.
 * @throws Problem SERVICE_UNAVAILABLE if the others take too long
 */
export async function waitForPlans(tx: Database, projectId: string): Promise<void> {
  try {
    await lockPlans(tx, projectId);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const message = 'Another plan of the project is being made or applied.';
    throw new Problem('SERVICE_UNAVAILABLE', { message, suggestion: 'Try again in a minute.' });
  }
}

function summaryOf(
  { unchanged, managed }: Comparison,
  { changes }: Rehearsal,
  total: number,
): PlanSummary {
  const count = (action: RehearsedChange['change']['action']) =>
    changes.filter(({ change }) => change.action === action).length;
  return {
    create: count('create'),
    update: count('update'),
    delete: count('delete'),
    unchanged,
    blocked: changes.filter(({ blocked }) => blocked !== null).length,
    unmanaged: Math.max(0, total - managed),
  };
}

function shownChange(one: RehearsedChange): ShownChange {
  const { change, fields, fieldCount, newVersion, people, usedBy, blocked } = one;
  return {
    ...change,
    fields,
    fieldCount,
    newVersion,
    people: people && shownPeople(people),
    usedBy: shownUsers(usedBy),
    blocked,
  };
}

/** Returns what uses an object, in the order of kinds. An object without a key has no file yet. */
function shownUsers(usedBy: RehearsedChange['usedBy']): ShownChange['usedBy'] {
  return usedBy
    .flatMap(({ kind, key, active }) => (key === null ? [] : [{ kind, key, active }]))
    .toSorted((one, other) => fileKinds.indexOf(one.kind) - fileKinds.indexOf(other.kind));
}

function shownPeople({
  judged,
  versions,
  steps,
  examples,
}: NonNullable<RehearsedChange['people']>): NonNullable<ShownChange['people']> {
  const sums = { active: 0, same: 0, differs: 0, unmappable: 0 };
  const why: NonNullable<ShownChange['people']>['why'] = {};
  const keys = new Map(judged.map(({ stepId, key }) => [stepId, key]));
  for (const { active, verdict, why: reason } of judged) {
    sums.active += active;
    sums[verdict] += active;
    if (reason !== null) why[reason] = (why[reason] ?? 0) + active;
  }
  return {
    ...sums,
    why,
    versions,
    steps: steps.map((step) => ({ ...step, key: keys.get(step.stepId) ?? '' })),
    examples,
  };
}
