/** What a picture of a graph shows, before anything has a place. */

/** Steps that a picture has at most: more of them nobody could read, and their layout takes long. */
export const pictureStepsMax = 1_000;

/**
 * What became of a step in an execution. `untouched`: nothing; `scheduled`: its time has not come;
 * `done` also when others were skipped or failed after it.
 */
export type StepState = 'done' | 'current' | 'scheduled' | 'skipped' | 'failed' | 'untouched';

export interface PictureStep {
  id: string;
  /** The type in words. */
  label: string;
  name: string;
  /** Null in the picture of a workflow. */
  state: StepState | null;
  /** The state in words, shown beside its mark. */
  word: string | null;
  /** Short lines below the name, such as times and numbers. */
  notes: string[];
  /** Why it failed: shown in several lines. */
  fault: string | null;
}

export interface PictureWay {
  from: string;
  to: string;
  /** The branch in words; null: it has none. */
  label: string | null;
  /** Whether the execution went there; null in the picture of a workflow. */
  isTaken: boolean | null;
}

export interface Picture {
  title: string;
  subtitle: string;
  steps: PictureStep[];
  /** Between steps of the picture. */
  ways: PictureWay[];
}
