/**
 * The types of steps. To add one, add an entry here, the schema of its config in `steps.ts` and its
 * activity; the compiler requires both. No zod: the workflow sandbox uses this file too.
 */

interface StepKind {
  /**
   * How a run performs the step: by an activity, or by a local activity inside the workflow task,
   * which is for work in our database only: fewer history events, and no task to be queued. null: it
   * is not performed; the execution begins after it.
   */
  runs: 'activity' | 'local' | null;
  /** Suffix of its activity's task queue. Absent: the run's queue. */
  taskQueue?: string;
  /** The outgoing transitions: one, one per branch, one per outcome of a wait, or none. */
  ways: 'one' | 'branches' | 'outcomes' | 'none';
}

const kinds = {
  TRIGGER: { runs: null, ways: 'one' },
  SEND_EMAIL: { runs: 'local', ways: 'one' },
  DELAY: { runs: 'local', ways: 'one' },
  WAIT_FOR_EVENT: { runs: 'local', ways: 'outcomes' },
  CONDITION: { runs: 'local', ways: 'branches' },
  WEBHOOK: { runs: 'activity', taskQueue: '-webhook', ways: 'one' },
  UPDATE_CONTACT: { runs: 'local', ways: 'one' },
  EXIT: { runs: 'local', ways: 'none' },
} as const satisfies Record<string, StepKind>;

export type StepType = keyof typeof kinds;

/** The types that are performed, each by the activity of its name. */
export type PerformedType = {
  [T in StepType]: (typeof kinds)[T]['runs'] extends null ? never : T;
}[StepType];

/** How the steps of each type are performed and where they lead. */
export const stepKinds: Readonly<Record<StepType, StepKind>> = kinds;

/** False for the trigger, and for a type of a newer version. */
export function isPerformed(type: StepType): type is PerformedType {
  return Boolean(stepKinds[type]?.runs);
}

export const stepTypes = Object.keys(kinds) as StepType[];
