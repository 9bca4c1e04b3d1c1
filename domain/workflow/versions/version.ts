import type { Graph } from '../graph.ts';
import type { DrawnStep } from '../portable/redrawing.ts';

export type TriggerType = 'EVENT' | 'MANUAL' | 'SCHEDULE';

/** A version of a workflow: the graph that executions run on, and what is needed to draw it again. */
export interface DrawnVersion extends Graph {
  /** The config of the trigger is that of the TRIGGER step. */
  triggerType: TriggerType;
  steps: DrawnStep[];
}
