/** The content of a picture of a graph, before its layout. */

/** Maximum number of steps in a picture. Larger ones are unreadable, and their layout takes long. */
export const pictureStepsMax = 1_000;

/**
 * The state of a step in an execution. `untouched`: not reached; `scheduled`: its time is in the
 * future; `done`: ended, even if later steps were skipped or have failed.
 */
export type StepState = 'done' | 'current' | 'scheduled' | 'skipped' | 'failed' | 'untouched';

export interface PictureStep {
  id: string;
  /** The type in words. */
  label: string;
  name: string;
  /** Null in the picture of a workflow. */
  state: StepState | null;
  /** The state in words, shown beside its mark; null: no word is shown. */
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
  /** True if the execution took this transition; null in the picture of a workflow. */
  isTaken: boolean | null;
}

export interface Picture {
  title: string;
  subtitle: string;
  steps: PictureStep[];
  /** Transitions between steps of the picture. */
  ways: PictureWay[];
}
