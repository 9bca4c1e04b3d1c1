import { z } from 'zod';
import { limits } from '../../limits.ts';
import type { StepModule } from './step.ts';

const ExitConfig = z.object({ reason: z.string().max(limits.exitReasonChars).optional() });

export const exit: StepModule<z.output<typeof ExitConfig>> = {
  config: ExitConfig,
  ways: 'none',
  async play({ config: { reason } }) {
    const given = reason || 'exit_step';
    return { kind: 'exit', reason: given, output: { exited: true, reason: given } };
  },
  label: 'EXIT',
  examples: [{ name: 'Done', config: { reason: 'welcomed' } }],
};
