import type { Graph } from '../graph.ts';
import type { DrawnStep } from '../portable/redrawing.ts';

export type TriggerType = 'EVENT' | 'MANUAL' | 'SCHEDULE';

/**
 * A version of a workflow: the graph that executions run, and the positions and keys for drawing it
 * again.
 */
export interface DrawnVersion extends Graph {
  /** The trigger's config is the config of the TRIGGER step. */
  triggerType: TriggerType;
  steps: DrawnStep[];
}
