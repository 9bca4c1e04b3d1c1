import { branchesOf, findStep, findWay, type Journey, type Step, triggerKey } from './graph.ts';

export interface OutlineItem {
  step: Step;
  /** Number of forks on the path to the step. */
  depth: number;
  /** Name of the branch that leads to the step; null: the step before has no branches. */
  branch: string | null;
  /**
   * Names of steps that follow this step, but are listed at another place because several
   * transitions lead to them.
   */
  leadsTo: string[];
  isReached: boolean;
}

interface Open extends Pick<OutlineItem, 'step' | 'depth' | 'branch'> {
  from: OutlineItem | null;
}

/** Returns each step once, in the order of the transitions. Unreachable steps come last. */
export function outlineOf(journey: Journey): OutlineItem[] {
  const items: OutlineItem[] = [];
  const listed = new Set<string>();
  const visit = (start: Step, isReached: boolean) => {
    const open: Open[] = [{ step: start, depth: 0, branch: null, from: null }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { step, depth, branch, from } = next;
      if (listed.has(step.key)) {
        from?.leadsTo.push(branch === null ? step.name : `${branch}: ${step.name}`);
        continue;
      }
      listed.add(step.key);
      const item: OutlineItem = { step, depth, branch, leadsTo: [], isReached };
      items.push(item);
      const isForked = branchesOf(journey, step).length > 1;
      const followers = followersOf(journey, step).map(({ to, name }) => ({
        step: to,
        depth: depth + (isForked ? 1 : 0),
        branch: isForked ? name : null,
        from: item,
      }));
      open.push(...followers.toReversed());
    }
  };
  const trigger = findStep(journey, triggerKey);
  if (trigger) visit(trigger, true);
  for (const step of journey.steps) if (!listed.has(step.key)) visit(step, false);
  return items;
}

function followersOf(journey: Journey, step: Step): { to: Step; name: string }[] {
  return branchesOf(journey, step).flatMap(({ id, name }) => {
    const way = findWay(journey, step.key, id);
    const to = way && findStep(journey, way.to);
    return to ? [{ to, name }] : [];
  });
}
