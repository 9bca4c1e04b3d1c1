import type { ContactDataChange } from '../../contact/data.ts';
import type { Condition } from '../../filter/filter.ts';
import type { ContactHistory } from '../../filter/history.ts';
import type { ContactValues } from '../../filter/evaluate.ts';
import type { FieldScope } from '../../filter/step.ts';
import type { Utm } from '../../links/utm.ts';
import type { RenderedMail } from '../../mail/content.ts';
import type { MessageClass } from '../../mail/headers.ts';
import type { WithheldReason } from '../../outcomes/outcome.ts';
import type { Renderer, TemplateVariables } from '../../template/render.ts';
import type { ZonePolicy } from '../../time/zones.ts';
import type { WebhookCall, WebhookVariables } from '../../webhook/webhook.ts';
import type { Where } from '../../filter/where.ts';

type Json = Record<string, unknown>;

/** A delay of fixed length, with its output except the time when it is over. */
export interface FixedDelay {
  ms: number;
  output: Json;
}

/** The result of a step. `output` is shown in its record. */
export type Played =
  /** It is complete. `gaveUp`: why it failed although the execution continues, for operators. */
  | { kind: 'done'; output: Json; gaveUp?: string }
  /** It is complete, and the execution continues along this branch. */
  | { kind: 'branch'; branch: string; output: Json }
  /** It ends the execution. */
  | { kind: 'exit'; reason: string; output: Json }
  /** It is complete; the next step begins when the time is over. The output gets `resumeAt`. */
  | { kind: 'rest'; end: FixedDelay | { until: Date; output: Json } }
  /**
   * It waits for an event, at most until this moment. Then `afterWait` decides how it continues.
   */
  | ({ kind: 'wait'; until: Date | null } & Expectation)
  /** It collects events until this moment, or closes earlier. Then `digestResult` ends it. */
  | ({ kind: 'digest'; until: Date; settings: DigestSettings } & Expectation)
  /** It makes a request, several times if needed. Then `afterCall` decides how it continues. */
  | { kind: 'call'; call: StepCallout };

/** The events that end a wait, or that a digest takes. */
export interface Expectation {
  eventName: string;
  /** From when events count: from the beginning of the wait, or of its execution. */
  since: 'step' | 'execution';
  /** The conditions of the events; null: any event of the name. */
  where: {
    /** Resolved: see `resolvedWhere`. */
    items: Where;
    /** Contact and context when the wait begins. Earlier events are compared with these values. */
    scope: Pick<FieldScope, 'contact' | 'context'>;
  } | null;
}

/** The settings of an open DIGEST, as its row stores them. */
export interface DigestSettings {
  /** Number of events at which it closes early; null: it closes at its end. */
  max: number | null;
  /** True: it is the first one for some time, and closes at once. */
  isFirst: boolean;
  /** The time from which its length is counted, in ISO 8601. */
  countsFrom: string;
}

export type Ended = Extract<Played, { kind: 'done' | 'branch' }>;

export interface StepCallout {
  request: WebhookCall;
  /** The request without secrets, safe to store. */
  shown: WebhookCall;
  /** The values of the secrets in the request. */
  secrets: string[];
}

export interface EndingEvent {
  data: Json | null;
  at: Date;
}

/**
 * The reads and side effects available to a step. Executions and the simulator play steps alike,
 * each with effects of its own. Methods that need the contact throw a StepFailure when it is gone.
 */
export interface StepEffects {
  /** When the step began. */
  readonly beganAt: Date;
  /**
   * `contact`: the id of the execution's contact; in a simulation without a contact, the address.
   * `key`: the key of the execution; null: it has none.
   */
  readonly subject: { contact: string; key: string | null };
  readonly renderer: Renderer;
  readonly isBilled: boolean;
  now(): Date;
  /** Reads the contact and the context of the execution. */
  readScope(): Promise<{ contact: ContactValues; context: Json | null }>;
  /** @throws StepFailure when reading what the conditions name takes too long */
  readHistory(conditions: readonly Condition[]): Promise<ContactHistory>;
  readZones(): Promise<ZonePolicy>;
  /**
   * Returns when a digest of this step last closed for the contact and key, in another execution; null:
   * never.
   */
  findLastClosing(stepId: string): Promise<Date | null>;
  /** Reads the variables of texts that are not mail, such as the body of a webhook. */
  readVariables(): Promise<WebhookVariables>;
  /** @param topicId the topic of the step; null: no topic; undefined: the topic of the template */
  findMail(templateId: string | null, topicId: string | null | undefined): Promise<FoundMail>;
  /** Stores mail when the step ends. Returns its id; null: a simulation stores no mail. */
  sendMail(
    mail: StepMail,
    from: { found: FoundMail; variables: TemplateVariables },
  ): Promise<string | null>;
  /**
   * @param change.subscribed undefined: unchanged
   * @throws StepFailure when the contact would exceed a limit
   */
  changeContact(change: {
    data: ContactDataChange;
    subscribed: boolean | undefined;
  }): Promise<{ data: Json | null; subscribed: boolean }>;
  /** Returns an unguessable text that stands for secrets while a request is rendered. */
  secretMark(): Promise<string>;
  /** Returns the given secrets that the project has. */
  findSecrets(names: readonly string[]): Promise<FoundSecret[]>;
}

export interface FoundSecret {
  name: string;
  value: string;
  /** Only requests to these hosts get it; null: requests to any host. */
  hosts: string[] | null;
}

/** The inputs of a step's mail. */
export interface StepMailSource {
  contact: { email: string; subscribed: boolean };
  project: { name: string; subscription: string | null };
  /** null: it was deleted. */
  template: StepTemplate | null;
  /** The status of the domain of the template's sender; null: the project has no such domain. */
  domainStatus: string | null;
}

export interface FoundMail extends StepMailSource {
  topic: { id: string; key: string } | null;
  /** UTM parameters of the links in the mail of a step with this name. Absent: nothing is sent. */
  utmOf?(stepName: string): Utm | null;
  /** @param topicKey key of the mail's topic; null: it has no topic */
  variables(topicKey: string | null): TemplateVariables;
}

export interface StepTemplate {
  id: string;
  type: string;
  subject: string;
  body: string;
  fromEmail: string | null;
  fromName: string | null;
  replyTo: string | null;
}

export interface StepMail extends RenderedMail {
  messageClass: MessageClass;
  templateId: string;
  topicId: string | null;
  from: { email: string; name: string };
  replyTo: string | null;
  recipient: { type: 'CONTACT' | 'CUSTOM'; email: string };
  /** Why it is not sent; null: it is sent. */
  withheld: Extract<WithheldReason, 'contact_unsubscribed' | 'message_too_large'> | null;
}
