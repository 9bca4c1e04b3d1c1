import type { ContactValues } from '../filter/evaluate.ts';
import { meetsTrigger, meetsWait, type Where } from '../filter/where.ts';
import { type KeyFault, startKeyOf } from './start.ts';

/** Decides which waits an event ends, which digests take it, and which workflows it starts. */

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
  /** null: the event ends the wait, instead of being taken. */
  digest: DigestCandidate | null;
}

/** The keys that decide, besides its conditions, which events a digest takes. */
export interface DigestKey {
  /** True if the events also start the workflow: then only those with its key are meant. */
  isOfTrigger: boolean;
  /** The key of the execution. */
  key: string | null;
  /** Path of keys in the data of events; null: the workflow has none. */
  executionKey: string | null;
}

/** An open DIGEST of an execution. */
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
  /** Why it does not start, which is worth a note; null: it may. */
  fault: KeyFault | null;
}

/** A wait or an open digest, with an event. */
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
 * Returns the effects of events that were just recorded. A wait is ended by the first of them. Of several
 * open digests of a step the first takes an event, and an event that one takes does not start its workflow.
 * @param candidates in the order of their events, digests in that of the beginnings of their executions
 */
export function chooseEffects(
  candidates: { waits: readonly WaitCandidate[]; starts: readonly StartCandidate[] },
  events: ReadonlyMap<string, EffectiveEvent>,
): EventEffects {
  const ended = new Map<string, string>();
  const digests: EventForStep[] = [];
  /** Steps that have taken an event, and their workflows. */
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

/** True if an event has the key of the execution, or needs none, so that its digest may take it. */
export function isOfKey({ isOfTrigger, key, executionKey }: DigestKey, data: Json | null): boolean {
  if (!isOfTrigger) return true;
  const found = startKeyOf(executionKey, data);
  return 'key' in found && found.key === key;
}
