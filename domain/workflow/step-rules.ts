import { persistentWrapper } from '../contact/data.ts';
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

/** The updates of UPDATE_CONTACT with every text rendered, also in `{value, persistent}`. */
export async function renderedUpdates(
  updates: Record<string, unknown>,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<Record<string, unknown>> {
  const sources = Object.entries(updates).flatMap(([key, raw]) => {
    const wrapper = persistentWrapper(raw);
    const source = wrapper ? wrapper.value : raw;
    return typeof source === 'string' ? [{ key, source, wrapper }] : [];
  });
  const texts = await renderer.renderTexts(
    sources.map(({ source }) => source),
    variables,
  );
  const rendered = sources.map(({ key, wrapper }, index) => {
    const value = texts[index];
    return [key, wrapper ? { ...wrapper, value } : value] as const;
  });
  return { ...updates, ...Object.fromEntries(rendered) };
}
