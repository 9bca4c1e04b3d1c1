/**
 * The types of steps. A new one is an entry here, the schema of its config in `steps.ts` and its
 * activity; the compiler asks for both. No zod: the engine runs on it too.
 */

interface StepKind {
  /**
   * How a run performs the step: by an activity with a place of its own in the history, or by a
   * local one inside the workflow task, which is for bookkeeping in our database alone. null: it is
   * not performed, the execution begins behind it.
   */
  runs: 'activity' | 'local' | null;
  /** What the name of the task queue of its activity ends with. Absent: the queue of the run. */
  taskQueue?: string;
  /** The ways out: one, one for each branch of the config, one for each end of a wait, or none. */
  ways: 'one' | 'branches' | 'outcomes' | 'none';
}

const kinds = {
  TRIGGER: { runs: null, ways: 'one' },
  SEND_EMAIL: { runs: 'activity', ways: 'one' },
  DELAY: { runs: 'local', ways: 'one' },
  WAIT_FOR_EVENT: { runs: 'local', ways: 'outcomes' },
  CONDITION: { runs: 'local', ways: 'branches' },
  WEBHOOK: { runs: 'activity', taskQueue: '-webhook', ways: 'one' },
  UPDATE_CONTACT: { runs: 'activity', ways: 'one' },
  EXIT: { runs: 'local', ways: 'none' },
} as const satisfies Record<string, StepKind>;

export type StepType = keyof typeof kinds;

/** Those that are performed, each by the activity of its name. */
export type PerformedType = {
  [T in StepType]: (typeof kinds)[T]['runs'] extends null ? never : T;
}[StepType];

/** How the steps of each type are performed and where they lead. */
export const stepKinds: Readonly<Record<StepType, StepKind>> = kinds;

/** False for the trigger, and for a type that only a newer version knows. */
export function isPerformed(type: StepType): type is PerformedType {
  return Boolean(stepKinds[type]?.runs);
}

export const stepTypes = Object.keys(kinds) as StepType[];
