import type { z } from 'zod';
import type { MailMention, SegmentMention } from '../../filter/references.ts';
import type { WebhookOutput } from '../../webhook/webhook.ts';
import type { Ended, EndingEvent, FixedDelay, Played, StepEffects } from './effects.ts';

/** The declaration of every step type. Each type has a file, listed in `registry.ts`. */

/** A step of a graph, with the fields that its module reads. */
export interface Step<Config = Record<string, unknown>> {
  id: string;
  name: string;
  config: Config;
  templateId: string | null;
}

export interface StepModule<Config extends object = Record<string, unknown>> {
  /**
   * The schema of its config. The config is stored without unknown keys and without defaults: the
   * code that reads a setting applies its default.
   */
  config: z.ZodType<Config>;
  /**
   * The outgoing transitions: `one`; `branches`, each naming its branch; `outcomes`, one for each
   * branch or one for all; or `none`.
   */
  ways: 'one' | 'branches' | 'outcomes' | 'none';
  /** Returns the branches, if it has any. */
  branches?(config: Config): Branch[];
  /**
   * Suffix of the task queue of its activity, for a step that acts outside our database. Absent: a
   * local activity inside the workflow task, which needs fewer history events and no queued task.
   */
  queue?: string;
  /**
   * How executions wait at it: for a time, for one event of the config's `eventName`, or for all events
   * of that name during a time. Absent: they do not wait.
   */
  rests?: 'delay' | 'wait' | 'digest';
  /**
   * Returns how long it waits; null: that depends on more than its config. A step with a known length
   * may begin in the same transaction in which the previous step ends.
   */
  fixedRest?(config: Config): FixedDelay | null;
  /** True if it sends mail, made from the step's template. */
  sendsMail?: true;
  /** Returns the URL that it calls, as written: the secrets in the config are sent there. */
  address?(config: Config): string;
  /** The fields that it reads, each with its place in the config, such as `field` or `where.0.field`. */
  fieldsRead?(config: Config): { at: string; name: string }[];
  /** Returns the config in the form in which it is stored. Absent: in the form that was sent. */
  settled?(config: Config): Config;
  /** The segments that it names, each with its place in the config. */
  segmentsRead?(config: Config): SegmentMention[];
  /** The campaigns and templates whose mail it reads. */
  mailRead?(config: Config): MailMention[];
  /** The names of the events whose history it reads. */
  eventsRead?(config: Config): string[];
  /** Returns the contact data that it changes. */
  contactChanges?(config: Config): { dataKeys: string[]; subscribed: boolean };
  /**
   * Plays the step when an execution reaches it. It may be repeated, with the same result. Absent:
   * executions never reach it, because they begin after it.
   * @throws StepFailure before it changes anything
   */
  play?(step: Step<Config>, effects: StepEffects): Promise<Played>;
  /**
   * Returns how a step continues after its wait.
   * @param event the event that ended the wait; null: the timeout ended it
   */
  afterWait?(config: Config, event: EndingEvent | null): Ended;
  /**
   * Returns how a step continues after its request.
   * @param output of the last attempt, for its record
   * @throws StepFailure
   */
  afterCall?(config: Config, output: WebhookOutput): Ended;
  /**
   * Returns in words, for people, what the step waits for, or why the execution took this branch; null:
   * the output does not show that.
   */
  explain?(config: Config, output: Record<string, unknown>): string | null;
  /** Returns the reasons, as sentences, why a workflow with this step cannot be enabled. */
  problems?(step: Step<Config>, surroundings: Surroundings): string[];
  /** Returns probable mistakes, which do not prevent enabling. */
  warnings?(
    step: Step<Config>,
    surroundings: Pick<Surroundings, 'taken'> & { isBehindDelay: boolean },
  ): StepWarning[];
  /** The name of the type in pictures. */
  label: string;
  /** A text beside the label in pictures. */
  note?(config: Config): string;
  /** Examples for the documentation, the usual form first. */
  examples: StepExample[];
}

/** A result of a step that a transition can name. The step's record keeps the id of its branch. */
export interface Branch {
  id: string;
  /** Shown in pictures and in the changes of versions. */
  name: string;
}

export function plainBranch(id: string): Branch {
  return { id, name: id };
}

/** The context for checking a step. */
export interface Surroundings {
  /** The branches of its outgoing transitions; null: any. */
  taken: readonly (string | null)[];
  templates: TemplateSenders;
}

/** The facts about a graph's templates that enabling must check. */
export type TemplateSenders = ReadonlyMap<
  string,
  {
    hasSender: boolean;
    isMarketing: boolean;
    /** The error in its text, with its position; absent: none. */
    broken?: string | undefined;
  }
>;

export const graphWarningCodes = [
  'unreachable_step',
  'timeout_never',
  'early_event',
  'unknown_field',
  'not_by_key',
  'key_never_seen',
] as const;

export interface StepWarning {
  code: (typeof graphWarningCodes)[number];
  message: string;
}

interface StepExample {
  /** The variant that this example shows; absent: the usual form. */
  form?: string;
  name: string;
  config: Record<string, unknown>;
  templateId?: string;
}

export const waitBranches = { EVENT: 'event', TIMEOUT: 'timeout' } as const;

/** A step that cannot succeed, however often it is tried. The customer reads the message. */
export class StepFailure extends Error {
  readonly output: Record<string, unknown> | null;

  constructor(message: string, output: Record<string, unknown> | null = null) {
    super(message);
    this.output = output;
  }
}
