import { eventData, planContactData } from '../contact/data.ts';
import { isReservedEvent } from '../event-names.ts';
import { invalidField, Refusals } from '../errors.ts';
import type { ContactValues } from '../filter/evaluate.ts';
import { meetsTrigger, type Where } from '../filter/where.ts';
import { branchesOf } from '../workflow/graph-rules.ts';
import type { Graph, GraphStep } from '../workflow/graph.ts';
import { type KeyFault, startKeyOf } from '../workflow/start.ts';
import type { StepConfig } from '../workflow/steps/registry.ts';
import { forceArm } from '../workflow/steps/split.ts';
import type { SimulatedContact, SimulatedEvent } from './simulation.ts';

/** Prepares the values that a caller gives for a simulation. */

/** Returns an invented contact, which is created at the start. */
export function exampleContact(
  given: { email: string; subscribed: boolean; data?: Record<string, unknown> | null | undefined },
  { id, now }: { id: string; now: Date },
): SimulatedContact {
  const { set } = planContactData(given.data);
  const data = Object.keys(set).length === 0 ? null : set;
  const { email, subscribed } = given;
  return { id, email, subscribed, createdAt: now, updatedAt: now, data };
}

interface GivenEvent {
  name: string;
  /** Seconds since the start. */
  after?: number | undefined;
  /** Instead of `after`. */
  at?: Date | undefined;
  data?: Record<string, unknown> | null | undefined;
}

/**
 * Returns the events from the start on, the earliest first. The data of events that the system
 * records do not become contact data.
 */
export function simulatedEvents(given: readonly GivenEvent[], startAt: Date): SimulatedEvent[] {
  return given
    .map(({ name, after = 0, at, data = null }) => ({
      name,
      at: at ?? new Date(startAt.getTime() + after * 1000),
      given: isReservedEvent(name) ? null : data,
      data: eventData(data),
    }))
    .filter(({ at }) => at >= startAt)
    .toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

/** The start of an execution by an event. */
export interface Start {
  starts: boolean;
  /** Why the event starts none; null: it starts one. */
  reason: 'where' | KeyFault | null;
  key: string | null;
}

/**
 * Returns the key of the simulated execution. `start` is the result for an event with `context` as
 * its data; absent: each event of the trigger starts an execution.
 * @param workflow.where the conditions of the trigger; null: none
 */
export function startOf(
  { where, executionKey }: { where: Where | null; executionKey: string | null },
  { key, context }: { key?: string | undefined; context?: Record<string, unknown> | undefined },
  contact: ContactValues,
): { key: string | null; start?: Start } {
  if (where === null && executionKey === null) return { key: null };
  const data = context ?? null;
  const found = startKeyOf(executionKey, data);
  const known = 'key' in found ? found.key : null;
  const isMet = meetsTrigger(where ?? [], { event: data, contact });
  const reason = !isMet ? 'where' : 'fault' in found ? found.fault : null;
  return { key: key ?? known, start: { starts: reason === null, reason, key: known } };
}

/**
 * Refuses a key for a workflow without keys.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseKey(executionKey: string | null, key: string | undefined): void {
  if (executionKey !== null || key === undefined) return;
  throw invalidField('key', 'not_allowed', 'The workflow has no executionKey. Leave `key` out.');
}

/**
 * Finds the steps for which receivers and arms are given.
 * @param find returns the step with a name
 * @param nameOf says how a step is named: `the key`
 * @returns the receivers by step id, and the graph with SPLIT steps that draw the given arms
 * @throws Problem VALIDATION_ERROR for unknown steps and arms
 */
export function resolveBySteps<Receiver>(
  graph: Graph,
  {
    webhooks = {},
    arms = {},
  }: {
    webhooks?: Readonly<Record<string, Receiver>> | undefined;
    arms?: Readonly<Record<string, string>> | undefined;
  },
  find: (name: string) => GraphStep | undefined,
  nameOf: string,
): { receivers: Map<string, Receiver>; graph: Graph } {
  const refusals = new Refusals();
  const receivers = new Map<string, Receiver>();
  for (const [name, receiver] of Object.entries(webhooks)) {
    const step = find(name);
    if (step) receivers.set(step.id, receiver);
    else {
      const message = `"${name}" is ${nameOf} of a step of the graph.`;
      refusals.add(invalidField(`webhooks.${name}`, 'not_found', message));
    }
  }
  const forced = new Map<string, GraphStep>();
  for (const [name, arm] of Object.entries(arms)) {
    const step = find(name);
    const known = step?.type === 'SPLIT' ? branchesOf(step) : null;
    if (step && known?.includes(arm)) {
      forced.set(step.id, { ...step, config: forceArm(step.config as StepConfig<'SPLIT'>, arm) });
    } else {
      const message = known
        ? `Must be an arm of the step: ${known.join(', ')}.`
        : `"${name}" is ${nameOf} of a SPLIT step of the graph.`;
      refusals.add(invalidField(`arms.${name}`, 'not_found', message));
    }
  }
  refusals.throw();
  const steps = graph.steps.map((step) => forced.get(step.id) ?? step);
  return { receivers, graph: { ...graph, steps } };
}

/**
 * Gives a SPLIT step the stored id as its salt. The id of the step determines which arms the step
 * draws. But in a graph with keys, the id of a step is its key. With the salt, the simulation draws
 * the same arms as the workflow.
 */
export function drawnAsStored(
  step: GraphStep,
  stored: readonly { id: string; key: string }[],
): GraphStep {
  const known = step.type === 'SPLIT' && stored.find(({ key }) => key === step.id);
  return known ? { ...step, config: { salt: known.id, ...step.config } } : step;
}
