import type { PortableGraph } from '../../../client/api.ts';

/** The graph of a workflow, as GET /workflows/{id}/graph returns it and PUT stores it. */
export type Journey = PortableGraph;
export type Step = Journey['steps'][number];
export type StepType = Step['type'];
export type Way = Journey['transitions'][number];
export type Config = Record<string, unknown>;

/** The key of the TRIGGER step, and of no other step. */
export const triggerKey = 'trigger';

export const typeNames: Readonly<Record<StepType, string>> = {
  TRIGGER: 'Trigger',
  SEND_EMAIL: 'Send email',
  DELAY: 'Delay',
  WAIT_FOR_EVENT: 'Wait for event',
  CONDITION: 'Condition',
  WEBHOOK: 'Webhook',
  UPDATE_CONTACT: 'Update contact',
  SPLIT: 'Split',
  DIGEST: 'Digest',
  EXIT: 'Exit',
};

/** The types that a user can add, in the order of the palette. */
export const addedTypes = (Object.keys(typeNames) as StepType[]).filter(
  (type) => type !== 'TRIGGER',
);

/** The config of a new step, by type. */
export const firstConfigs: Readonly<Record<StepType, Config>> = {
  TRIGGER: {},
  SEND_EMAIL: {},
  DELAY: { amount: 1, unit: 'days' },
  WAIT_FOR_EVENT: { eventName: '', timeout: 86_400 },
  CONDITION: { field: '', operator: 'equals', value: '' },
  WEBHOOK: { url: 'https://', method: 'POST' },
  UPDATE_CONTACT: { updates: {} },
  SPLIT: {
    arms: [
      { id: 'a', name: 'A', weight: 50 },
      { id: 'b', name: 'B', weight: 50 },
    ],
  },
  DIGEST: { eventName: '', for: { amount: 1, unit: 'days' } },
  EXIT: {},
};

export interface Branch {
  /** null: the only transition of a step, or the transition for both outcomes of a wait. */
  id: string | null;
  name: string;
}

interface Named {
  id: string;
  name: string;
}

const listOf = (value: unknown): Named[] => (Array.isArray(value) ? (value as Named[]) : []);

/** Returns the branches that transitions of a step must name; empty: they name no branch. */
export function namedBranches({ type, config }: Pick<Step, 'type' | 'config'>): Named[] {
  if (type === 'SPLIT') return listOf(config['arms']);
  if (type !== 'CONDITION') return [];
  const { mode } = config;
  if (mode !== 'multi' && mode !== 'filter') {
    return [
      { id: 'yes', name: 'Yes' },
      { id: 'no', name: 'No' },
    ];
  }
  return [...listOf(config['branches']), { id: 'default', name: 'Default' }];
}

const only: Branch = { id: null, name: 'Next' };
const either: Branch = { id: null, name: 'Either outcome' };
const outcomes: readonly Branch[] = [
  { id: 'event', name: 'Event' },
  { id: 'timeout', name: 'Timeout' },
];

/** Returns all branches by which a step can lead to other steps; none for EXIT. */
export function branchesOf(journey: Journey, step: Step): readonly Branch[] {
  if (step.type === 'EXIT') return [];
  if (step.type === 'WAIT_FOR_EVENT') {
    const isEither = waysOut(journey, step.key).some(({ branch }) => branch === undefined);
    return isEither ? [...outcomes, either] : outcomes;
  }
  const named = namedBranches(step);
  return named.length > 0 ? named : [only];
}

export function findStep(journey: Journey, key: string | null): Step | undefined {
  return journey.steps.find((step) => step.key === key);
}

export function waysOut(journey: Journey, key: string): Way[] {
  return journey.transitions.filter(({ from }) => from === key);
}

/** Returns the transition of one branch. */
export function findWay(journey: Journey, from: string, branch: string | null): Way | undefined {
  return waysOut(journey, from).find((way) => (way.branch ?? null) === branch);
}

export function wayOf(from: string, to: string, branch: string | null): Way {
  return branch === null ? { from, to } : { from, to, branch };
}

/** Returns the keys of a step and of all steps that can follow it. */
export function reachableFrom(journey: Journey, key: string): Set<string> {
  const reached = new Set([key]);
  const open = [key];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { to } of waysOut(journey, next)) {
      if (reached.has(to)) continue;
      reached.add(to);
      open.push(to);
    }
  }
  return reached;
}

/** Returns the steps to which a transition may lead: without a loop, and not to the trigger. */
export function targetsOf(journey: Journey, from: Step): Step[] {
  if (from.type === 'EXIT') return [];
  return journey.steps.filter(
    ({ key, type }) => type !== 'TRIGGER' && !reachableFrom(journey, key).has(from.key),
  );
}
