import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { findVersionGraph } from '../../db/workflows/graphs.ts';
import {
  countPositions,
  listAtPositions,
  type Position,
} from '../../db/workflows/executions/positions.ts';
import {
  counterpartOf,
  type Difference,
  differenceFrom,
  differences,
  type Mapping,
} from '../../domain/workflow/compare.ts';
import { findStep, type Graph, type GraphStep } from '../../domain/workflow/graph.ts';

/** The effect of another graph on the active executions of a workflow. */

const verdicts = ['same', 'differs', 'unmappable'] as const;
const gone = ['step_gone', 'type_changed'] as const;
export const differingWhys = [...differences, ...gone] as const;

export const editEffect = {
  versions: z.array(
    z.object({
      version: z.int(),
      active: z.int(),
      same: z.int(),
      differs: z.int(),
      unmappable: z.int(),
    }),
  ),
  steps: z.array(
    z.object({
      stepId: z.uuid(),
      name: z.string(),
      waiting: z.int(),
      mapsTo: z.string().nullable(),
      reason: z.enum(['same_id', 'mapping', ...gone]),
    }),
  ),
  examples: z.array(
    z.object({
      executionId: z.uuid(),
      contactId: z.uuid(),
      version: z.int(),
      currentStepId: z.uuid(),
      verdict: z.enum(verdicts),
      why: z.enum(differingWhys).nullable(),
    }),
  ),
};

type Version = z.output<(typeof editEffect)['versions']>[number];
type Step = z.output<(typeof editEffect)['steps']>[number];

/** The effect of a new graph on the executions at one position. */
interface Judged extends Position {
  /** The key of the step in its version. */
  key: string;
  name: string;
  mapsTo: string | null;
  reason: Step['reason'];
  verdict: (typeof verdicts)[number];
  why: (typeof differingWhys)[number] | null;
}

/** Executions by verdict and reason, for each version and step, with examples. */
export interface EditEffect {
  judged: readonly Judged[];
  versions: Version[];
  steps: Step[];
  examples: z.output<(typeof editEffect)['examples']>;
}

/**
 * Compares the versions of active executions with another graph. The time depends on the number of
 * versions and steps, not on the number of executions.
 * @param options.from the versions; undefined: all versions with active executions
 * @param options.examples number of executions to list
 */
export async function findEditEffect(
  db: Database,
  workflowId: string,
  target: Graph,
  options: { from?: readonly number[] | undefined; mapping: Mapping; examples: number },
): Promise<EditEffect> {
  const positions = await countPositions(db, workflowId, options.from);
  const judged = await judge(db, workflowId, positions, target, options.mapping);
  return {
    judged,
    versions: sumOfVersions(judged),
    steps: sumOfSteps(judged),
    examples: await examplesOf(db, workflowId, judged, options.examples),
  };
}

async function judge(
  db: Database,
  workflowId: string,
  positions: readonly Position[],
  target: Graph,
  mapping: Mapping,
): Promise<Judged[]> {
  // Positions are sorted by version, so only one graph is in memory at a time. A workflow may have
  // many large versions.
  let known: { version: number; graph: Graph | undefined } | undefined;
  const judged: Judged[] = [];
  for (const position of positions) {
    await nextTurn();
    const { version, stepId } = position;
    if (known?.version !== version) {
      known = { version, graph: await findVersionGraph(db, workflowId, version) };
    }
    const { graph } = known;
    const step = graph && findStep(graph, stepId);
    // The workflow was deleted in the meantime.
    if (!graph || !step) continue;
    const { reason, step: counterpart } = counterpartOf(step, target, mapping);
    const { key } = step as GraphStep & { key: string };
    const shown = { ...position, key, name: step.name, reason };
    if (!counterpart) {
      judged.push({ ...shown, mapsTo: null, verdict: 'unmappable', why: reason });
      continue;
    }
    const why: Difference | null = differenceFrom([graph, target], [step, counterpart], mapping);
    const verdict = why === null ? 'same' : 'differs';
    judged.push({ ...shown, mapsTo: counterpart.id, verdict, why });
  }
  return judged;
}

function sumOfVersions(judged: readonly Judged[]) {
  const sums = new Map<number, Version>();
  for (const { version, active, verdict } of judged) {
    const sum = sums.get(version) ?? { version, active: 0, same: 0, differs: 0, unmappable: 0 };
    sum.active += active;
    sum[verdict] += active;
    sums.set(version, sum);
  }
  return [...sums.values()];
}

/**
 * Adds up the numbers of all versions of each step. The newest version determines the name and the
 * counterpart.
 */
function sumOfSteps(judged: readonly Judged[]) {
  const sums = new Map<string, Step>();
  for (const { stepId, name, active, mapsTo, reason } of judged) {
    const waiting = (sums.get(stepId)?.waiting ?? 0) + active;
    sums.set(stepId, { stepId, name, waiting, mapsTo, reason });
  }
  return [...sums.values()];
}

/** Samples executions position by position, the worst verdict first. */
async function examplesOf(
  db: Database,
  workflowId: string,
  judged: readonly Judged[],
  max: number,
) {
  const order = judged.toSorted(
    (one, other) => verdicts.indexOf(other.verdict) - verdicts.indexOf(one.verdict),
  );
  const chosen = order.slice(0, max);
  if (chosen.length === 0) return [];
  const found = await listAtPositions(db, workflowId, chosen, max);
  return found.flatMap(({ position, ...ids }) => {
    const at = chosen[position];
    if (!at) return [];
    const { version, stepId: currentStepId, verdict, why } = at;
    return [{ ...ids, version, currentStepId, verdict, why }];
  });
}
