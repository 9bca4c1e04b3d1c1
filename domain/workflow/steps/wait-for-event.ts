import { z } from 'zod';
import { fieldsOf, type FieldScope } from '../../filter/step.ts';
import { isJsonEqual } from '../../filter/value.ts';
import { selection } from '../../filter/selection.ts';
import { limits } from '../../limits.ts';
import { ExpectedEvent, Where as WhereSchema } from './schemas.ts';
import { resolvedWhere, shownWhere, type Where } from '../../filter/where.ts';
import { comparisonsText } from '../../filter/words.ts';
import type { EndingEvent, Expectation } from './effects.ts';
import { plainBranch, type StepModule, type StepWarning, waitBranches } from './step.ts';

const WaitForEventConfig = selection({
  eventName: ExpectedEvent,
  /** In seconds. Absent: the step waits without limit. */
  timeout: z.int().min(1).max(limits.waitSecondsMax).optional(),
  where: WhereSchema.optional(),
  since: z
    .enum(['step', 'execution'])
    .optional()
    .describe(
      'From when events count: from the beginning of the step (default) or of the execution',
    ),
});

type WaitConfig = z.output<typeof WaitForEventConfig>;
/** The settings that determine which events are expected. */
type Expected = Pick<WaitConfig, 'eventName' | 'where' | 'since'>;

/** Waits until the contact has an expected event, or until the timeout. */
export const waitForEvent: StepModule<WaitConfig> = {
  config: WaitForEventConfig,
  ways: 'outcomes',
  branches: () => Object.values(waitBranches).map(plainBranch),
  rests: 'wait',
  async play({ config }, effects) {
    const until = waitEnd(config, effects.beganAt);
    const scope = config.where?.length ? await effects.readScope() : null;
    return { kind: 'wait', until, ...expectationOf(config, scope) };
  },
  fieldsRead: ({ where = [] }) =>
    fieldsOf(where).map(({ at, name }) => ({ at: `where.${at}`, name })),
  afterWait: ({ eventName }, event) => ({
    kind: 'branch',
    branch: event ? waitBranches.EVENT : waitBranches.TIMEOUT,
    output: outputOf(eventName, event),
  }),
  explain({ eventName, where = [] }, output) {
    const waited = waitingText(output);
    if (waited !== null) return waited;
    const expected = eventText(eventName, where);
    switch (output['waitOutcome']) {
      case 'EVENT':
        return `got ${expected}`;
      case 'TIMEOUT':
        return `got no ${expected} in time`;
      default:
        return null;
    }
  },
  warnings({ name, config }, { taken, isBehindDelay }) {
    const warnings: StepWarning[] = [];
    if (config.timeout == null && taken.includes(waitBranches.TIMEOUT)) {
      const message =
        `"${name}" has no timeout, so its branch "timeout" is never taken. Set \`timeout\` (in seconds) ` +
        'in its config, or remove the transition of this branch.';
      warnings.push({ code: 'timeout_never', message });
    }
    if (isBehindDelay && config.since !== 'execution') {
      const message =
        `"${name}" comes after a delay or digest, and misses events that arrive during it. To count ` +
        'events from the beginning of the execution, set `"since": "execution"` in its config.';
      warnings.push({ code: 'early_event', message });
    }
    return warnings;
  },
  label: 'WAIT FOR EVENT',
  examples: [{ name: 'Has it ordered?', config: { eventName: 'order_placed', timeout: 259_200 } }],
};

/** Returns when a wait that began at `beganAt` times out; null: never. */
export function waitEnd({ timeout }: WaitConfig, beganAt: Date): Date | null {
  return timeout === undefined ? null : new Date(beganAt.getTime() + timeout * 1000);
}

/**
 * Returns which events end a wait if it begins now.
 * @param scope null: the wait has no conditions
 */
export function expectationOf(
  { eventName, since = 'step', where = [] }: Expected,
  scope: Pick<FieldScope, 'contact' | 'context'> | null,
): Expectation {
  if (where.length === 0 || !scope) return { eventName, since, where: null };
  return { eventName, since, where: { items: resolvedWhere(where, scope), scope } };
}

/** Returns true when two waits expect the same events. Their timeouts do not matter. */
export function expectSame(one: Expected, other: Expected): boolean {
  const [here, there] = [one, other].map(({ eventName, since = 'step', where = [] }) => ({
    eventName,
    since,
    where,
  }));
  return isJsonEqual(here, there);
}

/** Returns the output of a step while it waits; null: any event of the name ends the wait. */
export function waitingFor(eventName: string, where: Where | null): Record<string, unknown> | null {
  return where && { waitingFor: { eventName, where: shownWhere(where) } };
}

/**
 * Returns in words what a step waits for, from its output; null: the step does not wait, or waits
 * for any event of the name.
 */
export function waitingText({ waitingFor: expected }: Record<string, unknown>): string | null {
  if (!expected) return null;
  const { eventName, where } = expected as { eventName: string; where: Where };
  return `waits for ${eventText(eventName, where)}`;
}

/** Returns the name of an event and its conditions in words. */
export function eventText(eventName: string, where: Where): string {
  return [`"${eventName}"`, ...(where.length > 0 ? [comparisonsText(where)] : [])].join(' where ');
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
