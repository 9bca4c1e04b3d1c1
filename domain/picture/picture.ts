/** The content of a picture of a graph, before the layout. */

/**
 * Maximum number of steps in a picture. Larger pictures are unreadable, and take long to lay out.
 */
export const pictureStepsMax = 1_000;

/**
 * The state of a step in an execution. `untouched`: not reached; `scheduled`: begins at a known
 * time; `done`: ended, also if later steps were skipped or have failed.
 */
export type StepState = 'done' | 'current' | 'scheduled' | 'skipped' | 'failed' | 'untouched';

export interface PictureStep {
  id: string;
  /** The type of the step in words. */
  label: string;
  name: string;
  /** The state of the step; null in the picture of a workflow. */
  state: StepState | null;
  /** The state in words, shown beside its mark; null: no word is shown. */
  word: string | null;
  /** Short lines below the name, such as times and numbers. */
  notes: string[];
  /** Why the step failed, in several lines. */
  fault: string | null;
}

export interface PictureWay {
  from: string;
  to: string;
  /** The branch in words; null: the transition names no branch. */
  label: string | null;
  /** True if the execution took this transition; null in the picture of a workflow. */
  isTaken: boolean | null;
}

export interface Picture {
  title: string;
  subtitle: string;
  steps: PictureStep[];
  /** Transitions between the steps of the picture. */
  ways: PictureWay[];
}
