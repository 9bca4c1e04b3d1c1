import type { ContactValues } from '../filter/evaluate.ts';
import { meetsTrigger, meetsWait, type Where } from '../filter/where.ts';
import { type KeyFault, startKeyOf } from './start.ts';

/** Decides which waits an event ends, which digests take it, and which workflows it starts. */

type Json = Record<string, unknown>;

/** The data of a recorded event, and its contact, which already has these data. */
export interface EffectiveEvent {
  data: Json | null;
  contact: ContactValues;
}

/**
 * A recorded event (`eventId`), and a wait or an open digest (`id`) of the same contact that expects
 * events of this name.
 */
export interface WaitCandidate {
  id: string;
  eventId: string;
  /** The conditions, as they were resolved when the wait began; null: there are none. */
  where: Where | null;
  /** The part of the execution's context that the conditions name. */
  context: Json | null;
  /** null: it is a wait, which the event ends. */
  digest: DigestCandidate | null;
}

/** The keys that decide, besides its conditions, which events a digest takes. */
export interface DigestKey {
  /**
   * True if events of this name also start the workflow. Then the digest takes only events with the
   * key of its execution.
   */
  isOfTrigger: boolean;
  /** The key of the execution; null: it has none. */
  key: string | null;
  /** Path of the execution key in the data of events; null: the workflow has no keys. */
  executionKey: string | null;
}

export interface DigestCandidate extends DigestKey {
  workflowId: string;
  stepId: string;
}

/** A workflow that the recorded event may start. */
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
  /** Why the event starts no execution; null: it may start one. */
  fault: KeyFault | null;
}

/** A wait or an open digest (`id`), and the event that ends the wait or that the digest takes. */
export interface EventForStep {
  id: string;
  eventId: string;
}

/** Effects of events, besides those of exit rules. */
export interface EventEffects {
  /** Waits that end. */
  waits: EventForStep[];
  /** Digests that take an event. */
  digests: EventForStep[];
  starts: StartChoice[];
}

/**
 * Returns the effects of events that were just recorded. The first suitable event ends a wait. If a
 * step has several open digests, only the first takes the event. An event that a digest takes does not
 * start the digest's workflow.
 * @param candidates in the order of their events. Open digests of one event are in the order in
 *   which their executions began
 */
export function chooseEffects(
  candidates: { waits: readonly WaitCandidate[]; starts: readonly StartCandidate[] },
  events: ReadonlyMap<string, EffectiveEvent>,
): EventEffects {
  const ended = new Map<string, string>();
  const digests: EventForStep[] = [];
  /** The events that digests took, each with the step and with the workflow of the digest. */
  const taken = new Set<string>();
  for (const { id, eventId, where, context, digest } of candidates.waits) {
    const event = events.get(eventId);
    if (!event || ended.has(id)) continue;
    const { data, contact } = event;
    if (!meetsWait(where ?? [], { event: data, contact, context })) continue;
    if (!digest) {
      ended.set(id, eventId);
    } else if (isOfKey(digest, data) && !taken.has(`${digest.stepId} ${eventId}`)) {
      digests.push({ id, eventId });
      taken.add(`${digest.stepId} ${eventId}`).add(`${digest.workflowId} ${eventId}`);
    }
  }
  const starts = candidates.starts.flatMap((start): StartChoice[] => {
    const { workflowId, eventId, where, executionKey } = start;
    const event = events.get(eventId);
    if (!event || taken.has(`${workflowId} ${eventId}`)) return [];
    const { data, contact } = event;
    if (!meetsTrigger(where ?? [], { event: data, contact })) return [];
    const found = startKeyOf(executionKey, data);
    const outcome = 'key' in found ? { ...found, fault: null } : { key: null, ...found };
    return [{ workflowId, eventId, ...outcome }];
  });
  return { waits: [...ended].map(([id, eventId]) => ({ id, eventId })), digests, starts };
}

/**
 * True if an event has the key of the execution, or needs none, so that the digest may take the event.
 */
export function isOfKey({ isOfTrigger, key, executionKey }: DigestKey, data: Json | null): boolean {
  if (!isOfTrigger) return true;
  const found = startKeyOf(executionKey, data);
  return 'key' in found && found.key === key;
}
