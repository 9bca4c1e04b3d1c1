import { z } from 'zod';
import { invalidField, Refusals } from '../../../domain/errors.ts';
import type { GraphStep } from '../../../domain/workflow/graph.ts';
import { branchesOf } from '../../../domain/workflow/graph-rules.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';
import { waitBranches } from '../../../domain/workflow/steps/step.ts';
import { named, Uuid } from '../../http/schemas.ts';

/** Transitions in requests. */

export const TransitionInput = z.object({
  fromStepId: Uuid,
  toStepId: Uuid,
  condition: named('TransitionConditionInput', {
    branch: z.string().nullish(),
    fallback: z.boolean().nullish(),
  })
    .nullish()
    .describe('`{branch}`; `{fallback: true}` after WAIT_FOR_EVENT is its time-out'),
  branch: z.string().nullish().describe('The same as condition.branch'),
  waitOutcome: z.enum(['EVENT', 'TIMEOUT']).nullish(),
  priority: z.int32().default(0),
});

/** The fields of a request that name the branch of a transition. */
export type GivenBranch = Omit<
  z.output<typeof TransitionInput>,
  'fromStepId' | 'toStepId' | 'priority'
>;

/**
 * Returns the branch of a new transition from `from`; null: the step has no branches, or the
 * transition is for both outcomes of a wait. A request can name the branch in several forms.
 * @throws Problem VALIDATION_ERROR when the request names two different branches, an unknown
 * branch, or no branch although the step needs one.
 */
export function chosenBranch(from: GraphStep, given: GivenBranch): string | null {
  const { condition, waitOutcome } = given;
  const inCondition = condition?.branch ?? null;
  const branch = inCondition ?? given.branch ?? null;
  const field = inCondition === null && given.branch != null ? 'branch' : 'condition.branch';
  const refusals = new Refusals();
  if (given.branch != null && given.branch !== branch) {
    refusals.add(
      invalidField(
        'branch',
        'custom',
        'Is another name of `condition.branch`, but has another value. Send only one of them.',
      ),
    );
  }
  const { ways } = stepModules[from.type];
  if (ways !== 'outcomes' && waitOutcome != null) {
    const message = `Only a WAIT_FOR_EVENT step has outcomes; "${from.name}" is a ${from.type} step. Leave \`waitOutcome\` out.`;
    refusals.add(invalidField('waitOutcome', 'not_allowed', message));
  }
  const chosen = refusals.try(() => {
    if (ways === 'outcomes') return chosenOutcome(from, { branch, field }, given);
    if (ways === 'branches') return chosenResult(from, branch);
    if (branch === null && !condition?.fallback) return null;
    const message = `"${from.name}" has no branches. Leave \`${field}\` out.`;
    throw invalidField(field, 'not_allowed', message);
  });
  refusals.throw();
  return chosen ?? null;
}

function chosenResult(from: GraphStep, branch: string | null): string {
  const known = branchesOf(from);
  if (branch !== null && known.includes(branch)) return branch;
  const message = `Must be a branch of "${from.name}": ${known.join(', ')}.`;
  throw invalidField(
    'condition.branch',
    branch === null ? 'required' : 'invalid_enum_value',
    message,
  );
}

function chosenOutcome(
  from: GraphStep,
  { branch, field }: { branch: string | null; field: string },
  given: GivenBranch,
): string | null {
  const { EVENT, TIMEOUT } = waitBranches;
  if (branch !== null && branch !== EVENT && branch !== TIMEOUT) {
    const message = `Must be a branch of "${from.name}": ${EVENT} or ${TIMEOUT}.`;
    throw invalidField(field, 'invalid_enum_value', message);
  }
  const named = new Set<string>();
  if (branch !== null) named.add(branch);
  if (given.waitOutcome != null) named.add(waitBranches[given.waitOutcome]);
  if (given.condition?.fallback) named.add(TIMEOUT);
  const [outcome, other] = named;
  if (other === undefined) return outcome ?? null;
  const message =
    '`branch`, `waitOutcome` and `condition` name different branches. Send only `branch`.';
  throw invalidField('waitOutcome', 'custom', message);
}
