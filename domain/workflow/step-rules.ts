import { persistentWrapper } from '../contact/data.ts';
import { replaceStrings } from '../template/liquid-context.ts';
import type { Renderer, TemplateVariables } from '../template/render.ts';
import type { StepConfig } from './steps.ts';

/**
 * What steps come to, apart from the row that keeps it: the activities and the simulator play them by
 * the same rules.
 */

/** A step that cannot succeed, however often it is tried. The customer reads the message. */
export class StepFailure extends Error {
  readonly output: Record<string, unknown> | null;

  constructor(message: string, output: Record<string, unknown> | null = null) {
    super(message);
    this.output = output;
  }
}

/** @param eventName what started the execution; null: somebody did by hand. */
export function triggerOutput(eventName: string | null, at: Date): Record<string, unknown> {
  return { triggered: true, eventName: eventName ?? 'manual', timestamp: at.toISOString() };
}

/** When a wait that begins now times out; null: never. */
export function waitEnd({ timeout }: StepConfig<'WAIT_FOR_EVENT'>, beganAt: Date): Date | null {
  return timeout === undefined ? null : new Date(beganAt.getTime() + timeout * 1000);
}

/** @param event what ended the wait; null: its time-out. */
export function waitOutput(
  eventName: string,
  event: { data: Record<string, unknown> | null; at: Date } | null,
): Record<string, unknown> {
  if (!event) return { waitOutcome: 'TIMEOUT', timedOut: true, eventName };
  return {
    waitOutcome: 'EVENT',
    eventReceived: true,
    eventName,
    ...(event.data ? { eventData: event.data } : {}),
    receivedAt: event.at.toISOString(),
  };
}

export function exitOf({ reason }: StepConfig<'EXIT'>): {
  reason: string;
  output: Record<string, unknown>;
} {
  const given = reason || 'exit_step';
  return { reason: given, output: { exited: true, reason: given } };
}

/** What UPDATE_CONTACT makes of `subscribed`; undefined: nothing. */
export const subscribedAfter = { none: undefined, subscribe: true, unsubscribe: false } as const;

/**
 * The updates of UPDATE_CONTACT with every text rendered, also inside lists and objects; keys stay as
 * written. One expression alone keeps its type: `{{ visits | plus: 1 }}` is a number.
 */
export async function renderedUpdates(
  updates: Record<string, unknown>,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<Record<string, unknown>> {
  const sources = new Set<string>();
  for (const value of Object.values(updates)) {
    replaceStrings(value, (source) => sources.add(source), asWritten);
  }
  const texts = await renderer.renderTexts([...sources], variables);
  const rendered = new Map([...sources].map((source, index) => [source, texts[index]]));
  const valueOf = (source: string): unknown => {
    const { text = '', value = text } = rendered.get(source) ?? {};
    return value;
  };
  return Object.fromEntries(
    Object.entries(updates).map(([key, written]) => {
      const value = replaceStrings(written, valueOf, asWritten);
      // A value of the contact's own is stored as it is, even where it looks like a wrapper.
      const isWrapper = typeof written === 'string' && persistentWrapper(value) !== null;
      return [key, isWrapper ? { value, persistent: true } : value];
    }),
  );
}

const asWritten = (key: string): string => key;
