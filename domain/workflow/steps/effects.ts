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

/** A delay of fixed length, and its output except the time at which it ends. */
export interface FixedDelay {
  ms: number;
  output: Json;
}

/** The result of a step. `output` is shown in the record of the step. */
export type Played =
  /**
   * The step is complete. `gaveUp`: why the step failed, for operators, although the execution
   * continues.
   */
  | { kind: 'done'; output: Json; gaveUp?: string }
  /** The step is complete, and the execution continues along this branch. */
  | { kind: 'branch'; branch: string; output: Json }
  /** The step ends the execution. */
  | { kind: 'exit'; reason: string; output: Json }
  /**
   * The step is complete. The next one begins when the rest ends, a time that the output gets as
   * `resumeAt`.
   */
  | { kind: 'rest'; end: FixedDelay | { until: Date; output: Json } }
  /**
   * The step waits for an event, at most until this moment. Then `afterWait` decides how it
   * continues.
   */
  | ({ kind: 'wait'; until: Date | null } & Expectation)
  /** The step collects events until this moment, or closes earlier. Then `digestResult` ends it. */
  | ({ kind: 'digest'; until: Date; settings: DigestSettings } & Expectation)
  /**
   * The step makes a request, several times if needed. Then `afterCall` decides how it continues.
   */
  | { kind: 'call'; call: StepCallout };

/** The events that end a wait, or that a digest takes. */
export interface Expectation {
  eventName: string;
  /** Events count from the beginning of the wait, or from the beginning of its execution. */
  since: 'step' | 'execution';
  /** The conditions on the events; null: any event of the name counts. */
  where: {
    /** The conditions, as `resolvedWhere` returns them. */
    items: Where;
    /**
     * Contact and context at the beginning of the wait. Earlier events are compared with these
     * values.
     */
    scope: Pick<FieldScope, 'contact' | 'context'>;
  } | null;
}

/** The settings of an open DIGEST, in the form in which its row stores them. */
export interface DigestSettings {
  /** Number of events at which the DIGEST closes early; null: it never closes early. */
  max: number | null;
  /**
   * True if the digest closes at once: `immediateFirst` is set, and no other digest of this step
   * closed for the contact and key within the length of a digest before this one began.
   */
  isFirst: boolean;
  /** The time from which the length of the DIGEST counts, in ISO 8601. */
  countsFrom: string;
}

export type Ended = Extract<Played, { kind: 'done' | 'branch' }>;

export interface StepCallout {
  request: WebhookCall;
  /** The request without secrets, which may be stored. */
  shown: WebhookCall;
  /** The values of the secrets in the request. */
  secrets: string[];
}

export interface EndingEvent {
  data: Json | null;
  at: Date;
}

/**
 * The reads and side effects that a step can use. Steps are played in the same way in executions
 * and in the simulator, each of which has its own effects. Methods that need the contact throw a
 * StepFailure when the contact was deleted.
 */
export interface StepEffects {
  /** When the step began. */
  readonly beganAt: Date;
  /**
   * `contact`: the id of the execution's contact; in a simulation without a contact, the address.
   * `key`: the key of the execution; null: none.
   */
  readonly subject: { contact: string; key: string | null };
  readonly renderer: Renderer;
  readonly isBilled: boolean;
  now(): Date;
  /** Reads the contact and the context of the execution. */
  readScope(): Promise<{ contact: ContactValues; context: Json | null }>;
  /**
   * Reads the parts of the contact's history that the conditions name.
   * @throws StepFailure when reading them takes too long
   */
  readHistory(conditions: readonly Condition[]): Promise<ContactHistory>;
  readZones(): Promise<ZonePolicy>;
  /**
   * Returns when a digest of this step last closed for the contact and key, in another execution;
   * null: never.
   */
  findLastClosing(stepId: string): Promise<Date | null>;
  /** Returns the variables for texts that are not mail, such as the body of a webhook. */
  readVariables(): Promise<WebhookVariables>;
  /**
   * Finds the data from which the step's mail is made.
   * @param topicId the topic of the step; null: no topic; undefined: the topic of the template
   */
  findMail(templateId: string | null, topicId: string | null | undefined): Promise<FoundMail>;
  /**
   * Stores mail in the transaction that ends the step. Returns the mail's id; null: a simulation
   * stores no mail.
   */
  sendMail(
    mail: StepMail,
    from: { found: FoundMail; variables: TemplateVariables },
  ): Promise<string | null>;
  /**
   * Changes the contact, and returns its data and subscription after the change.
   * @param change.subscribed undefined: not changed
   * @throws StepFailure when the contact would exceed a limit
   */
  changeContact(change: {
    data: ContactDataChange;
    subscribed: boolean | undefined;
  }): Promise<{ data: Json | null; subscribed: boolean }>;
  /** Returns an unguessable text that stands for secrets while a request is rendered. */
  secretMark(): Promise<string>;
  /** Returns those of the named secrets that the project has. */
  findSecrets(names: readonly string[]): Promise<FoundSecret[]>;
}

export interface FoundSecret {
  name: string;
  value: string;
  /** The hosts to which the secret may be sent; null: any host. */
  hosts: string[] | null;
}

/** The data from which a step's mail is made. */
export interface StepMailSource {
  contact: { email: string; subscribed: boolean };
  project: { name: string; subscription: string | null };
  /** null: the template was deleted. */
  template: StepTemplate | null;
  /**
   * The status of the domain of the template's sender; null: the project does not have this domain.
   */
  domainStatus: string | null;
}

export interface FoundMail extends StepMailSource {
  topic: { id: string; key: string } | null;
  /**
   * Returns the UTM parameters of links in the mail of a step with this name. Absent in
   * simulations, whose mail is not sent.
   */
  utmOf?(stepName: string): Utm | null;
  /**
   * Returns the variables of the mail.
   * @param topicKey key of the mail's topic; null: the mail has no topic
   */
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
  /** Why the mail is not sent; null: it is sent. */
  withheld: Extract<WithheldReason, 'contact_unsubscribed' | 'message_too_large'> | null;
}
