import {
  type ContactValues,
  evaluateFilter,
  holds,
  isFilterMet,
  type Subject,
} from './evaluate.ts';
import {
  type Condition,
  type Filter,
  filterFieldOf,
  type FlatCondition,
  isValueOperator,
  stepFieldOf,
} from './filter.ts';
import { asCondition } from './forms.ts';
import { type ContactHistory, subjectOf } from './history.ts';
import { type FieldComparison, type FieldScope, isMet, operandOf, readField } from './step.ts';

/** The config of a CONDITION in the mode `filter`: each branch has a filter, as a segment has. */

export interface FilterBranch {
  id: string;
  filter: Condition | FlatCondition;
}

/** The output of a CONDITION in the mode `filter`. */
export interface BranchDecision {
  mode: 'filter';
  /** The id of the first branch whose filter holds, or `default`. */
  branch: string;
  /** False: no filter holds, so the branch is `default`. */
  result: boolean;
  /** The branches that were evaluated, in order, with their results. */
  checked: { id: string; result: boolean }[];
}

/**
 * Decides which branch an execution takes.
 * @param now the time at which the scope and the history were read
 */
export function decideBranch(
  branches: readonly FilterBranch[],
  scope: { contact: ContactValues; context: Record<string, unknown> | null },
  history: ContactHistory,
  now: Date,
): BranchDecision {
  const subject = subjectOf(scope.contact, history, now);
  // `event.` reads the context, because the context has the data of all events so far.
  const fields = { ...scope, event: scope.context };
  const isBranchMet = ({ filter }: FilterBranch) =>
    holds(asCondition(filter), (one) => isStepFilterMet(one, fields, subject, now));
  const checked: BranchDecision['checked'] = [];
  for (const branch of branches) {
    checked.push({ id: branch.id, result: isBranchMet(branch) });
    if (checked.at(-1)?.result) break;
  }
  const met = checked.find(({ result }) => result);
  return { mode: 'filter', branch: met?.id ?? 'default', result: met !== undefined, checked };
}

function isStepFilterMet(filter: Filter, fields: FieldScope, subject: Subject, now: Date): boolean {
  const place = filterFieldOf(filter.field, filter.operator);
  if (!place) return false;
  const comparison = filter as FieldComparison;
  const isOfContact = place.root === 'contact' && operandOf(comparison) === null;
  if (isOfContact) return isFilterMet(filter, subject, now);
  if (isValueOperator(filter.operator)) return isMet(comparison, fields);
  return evaluateFilter(filter, readField(stepFieldOf(filter.field), fields), now);
}
