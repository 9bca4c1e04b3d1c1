import type { ContactValues } from '../filter/evaluate.ts';
import { meetsTrigger, meetsWait, type Where } from '../filter/where.ts';
import { type KeyFault, startKeyOf } from './start.ts';

/** Decides which waits an event ends, and which workflows it starts. */

type Json = Record<string, unknown>;

/** The data of a recorded event, and its contact with them. */
export interface EffectiveEvent {
  data: Json | null;
  contact: ContactValues;
}

/** A wait for an event of this name and contact. */
export interface WaitCandidate {
  id: string;
  eventId: string;
  /** As they were resolved when the wait began; null: none. */
  where: Where | null;
  /** As far as the conditions name it. */
  context: Json | null;
}

/** A workflow that events of this name start. */
export interface StartCandidate {
  workflowId: string;
  eventId: string;
  where: Where | null;
  /** Path of its key in the data of the event; null: the workflow has no keys. */
  executionKey: string | null;
}

/** A start by an event, unless the rules of re-entry refuse it. */
export interface StartChoice {
  workflowId: string;
  eventId: string;
  key: string | null;
  /** Why it does not start, which is worth a note; null: it may. */
  fault: KeyFault | null;
}

/** Effects of events, besides those of exit rules. */
export interface EventEffects {
  waits: { id: string; eventId: string }[];
  starts: StartChoice[];
}

/**
 * Returns the effects of events that were just recorded. A wait is ended by the first of them.
 * @param candidates in the order of their events
 */
export function chooseEffects(
  candidates: { waits: readonly WaitCandidate[]; starts: readonly StartCandidate[] },
  events: ReadonlyMap<string, EffectiveEvent>,
): EventEffects {
  const ended = new Map<string, string>();
  for (const { id, eventId, where, context } of candidates.waits) {
    const event = events.get(eventId);
    if (!event || ended.has(id)) continue;
    const { data, contact } = event;
    if (meetsWait(where ?? [], { event: data, contact, context })) ended.set(id, eventId);
  }
  const starts = candidates.starts.flatMap((start): StartChoice[] => {
    const { workflowId, eventId, where, executionKey } = start;
    const event = events.get(eventId);
    if (!event) return [];
    const { data, contact } = event;
    if (!meetsTrigger(where ?? [], { event: data, contact })) return [];
    const found = startKeyOf(executionKey, data);
    const outcome = 'key' in found ? { ...found, fault: null } : { key: null, ...found };
    return [{ workflowId, eventId, ...outcome }];
  });
  return { waits: [...ended].map(([id, eventId]) => ({ id, eventId })), starts };
}
