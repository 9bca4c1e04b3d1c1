import type { ContactValues } from '../filter/evaluate.ts';
import { meetsTrigger, meetsWait, type Where } from '../filter/where.ts';
import { type KeyFault, startKeyOf } from './start.ts';

/**
 * Decides which waits an event ends, which digests take the event, and which workflows it starts.
 */

type Json = Record<string, unknown>;

/** The data of a recorded event, and its contact, to which these data were already added. */
export interface EffectiveEvent {
  data: Json | null;
  contact: ContactValues;
}

/**
 * A pair of a recorded event (`eventId`) and a wait or open digest (`id`) of the same contact that
 * expects events with this name.
 */
export interface WaitCandidate {
  id: string;
  eventId: string;
  /** The conditions in the form in which the wait stored them when it began; null: none. */
  where: Where | null;
  /** The parts of the execution's context that the conditions name. */
  context: Json | null;
  /** null: the candidate is a wait, which the event ends. */
  digest: DigestCandidate | null;
}

/** The keys that decide, in addition to its conditions, which events a digest takes. */
export interface DigestKey {
  /**
   * True if events of this name also start the workflow. Then the digest takes only events with the
   * key of its own execution.
   */
  isOfTrigger: boolean;
  /** The key of the execution; null: the execution has none. */
  key: string | null;
  /** Path of the execution key in the data of events; null: the workflow has no keys. */
  executionKey: string | null;
}

export interface DigestCandidate extends DigestKey {
  workflowId: string;
  stepId: string;
}

/** A workflow that a recorded event may start. */
export interface StartCandidate {
  workflowId: string;
  eventId: string;
  where: Where | null;
  /**
   * Path of the workflow's execution key in the data of the event; null: the workflow has no keys.
   */
  executionKey: string | null;
}

/** A start by an event. The re-entry rules, which are checked later, may still refuse it. */
export interface StartChoice {
  workflowId: string;
  eventId: string;
  key: string | null;
  /** Why the event cannot start an execution; null: it can. */
  fault: KeyFault | null;
}

/** A wait or open digest (`id`) with the event that ends the wait, or that the digest takes. */
export interface EventForStep {
  id: string;
  eventId: string;
}

/** The effects of events, without those of exit rules. */
export interface EventEffects {
  /** Waits that end, each with its event. */
  waits: EventForStep[];
  /** Digests that take an event, each with its event. */
  digests: EventForStep[];
  starts: StartChoice[];
}

/**
 * Returns the effects of events that were just recorded. The first suitable event ends a wait. If a
 * step has several open digests, only the first one takes the event. An event that a digest takes
 * does not also start the digest's workflow.
 * @param candidates in the order of their events. The open digests for one event are in the order
 * in which their executions began
 */
export function chooseEffects(
  candidates: { waits: readonly WaitCandidate[]; starts: readonly StartCandidate[] },
  events: ReadonlyMap<string, EffectiveEvent>,
): EventEffects {
  const ended = new Map<string, string>();
  const digests: EventForStep[] = [];
  /** Keys of events that digests took, each with the step and the workflow of the digest. */
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
 * Returns true if an event belongs to the digest of this key: the event has the same execution key,
 * or the digest needs none.
 */
export function isOfKey({ isOfTrigger, key, executionKey }: DigestKey, data: Json | null): boolean {
  if (!isOfTrigger) return true;
  const found = startKeyOf(executionKey, data);
  return 'key' in found && found.key === key;
}
