import type { z } from 'zod';
import type { MailMention, SegmentMention } from '../../filter/references.ts';
import type { WebhookOutput } from '../../webhook/webhook.ts';
import type { Ended, EndingEvent, FixedDelay, Played, StepEffects } from './effects.ts';

/** The declaration of every step type. Each type has a file, listed in `registry.ts`. */

/** A step of a graph, as its module reads it. */
export interface Step<Config = Record<string, unknown>> {
  id: string;
  name: string;
  config: Config;
  templateId: string | null;
}

export interface StepModule<Config extends object = Record<string, unknown>> {
  /**
   * The schema of the step's config. The config is stored without unknown keys, and without
   * defaults, because the code that reads a setting applies its default.
   */
  config: z.ZodType<Config>;
  /**
   * The outgoing transitions of a step: `one`; `branches`: one for each branch, and the transition
   * names its branch; `outcomes`: one for each branch or one for all; `none`.
   */
  ways: 'one' | 'branches' | 'outcomes' | 'none';
  /** Returns the branches of the step. Absent: the type has no branches. */
  branches?(config: Config): Branch[];
  /**
   * Suffix of the task queue of the step's activity, for a step that acts outside our database.
   * Absent: a local activity inside the workflow task, which needs fewer history events and no
   * queued task.
   */
  queue?: string;
  /**
   * How executions wait in the step: for a time, for one event of the config's `eventName`, or for
   * all events of that name during a time. Absent: they do not wait.
   */
  rests?: 'delay' | 'wait' | 'digest';
  /**
   * Returns how long the step waits; null: the length depends on more than the config. A step with
   * a known length can begin in the transaction that ends the step before it.
   */
  fixedRest?(config: Config): FixedDelay | null;
  /** True if the step sends mail, made from its template. */
  sendsMail?: true;
  /**
   * Returns the URL that the step calls, as written. The secrets in the config are sent to this
   * URL.
   */
  address?(config: Config): string;
  /**
   * Returns the fields that the step reads, each with its place in the config, such as `field` or
   * `where.0.field`.
   */
  fieldsRead?(config: Config): { at: string; name: string }[];
  /** Returns the config in its stored form. Absent: the config is stored as sent. */
  settled?(config: Config): Config;
  /** Returns the segments that the config names, each with its place in the config. */
  segmentsRead?(config: Config): SegmentMention[];
  /** Returns the campaigns and templates whose mail the step reads. */
  mailRead?(config: Config): MailMention[];
  /** Returns the names of the events whose history the step reads. */
  eventsRead?(config: Config): string[];
  /** Returns the contact data that the step changes. */
  contactChanges?(config: Config): { dataKeys: string[]; subscribed: boolean };
  /**
   * Plays the step when an execution reaches it. Playing it again must give the same result.
   * Absent: executions never reach it, because they begin after it.
   * @throws StepFailure before it changes anything
   */
  play?(step: Step<Config>, effects: StepEffects): Promise<Played>;
  /**
   * Returns how the step continues after its wait.
   * @param event the event that ended the wait; null: the timeout ended it
   */
  afterWait?(config: Config, event: EndingEvent | null): Ended;
  /**
   * Returns how the step continues after its request.
   * @param output of the last attempt, for the record of the step
   * @throws StepFailure
   */
  afterCall?(config: Config, output: WebhookOutput): Ended;
  /**
   * Returns in words what the step waits for, or why the execution took this branch; null: the
   * output does not show it.
   */
  explain?(config: Config, output: Record<string, unknown>): string | null;
  /** Returns the reasons, as sentences, why a workflow with this step cannot be enabled. */
  problems?(step: Step<Config>, surroundings: Surroundings): string[];
  /** Returns probable mistakes. A workflow with such mistakes can still be enabled. */
  warnings?(
    step: Step<Config>,
    surroundings: Pick<Surroundings, 'taken'> & { isBehindDelay: boolean },
  ): StepWarning[];
  /** The name of the step type in pictures. */
  label: string;
  /** Returns a text that pictures show beside the label. */
  note?(config: Config): string;
  /** Examples for the documentation, the usual form first. */
  examples: StepExample[];
}

/** A result of a step that a transition can name. The record of the step keeps the branch's id. */
export interface Branch {
  id: string;
  /** The name in pictures and in the changes of versions. */
  name: string;
}

export function plainBranch(id: string): Branch {
  return { id, name: id };
}

/** The facts about the graph that the check of a step needs. */
export interface Surroundings {
  /** The branches of the step's outgoing transitions; null: a transition without a branch. */
  taken: readonly (string | null)[];
  templates: TemplateSenders;
}

/** For each template of a graph, the facts that are checked when the workflow is enabled. */
export type TemplateSenders = ReadonlyMap<
  string,
  {
    hasSender: boolean;
    isMarketing: boolean;
    /** The error in the template's text, with its position; absent: none. */
    broken?: string | undefined;
  }
>;

export const graphWarningCodes = [
  'unreachable_step',
  'timeout_never',
  'unconnected_branch',
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
  /** The variant of the config that this example shows; absent: the usual form. */
  form?: string;
  name: string;
  config: Record<string, unknown>;
  templateId?: string;
}

export const waitBranches = { EVENT: 'event', TIMEOUT: 'timeout' } as const;

/**
 * The error of a step that cannot succeed, however often it is tried. The customer reads the
 * message.
 */
export class StepFailure extends Error {
  readonly output: Record<string, unknown> | null;

  constructor(message: string, output: Record<string, unknown> | null = null) {
    super(message);
    this.output = output;
  }
}
