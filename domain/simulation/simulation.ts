import type { Condition } from '../filter/filter.ts';
import type { ContactHistory } from '../filter/history.ts';
import type { TimedSuppression } from '../mail/suppression.ts';
import type { Holdout } from '../holdout/holdout.ts';
import type { SendPolicy } from '../mail/send-policy.ts';
import type { WithheldReason } from '../outcomes/outcome.ts';
import type { PolicyHold } from '../outcomes/policy-holds.ts';
import type { Renderer } from '../template/render.ts';
import type { Inspector, TemplateWarning } from '../template/warnings.ts';
import type { Graph } from '../workflow/graph.ts';
import type { StepEffects, StepMailSource } from '../workflow/steps/effects.ts';
import type { StepType } from '../workflow/steps/registry.ts';

/** Input and result of a simulated execution. */

/** Maximum number of steps of one simulation, including the trigger. */
export const simulatedStepsMax = 200;

export class TooManySteps extends Error {}

/** Thrown when a step (EXIT, or a delay until a past date) or an exit rule ends the execution. */
export class Exited extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super();
    this.reason = reason;
  }
}

/** Thrown when the simulated time is over. */
export class StillWaiting extends Error {}

export interface SimulatedContact {
  id: string;
  email: string;
  subscribed: boolean;
  createdAt: Date;
  updatedAt: Date;
  data: Record<string, unknown> | null;
}

/** An event of the contact. Its data change the contact, as with `/v1/track`. */
export interface SimulatedEvent {
  name: string;
  at: Date;
  /** The data as they were sent. */
  given: Record<string, unknown> | null;
  /** The data as the event stores them: see `eventData`. */
  data: Record<string, unknown> | null;
}

export interface SimulatedReceiver {
  statusCode: number;
  /** Any JSON; undefined: no body. */
  response?: unknown;
  /** Number of first requests that it answers with 503. */
  failures: number;
}

export interface SimulationInput {
  workflow: { id: string; name: string };
  graph: Graph;
  /** The step and branch after which to continue. Absent: the execution starts at the trigger. */
  behind?: { stepId: string; branch: string };
  /** Name of the starting event, or `schedule`; null: it is started by hand. */
  triggerEventName: string | null;
  /** Name of the events that start the workflow; null: no event does. */
  startEventName: string | null;
  contact: SimulatedContact;
  subject: StepEffects['subject'];
  /**
   * Path of the execution key in the data of events that start the workflow; null: the workflow has no
   * keys.
   */
  executionKey: string | null;
  context: Record<string, unknown> | null;
  project: { id: string; name: string; language: string; subscription: string | null };
  policy: SendPolicy;
  /** null: the project has none, or the contact is made up. */
  holdout: Holdout | null;
  /** When the contact got the real mail that counts for caps, newest first. */
  received: readonly Date[];
  /** Sorted by time. */
  events: readonly SimulatedEvent[];
  /** Receivers by step id. A missing receiver answers 200 without a body. */
  receivers: ReadonlyMap<string, SimulatedReceiver>;
  startAt: Date;
  /** An execution that has not ended at this time gets the status WAITING. */
  stopAt: Date;
}

export interface SimulationServices {
  apiUrl: string;
  renderer: Renderer & Inspector;
  billed: boolean;
  webhookAttemptsMax: number;
  /** Returns a template of the project with the state of its sender's domain. */
  findMail(
    templateId: string,
  ): Promise<Pick<StepMailSource, 'template' | 'domainStatus'> & { topicId: string | null }>;
  findSuppression(address: string): Promise<TimedSuppression | null>;
  /** The contact's history from before the simulation; a made up contact has none. */
  readHistory(conditions: readonly Condition[]): Promise<ContactHistory>;
  /** The topics of the project by id, with the contact's choice or the default. */
  topics: ReadonlyMap<string, { id: string; key: string; subscribed: boolean }>;
  /** The hosts that the project's secrets are bound to, by name of the secret; null: any host. */
  secrets: ReadonlyMap<string, string[] | null>;
  /** An unguessable text: see `secretMark`. */
  mark: string;
  newId(): string;
  /** Lets other work run. */
  breathe(): Promise<void>;
}

export interface SimulatedStep {
  stepId: string;
  name: string;
  type: StepType;
  enteredAt: Date;
  leftAt: Date | null;
  branch: string | null;
  output: Record<string, unknown> | null;
}

export interface SimulatedMail {
  stepId: string;
  at: Date;
  to: string;
  from: string;
  subject: string;
  body: string;
  messageClass: string;
  /** `held`: it is sent when its last hold has ended. */
  outcome: 'send' | 'withheld' | 'held';
  reason: WithheldReason | PolicyHold | null;
  heldUntil: Date | null;
  /** Warnings, as in a preview. */
  warnings: TemplateWarning[];
}

export interface SimulatedWebhook {
  stepId: string;
  /** The time of its last attempt. */
  at: Date;
  attempts: number;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | null;
}

export interface Simulation {
  status: 'COMPLETED' | 'EXITED' | 'FAILED' | 'WAITING';
  exitReason: string | null;
  error: string | null;
  startedAt: Date;
  endedAt: Date | null;
  path: SimulatedStep[];
  emails: SimulatedMail[];
  webhooks: SimulatedWebhook[];
  contact: SimulatedContact;
  context: Record<string, unknown> | null;
}
