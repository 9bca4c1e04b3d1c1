import type { Point } from './points.ts';
import type { PartMaker, Play } from './workload.ts';

/** One row of the table. */
export interface Fault {
  name: string;
  /** The work it breaks into; by default mail of every kind. */
  parts?: readonly PartMaker[];
  /** Where it breaks; by default when a part of the mail has been sent. */
  at?: Point;
  /** Prepares the world, before any work begins. */
  before?(play: Play): Promise<void> | void;
  /** Breaks it. Returns how it is mended; without, nothing is to be mended. */
  breaks?(play: Play): Promise<(() => Promise<void>) | void> | (() => Promise<void>) | void;
  /** How long it stays broken, in milliseconds. */
  lastsMs?: number;
  /** Puts the world back, after all work is over. */
  after?(play: Play): Promise<void> | void;
  /** Its share of the usual amount of work; 1 by default. */
  size?: number;
}

export type Break = Required<Pick<Fault, 'breaks'>>['breaks'];
