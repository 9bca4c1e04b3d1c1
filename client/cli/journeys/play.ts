import { type ContactHistory, noHistory } from '../../../domain/filter/history.ts';
import {
  exampleContact,
  refuseKey,
  resolveBySteps,
  simulatedEvents,
  startOf,
} from '../../../domain/simulation/given.ts';
import { simulate } from '../../../domain/simulation/simulate.ts';
import type {
  SimulatedContact,
  SimulatedEvent,
  SimulatedReceiver,
  Simulation,
} from '../../../domain/simulation/simulation.ts';
import { unitMs } from '../../../domain/filter/filter.ts';
import { webhookAttemptsDefault } from '../../../domain/webhook/webhook.ts';
import { findStep } from '../../../domain/workflow/graph.ts';
import type { Start } from '../../../api/files/journeys/cases.ts';
import type { FilesProject, PlayableWorkflow } from '../../../api/files/journeys/project.ts';
import { renderer } from './renderer.ts';

/** Plays a workflow of files in memory, as `POST /workflows/{id}/simulate` does with rows. */

const startAtDefault = new Date('2026-01-05T09:00:00.000Z');
export const horizonDays = 400;
const apiUrl = 'https://everpost.test';

/** Ids that are in links and bodies. They stay the same, so that snapshots stay the same. */
const ids = {
  project: '00000000-0000-4000-8000-000000000001',
  workflow: '00000000-0000-4000-8000-000000000002',
  contact: '00000000-0000-4000-8000-000000000003',
  other: '00000000-0000-4000-8000-000000000004',
};

export interface ProjectSettings {
  name?: string | undefined;
  language?: string | undefined;
}

const emailText =
  'contact.email: Is required in the file or in the test. Give any address, such as ada@shop.example.';

/** The start of a test does not fit the files. */
export class UnplayableStart extends Error {}

/** Everything that happens to one contact. */
export interface Happenings {
  contact: SimulatedContact;
  /** The choices of the contact, by the key of the topic. */
  topics: Readonly<Record<string, boolean>>;
  /** The contact and the key by which SPLIT steps draw. */
  subject: { contact: string; key: string | null };
  context: Record<string, unknown> | null;
  events: readonly SimulatedEvent[];
  /** Responses of receivers, by the key of the step. */
  receivers: ReadonlyMap<string, SimulatedReceiver>;
  history: ContactHistory;
  startAt: Date;
  stopAt: Date;
}

/**
 * Plays a test. Everything is made from the files and the start, so a test has the same result on
 * every day.
 * @throws Problem VALIDATION_ERROR; UnplayableStart; TooManySteps
 */
export async function play(
  project: FilesProject,
  workflow: PlayableWorkflow,
  start: Start,
  settings: ProjectSettings,
): Promise<Simulation> {
  const { context, key, arms, webhooks, events = [], startAt = startAtDefault } = start;
  const { email, subscribed = true, data, topics = {} } = start.contact ?? {};
  if (email === undefined) throw new UnplayableStart(emailText);
  const { executionKey, trigger } = workflow;
  const contact = exampleContact({ email, subscribed, data }, { id: ids.contact, now: startAt });
  const find = (step: string) => findStep(workflow.graph, step);
  const resolved = resolveBySteps(workflow.graph, { webhooks, arms }, find, 'not the key');
  refuseKey(executionKey, key);
  const found = startOf({ where: trigger.where, executionKey }, { key, context }, contact);
  const happenings = {
    contact,
    topics,
    subject: { contact: contact.email, key: found.key },
    context: context ?? null,
    events: simulatedEvents(events, startAt),
    receivers: resolved.receivers,
    history: noHistory,
    startAt,
    stopAt: new Date(startAt.getTime() + horizonDays * unitMs.days),
  };
  return playHappenings(project, { ...workflow, graph: resolved.graph }, happenings, settings);
}

/** @throws UnplayableStart; TooManySteps */
export async function playHappenings(
  project: FilesProject,
  { name: workflowName, graph, executionKey, trigger }: PlayableWorkflow,
  { topics, history, ...happenings }: Happenings,
  { name = 'Everpost', language = 'en' }: ProjectSettings,
): Promise<Simulation> {
  const { segments } = project;
  return simulate(
    {
      ...happenings,
      workflow: { id: ids.workflow, name: workflowName },
      graph,
      triggerEventName: trigger.type === 'SCHEDULE' ? 'schedule' : trigger.eventName,
      startEventName: trigger.eventName,
      executionKey,
      project: { id: ids.project, name, language, subscription: null },
      policy: project.policy,
      holdout: null,
      received: [],
    },
    {
      apiUrl,
      renderer,
      billed: false,
      webhookAttemptsMax: webhookAttemptsDefault,
      findMail: async (templateId) => project.findMail(templateId),
      findSuppression: async () => null,
      readHistory: async () => ({ ...history, segments }),
      topics: topicsOf(project, topics),
      secrets: { has: () => true, get: () => null },
      // Files have no values of secrets, so the mark need not be unguessable.
      mark: '\u0001',
      newId: () => ids.other,
      breathe: async () => {},
    },
  );
}

/** @throws UnplayableStart for a choice about a topic without file */
function topicsOf(project: FilesProject, choices: Readonly<Record<string, boolean>>) {
  const topics = project.topics(choices);
  if ('problem' in topics) throw new UnplayableStart(`contact.topics: ${topics.problem}`);
  return topics.topics;
}
