import { z } from 'zod';
import { selection } from '../../filter/selection.ts';
import { limits } from '../../limits.ts';
import { ExpectedEvent } from './schemas.ts';
import type { EndingEvent } from './effects.ts';
import { plainBranch, type StepModule, waitBranches } from './step.ts';

const WaitForEventConfig = selection({
  eventName: ExpectedEvent,
  /** Seconds; absent: waits without limit. */
  timeout: z.int().min(1).max(limits.waitSecondsMax).optional(),
});

type WaitConfig = z.output<typeof WaitForEventConfig>;

/** Rests until an event of its contact comes, or its time-out. */
export const waitForEvent: StepModule<WaitConfig> = {
  config: WaitForEventConfig,
  ways: 'outcomes',
  branches: () => Object.values(waitBranches).map(plainBranch),
  rests: 'wait',
  async play({ config }, { beganAt }) {
    return { kind: 'wait', eventName: config.eventName, until: waitEnd(config, beganAt) };
  },
  afterWait: ({ eventName }, event) => ({
    kind: 'branch',
    branch: event ? waitBranches.EVENT : waitBranches.TIMEOUT,
    output: outputOf(eventName, event),
  }),
  warnings({ name, config }, { taken }) {
    if (config.timeout != null || !taken.includes(waitBranches.TIMEOUT)) return [];
    const message =
      `"${name}" has no \`timeout\` (seconds, in its config) and waits for ever: its way for the ` +
      'branch "timeout" is never taken.';
    return [{ code: 'timeout_never', message }];
  },
  label: 'WAIT FOR EVENT',
  examples: [{ name: 'Has it ordered?', config: { eventName: 'order_placed', timeout: 259_200 } }],
};

/** When a wait that begins now times out; null: never. */
export function waitEnd({ timeout }: WaitConfig, beganAt: Date): Date | null {
  return timeout === undefined ? null : new Date(beganAt.getTime() + timeout * 1000);
}

function outputOf(eventName: string, event: EndingEvent | null): Record<string, unknown> {
  if (!event) return { waitOutcome: 'TIMEOUT', timedOut: true, eventName };
  return {
    waitOutcome: 'EVENT',
    eventReceived: true,
    eventName,
    ...(event.data ? { eventData: event.data } : {}),
    receivedAt: event.at.toISOString(),
  };
}
