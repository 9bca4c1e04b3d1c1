import { z } from 'zod';
import { ExpectedEvent } from './schemas.ts';
import type { StepModule } from './step.ts';

const TriggerConfig = z.object({ eventName: ExpectedEvent.optional() });

export const trigger: StepModule<z.output<typeof TriggerConfig>> = {
  config: TriggerConfig,
  ways: 'one',
  problems: (_, { taken }) => (taken.length === 0 ? ['No step follows the trigger. Add one.'] : []),
  label: 'TRIGGER',
  examples: [],
};

/**
 * Returns the output of a TRIGGER step.
 * @param eventName name of the starting event, or `schedule`; null: a manual start
 */
export function triggerOutput(eventName: string | null, at: Date): Record<string, unknown> {
  return { triggered: true, eventName: eventName ?? 'manual', timestamp: at.toISOString() };
}
