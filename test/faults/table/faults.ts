import type { Point } from './points.ts';
import type { PartMaker, Play } from './workload.ts';

/** One row of the table. */
export interface Fault {
  name: string;
  /** The work during which the fault occurs; default: mail of every kind. */
  parts?: readonly PartMaker[];
  /** The point at which the fault occurs; default: when some of the mail has been sent. */
  at?: Point;
  /** Prepares the world, before any work begins. */
  before?(play: Play): Promise<void> | void;
  /** Injects the fault. Returns a function that ends it, if one is needed. */
  breaks?(play: Play): Promise<(() => Promise<void>) | void> | (() => Promise<void>) | void;
  /** Duration of the fault in milliseconds. */
  lastsMs?: number;
  /** Restores the world after all work has ended. */
  after?(play: Play): Promise<void> | void;
  /** Its share of the usual amount of work; 1 by default. */
  size?: number;
}

export type Break = Required<Pick<Fault, 'breaks'>>['breaks'];
