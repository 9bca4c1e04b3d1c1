import { z } from 'zod';
import { limits } from '../../limits.ts';
import type { StepModule } from './step.ts';

const ExitConfig = z.object({ reason: z.string().max(limits.exitReasonChars).optional() });

/** Ends the execution. */
export const exit: StepModule<z.output<typeof ExitConfig>> = {
  config: ExitConfig,
  ways: 'none',
  isPerformed: true,
  label: 'EXIT',
  examples: [{ name: 'Done', config: { reason: 'welcomed' } }],
};

export function exitOf({ reason }: z.output<typeof ExitConfig>): {
  reason: string;
  output: Record<string, unknown>;
} {
  const given = reason || 'exit_step';
  return { reason: given, output: { exited: true, reason: given } };
}
