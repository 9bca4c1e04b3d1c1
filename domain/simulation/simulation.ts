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

/** The input and the result of a simulated execution. */

/** Maximum number of steps of one simulation, including the trigger. */
export const simulatedStepsMax = 200;

export class TooManySteps extends Error {}

/**
 * Thrown when the execution ends early: by EXIT, by a delay until a past date, or by an exit rule.
 */
export class Exited extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super();
    this.reason = reason;
  }
}

/** Thrown when the simulated time is over and the execution still waits. */
export class StillWaiting extends Error {}

export interface SimulatedContact {
  id: string;
  email: string;
  subscribed: boolean;
  createdAt: Date;
  updatedAt: Date;
  data: Record<string, unknown> | null;
}

/** An event of the simulated contact. Its data also become contact data, as with `/v1/track`. */
export interface SimulatedEvent {
  name: string;
  at: Date;
  /** The data of the event as sent. */
  given: Record<string, unknown> | null;
  /** The data of the event as stored (see `eventData`). */
  data: Record<string, unknown> | null;
}

export interface SimulatedReceiver {
  statusCode: number;
  /** Any JSON; undefined: no body. */
  response?: unknown;
  /** Number of first requests to which the receiver responds with 503. */
  failures: number;
}

export interface SimulationInput {
  workflow: { id: string; name: string };
  graph: Graph;
  /**
   * The step and its branch after which the execution continues. Absent: the execution starts at
   * the trigger.
   */
  behind?: { stepId: string; branch: string };
  /** Name of the starting event, or `schedule`; null: started by hand. */
  triggerEventName: string | null;
  /** Name of the events that start the workflow; null: events do not start it. */
  startEventName: string | null;
  contact: SimulatedContact;
  subject: StepEffects['subject'];
  /**
   * Path of the execution key in the data of events that start the workflow; null: the workflow has
   * no keys.
   */
  executionKey: string | null;
  context: Record<string, unknown> | null;
  project: { id: string; name: string; language: string; subscription: string | null };
  policy: SendPolicy;
  /** null: the project has no hold-out, or the contact is invented. */
  holdout: Holdout | null;
  /** Times of the real mail that counts for caps, newest first. */
  received: readonly Date[];
  /** Events, the earliest first. */
  events: readonly SimulatedEvent[];
  /** Simulated receivers, by step id. A step without a receiver gets 200 without a body. */
  receivers: ReadonlyMap<string, SimulatedReceiver>;
  startAt: Date;
  /**
   * The end of the simulated time. An execution that has not ended by then has the status WAITING.
   */
  stopAt: Date;
}

export interface SimulationServices {
  apiUrl: string;
  renderer: Renderer & Inspector;
  billed: boolean;
  webhookAttemptsMax: number;
  /** Returns a template of the project, with the status of its sender's domain. */
  findMail(
    templateId: string,
  ): Promise<Pick<StepMailSource, 'template' | 'domainStatus'> & { topicId: string | null }>;
  findSuppression(address: string): Promise<TimedSuppression | null>;
  /** Returns the contact's history from before the simulation; an invented contact has none. */
  readHistory(conditions: readonly Condition[]): Promise<ContactHistory>;
  /** The topics of the project by id. `subscribed`: the contact's choice, or the default. */
  topics: ReadonlyMap<string, { id: string; key: string; subscribed: boolean }>;
  /**
   * The hosts that each secret of the project is bound to, by name of the secret; null: any host.
   */
  secrets: Pick<ReadonlyMap<string, string[] | null>, 'get' | 'has'>;
  /** An unguessable text (see `secretMark`). */
  mark: string;
  newId(): string;
  /** Lets other work of this process run. */
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
  /** `held`: the mail is sent when its last hold ends. */
  outcome: 'send' | 'withheld' | 'held';
  reason: WithheldReason | PolicyHold | null;
  heldUntil: Date | null;
  /** The same warnings as in a preview. */
  warnings: TemplateWarning[];
}

export interface SimulatedWebhook {
  stepId: string;
  /** The time of the last attempt. */
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
