import type { Database } from '../../../db/database.ts';
import { parseFilePath } from '../../../domain/files/kinds.ts';
import { listReferrers, type Referrer } from '../../../db/reads/uses/referrers.ts';
import { findWorkflowGraph, readWorkflows } from '../../../db/workflows/workflows.ts';
import { type EditEffect, findEditEffect } from '../../workflows/edit-effect.ts';
import { writeChanges } from '../writing/write.ts';
import type { ChangeOutcome, GivenWriting, PlannedChange } from '../changes.ts';
import { nameOf } from '../hashes.ts';
import type { FileProblem } from '../reading/objects.ts';
import type { ComparedChange, Comparison } from './compare.ts';
import { type BlockingCode, isBlocking, problemsIn } from './problems.ts';

/** Makes the changes of a plan in a transaction that the caller rolls back, and looks at the result. */

export interface RehearsedChange extends ComparedChange {
  /** The version that the workflow gets; null: none. */
  newVersion: number | null;
  /** The effect on active executions; null: there is no new version. */
  people: EditEffect | null;
  usedBy: Referrer[];
  blocked: { code: BlockingCode; details: Record<string, unknown> } | null;
}

export interface Rehearsal {
  changes: RehearsedChange[];
  problems: FileProblem[];
}

const none: ChangeOutcome = { refused: null, version: null };

/**
 * @param examples number of executions to list for each workflow
 */
export async function rehearse(
  writing: GivenWriting,
  { changes: compared, ids, problems }: Comparison,
  examples: number,
): Promise<Rehearsal> {
  const { tx, projectId } = writing;
  const changes = problems.length === 0 ? compared : withoutBroken(compared, problems);
  const versions = await readVersions(tx, changes);
  const effects = new Map<PlannedChange, EditEffect | null>();
  const outcomes = await writeChanges(writing, changes, ids, {
    collects: true,
    async beforeDeleting(stored) {
      for (const change of changes) {
        writing.checkTime();
        const newVersion = versionOf(change, stored.get(change) ?? none, versions);
        effects.set(change, await peopleOf(tx, change, { newVersion, examples }));
      }
    },
  });
  const referrers = await findReferrers(tx, projectId, changes);
  const rehearsal: Rehearsal = { changes: [], problems: [] };
  for (const change of changes) {
    const outcome = outcomes.get(change) ?? none;
    const { refused } = outcome;
    if (refused && change.object && !isBlocking(refused.code)) {
      rehearsal.problems.push(...problemsIn(change.object, refused));
      continue;
    }
    rehearsal.changes.push({
      ...change,
      newVersion: versionOf(change, outcome, versions),
      people: effects.get(change) ?? null,
      usedBy: change.id === null ? [] : (referrers.get(change.id) ?? []),
      blocked:
        refused && isBlocking(refused.code)
          ? { code: refused.code, details: refused.details ?? {} }
          : null,
    });
  }
  return rehearsal;
}

/** Returns the changes that neither have problems nor refer to objects that have some. */
function withoutBroken(
  changes: readonly ComparedChange[],
  problems: readonly FileProblem[],
): ComparedChange[] {
  const broken = new Set(problems.flatMap(({ path }) => namedBy(path)));
  let left = changes.filter(
    ({ change }) => change.action !== 'delete' && !broken.has(nameOf(change)),
  );
  for (let before = -1; before !== left.length;) {
    before = left.length;
    left = left.filter(({ change, references }) => {
      if (!references.some((one) => broken.has(nameOf(one)))) return true;
      broken.add(nameOf(change));
      return false;
    });
  }
  return left;
}

function namedBy(path: string): string[] {
  const named = parseFilePath(path);
  return named ? [nameOf(named)] : [];
}

async function readVersions(
  tx: Database,
  changes: readonly PlannedChange[],
): Promise<ReadonlyMap<string, number>> {
  const ids = changes.flatMap(({ change: { kind, action }, id }) =>
    kind === 'workflow' && action === 'update' && id !== null ? [id] : [],
  );
  const rows = ids.length === 0 ? [] : await readWorkflows(tx, ids);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

function versionOf(
  { change, id }: PlannedChange,
  { version }: ChangeOutcome,
  before: ReadonlyMap<string, number>,
): number | null {
  if (change.kind !== 'workflow' || change.action !== 'update') return null;
  return version === before.get(id ?? '') ? null : version;
}

async function peopleOf(
  tx: Database,
  { change: { kind, action }, id }: PlannedChange,
  { newVersion, examples }: { newVersion: number | null; examples: number },
): Promise<EditEffect | null> {
  if (kind !== 'workflow' || id === null || (action !== 'delete' && newVersion === null))
    return null;
  // No step of a deleted workflow has a counterpart.
  const target =
    action === 'delete' ? { steps: [], transitions: [] } : await findWorkflowGraph(tx, id);
  return findEditEffect(tx, id, target, { mapping: {}, examples });
}

/** Finds what names the changed templates, segments and topics after the changes, by their ids. */
async function findReferrers(
  tx: Database,
  projectId: string,
  changes: readonly PlannedChange[],
): Promise<ReadonlyMap<string, Referrer[]>> {
  const ids = changes.flatMap(({ change: { kind }, id }) =>
    ['template', 'segment', 'topic'].includes(kind) && id !== null ? [id] : [],
  );
  const found = new Map<string, Referrer[]>();
  for (const referrer of await listReferrers(tx, projectId, ids)) {
    const known = found.get(referrer.targetId);
    if (known) known.push(referrer);
    else found.set(referrer.targetId, [referrer]);
  }
  return found;
}
