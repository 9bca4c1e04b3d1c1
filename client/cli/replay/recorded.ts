import { Failure, exitCodes } from '../frame/failure.ts';
import type { Everpost } from '../../everpost.ts';
import { waitBranches } from '../../../domain/workflow/steps/step.ts';

/** An execution as the server has recorded it. */

type Json = Record<string, unknown>;

export interface RecordedStep {
  /** Key of the step. */
  step: string;
  type: string;
  branch: string | null;
  output: Json | null;
}

export interface RecordedEvent {
  name: string;
  at: Date;
  data: Json | null;
}

export interface RecordedExecution {
  id: string;
  version: number;
  status: string;
  exitReason: string | null;
  error: string | null;
  key: string | null;
  context: Json | null;
  startedAt: Date;
  completedAt: Date | null;
  /** The steps that have begun, without the trigger. */
  path: RecordedStep[];
  /** The steps of its version. */
  steps: { id: string; key: string }[];
  /** Name of the events that start the workflow; null: events do not start it. */
  startEventName: string | null;
  /** The contact as it is now. */
  contact: {
    id: string;
    email: string;
    subscribed: boolean;
    data: Json;
    createdAt: Date;
    updatedAt: Date;
    topics: Record<string, boolean>;
  };
  /** Events of the contact, the earliest first. */
  events: RecordedEvent[];
}

/** Maximum number of the newest events of the contact that are read. */
export const eventsMax = 1_000;

/** A step in one of these states has not begun. */
const notBegun: readonly string[] = ['PENDING', 'SCHEDULED'];

/**
 * Reads an execution with all that a replay needs.
 * @param workflowKey the key of the workflow in files
 * @throws Failure if there is no such workflow; EverpostError
 */
export async function fetchExecution(
  everpost: Everpost,
  workflowKey: string,
  executionId: string,
): Promise<RecordedExecution> {
  const only = `workflow/${workflowKey}`;
  const { objects } = await everpost.get('/files', { query: { only } });
  const id = objects[0]?.id;
  if (!id) {
    const message = `The project has no workflow with the key "${workflowKey}".`;
    throw new Failure('WORKFLOW_NOT_FOUND', exitCodes.refused, message);
  }
  const path = { id, executionId };
  const execution = await everpost.get('/workflows/{id}/executions/{executionId}', { path });
  const { workflowVersion: version, contactId } = execution;
  const ofContact = { path: { id: contactId } };
  const [{ graph }, contact, topics, { events }] = await Promise.all([
    everpost.get('/workflows/{id}/versions/{version}', { path: { id, version } }),
    everpost.get('/contacts/{id}', ofContact),
    everpost.get('/contacts/{id}/topics', ofContact),
    everpost.get('/events/contact/{contactId}', {
      path: { contactId },
      query: { limit: eventsMax },
    }),
  ]);
  const keys = new Map(graph.steps.map((step) => [step.id, step.key]));
  const { status, exitReason, error, key, context, startedAt, completedAt } = execution;
  const eventName = (graph.trigger.config as Json)['eventName'];
  return {
    id: execution.id,
    version,
    status,
    exitReason,
    error,
    key,
    context,
    startedAt: new Date(startedAt),
    completedAt: completedAt === null ? null : new Date(completedAt),
    path: execution.stepExecutions
      .filter(({ step, status: state }) => step.type !== 'TRIGGER' && !notBegun.includes(state))
      .map(({ stepId, step: { type }, output }) => ({
        step: keys.get(stepId) ?? stepId,
        type,
        branch: branchIn(type, output),
        output,
      })),
    steps: graph.steps.map((step) => ({ id: step.id, key: step.key })),
    startEventName: typeof eventName === 'string' ? eventName : null,
    contact: {
      id: contact.id,
      email: contact.email,
      subscribed: contact.subscribed,
      data: contact.data ?? {},
      createdAt: new Date(contact.createdAt),
      updatedAt: new Date(contact.updatedAt),
      topics: Object.fromEntries(topics.map((topic) => [topic.key, topic.subscribed])),
    },
    events: events
      .map(({ name, createdAt, data }) => ({ name, at: new Date(createdAt), data: data ?? null }))
      .toReversed(),
  };
}

/** Returns the branch that a step has taken, by its output; null: none. */
function branchIn(type: string, output: Json | null): string | null {
  if (output === null) return null;
  const { branch, arm, waitOutcome } = output;
  if (type === 'CONDITION') return typeof branch === 'string' ? branch : null;
  if (type === 'SPLIT') return typeof arm === 'string' ? arm : null;
  return waitOutcome === 'EVENT' || waitOutcome === 'TIMEOUT' ? waitBranches[waitOutcome] : null;
}
