import { bug } from '../errors.ts';
import { planContactData } from '../contact/data.ts';
import { localeOf, optOutUrls } from '../mail/content.ts';
import type { TemplateVariables } from '../template/render.ts';
import {
  begin,
  type Command,
  decide,
  type Doing,
  type Outcome,
  runOrComplete,
} from '../workflow/decide.ts';
import { exitReasonOf } from '../workflow/exit-rules.ts';
import { findStep, type GraphStep, stepAfter } from '../workflow/graph.ts';
import { createPolicyJudge } from './mail-policy.ts';
import { answerOf } from './receiver.ts';
import { changedContact } from './contact-change.ts';
import { simulatedMailWarnings } from './mail-warnings.ts';
import { OpenDigest } from './open-digest.ts';
import { type Happening, RecordedEvents } from './recorded-events.ts';
import {
  Exited,
  type SimulatedContact,
  type SimulatedEvent,
  type SimulatedMail,
  type SimulatedStep,
  type SimulatedWebhook,
  type Simulation,
  type SimulationInput,
  type SimulationServices,
  simulatedStepsMax,
  StillWaiting,
  TooManySteps,
} from './simulation.ts';
import { meetsWait } from '../filter/where.ts';
import { waitingFor } from '../workflow/steps/wait-for-event.ts';
import { triggerOutput } from '../workflow/steps/trigger.ts';
import { retryAfterAttempt, webhookOutput } from '../webhook/webhook.ts';
import { hidden } from '../secrets/in-templates.ts';
import type {
  EndingEvent,
  Expectation,
  Played,
  StepCallout,
  StepEffects,
} from '../workflow/steps/effects.ts';
import { stepModules } from '../workflow/steps/registry.ts';
import { StepFailure, type StepModule } from '../workflow/steps/step.ts';

/**
 * Simulates one execution in memory, with a clock that jumps from one moment to the next. Real
 * executions use the same functions to decide what a step does.
 */

/**
 * Plays one execution to its end, or to the end of the simulated time.
 * @throws TooManySteps when it enters more than `simulatedStepsMax` steps
 */
export function simulate(
  input: SimulationInput,
  services: SimulationServices,
): Promise<Simulation> {
  return new Player(input, services).play();
}

class Player {
  readonly #input: SimulationInput;
  readonly #services: SimulationServices;
  readonly #executionId: string;
  #now: Date;
  #contact: SimulatedContact;
  #context: Record<string, unknown> | null;
  /** The wait that has begun last. */
  #wait: Extract<Played, { kind: 'wait' }> | null = null;
  #digest: OpenDigest | null = null;
  #nextEvent = 0;
  readonly #recorded = new RecordedEvents();
  /** The reason of the first exit rule that an event met; null: no rule was met. */
  #exit: string | null = null;
  readonly #path: SimulatedStep[] = [];
  readonly #emails: SimulatedMail[] = [];
  readonly #judge: ReturnType<typeof createPolicyJudge>;
  readonly #webhooks: SimulatedWebhook[] = [];

  constructor(input: SimulationInput, services: SimulationServices) {
    this.#input = input;
    this.#services = services;
    this.#executionId = services.newId();
    this.#now = input.startAt;
    this.#contact = input.contact;
    this.#context = input.context;
    const { policy, holdout, workflow } = input;
    const rules = { policy, holdout, workflowId: workflow.id };
    this.#judge = createPolicyJudge(rules, input.received);
    const { startEventName: name, startAt: at, context: data } = input;
    if (name !== null) this.#recorded.addStart({ name, at, data });
  }

  async play(): Promise<Simulation> {
    try {
      return this.#ended(await this.#walk(), {});
    } catch (error) {
      if (error instanceof Exited) return this.#ended('EXITED', { exitReason: error.reason });
      if (error instanceof StillWaiting) return this.#ended('WAITING', {});
      if (!(error instanceof StepFailure)) throw error;
      this.#leave(null, error.output);
      if (this.#exit !== null) return this.#ended('EXITED', { exitReason: this.#exit });
      return this.#ended('FAILED', { error: error.message });
    }
  }

  #ended(status: Simulation['status'], end: { exitReason?: string; error?: string }): Simulation {
    return {
      status,
      exitReason: end.exitReason ?? null,
      error: end.error ?? null,
      startedAt: this.#input.startAt,
      endedAt: status === 'WAITING' ? null : this.#now,
      path: this.#path,
      emails: this.#emails,
      webhooks: this.#webhooks,
      contact: this.#contact,
      context: this.#context,
    };
  }

  async #walk(): Promise<'COMPLETED'> {
    const { graph } = this.#input;
    let command: Command = this.#begin();
    while (command.do !== 'complete' && command.do !== 'stop') {
      const outcome = await this.#perform(command);
      command = decide(graph, command, outcome);
    }
    return 'COMPLETED';
  }

  /** Returns the first command: after the trigger, or after the step `behind`. */
  #begin(): Command {
    const { graph, behind, triggerEventName, startAt } = this.#input;
    const left = behind && findStep(graph, behind.stepId);
    if (left) {
      this.#enter(left);
      this.#leave(behind.branch, null);
      return runOrComplete(stepAfter(graph, left.id, behind.branch));
    }
    const trigger = graph.steps.find(({ type }) => type === 'TRIGGER');
    if (trigger) {
      this.#enter(trigger);
      this.#leave(null, triggerOutput(triggerEventName, startAt));
    }
    return begin(graph);
  }

  async #perform(command: Doing): Promise<Outcome> {
    const { step } = command;
    switch (command.do) {
      case 'run':
        await this.#services.breathe();
        this.#advance(this.#now);
        this.#enter(step);
        return this.#endStep(await this.#run(step));
      case 'sleep':
        this.#advance(new Date(command.until));
        this.#last().leftAt = this.#now;
        this.#recorded.forget();
        return { kind: 'resumed' };
      case 'await':
        return this.#awaitEvent(step, command.until === null ? null : new Date(command.until));
      case 'settle':
        throw new Error('Unexpected end of a wait: it has no result.');
    }
  }

  /** Ends a step. If an exit rule was met meanwhile, the execution ends after the step. */
  #endStep(outcome: Outcome): Outcome {
    if (this.#exit !== null) throw new Exited(this.#exit);
    return outcome;
  }

  #enter({ id: stepId, name, type }: GraphStep): void {
    if (this.#path.length >= simulatedStepsMax) throw new TooManySteps();
    const enteredAt = this.#now;
    this.#path.push({ stepId, name, type, enteredAt, leftAt: null, branch: null, output: null });
  }

  #last(): SimulatedStep {
    const last = this.#path.at(-1);
    if (!last) throw new Error('Unexpected end: the simulation has not entered a step.');
    return last;
  }

  #leave(branch: string | null, output: Record<string, unknown> | null): void {
    Object.assign(this.#last(), { leftAt: this.#now, branch, output });
  }

  async #run(step: GraphStep): Promise<Outcome> {
    const { play } = moduleOf(step);
    if (!play) throw bug(`The simulation cannot play a step of the type ${step.type}.`);
    return this.#end(step, await play(step, this.#effects(step)));
  }

  #end(step: GraphStep, played: Played): Promise<Outcome> | Outcome {
    switch (played.kind) {
      case 'done':
        this.#leave(null, played.output);
        return { kind: 'done' };
      case 'branch':
        this.#leave(played.branch, played.output);
        return { kind: 'branch', branch: played.branch };
      case 'exit':
        this.#leave(null, played.output);
        throw new Exited(played.reason);
      case 'rest': {
        const { end } = played;
        const until = 'until' in end ? end.until : new Date(this.#now.getTime() + end.ms);
        this.#last().output = { ...end.output, resumeAt: until.toISOString() };
        return { kind: 'resting', until: until.toISOString() };
      }
      case 'wait': {
        this.#recorded.count();
        this.#wait = played;
        const ended = this.#endByEvent(step, played.since);
        this.#last().output ??= waitingFor(played.eventName, played.where?.items ?? null);
        return ended ?? { kind: 'waiting', until: played.until?.toISOString() ?? null };
      }
      case 'digest': {
        this.#digest = new OpenDigest(played, { ...this.#input, key: this.#input.subject.key });
        const until = played.until.toISOString();
        return this.#collect(played.since) ?? { kind: 'waiting', until };
      }
      case 'call':
        this.#recorded.count();
        return this.#call(step, played.call);
    }
  }

  /**
   * Waits for an event. An event at the same moment as the timeout is too late, as in
   * `recordEvents`.
   */
  #awaitEvent(step: GraphStep, until: Date | null): Outcome {
    for (;;) {
      const ended = this.#endByEvent(step, null);
      if (ended) return ended;
      const event = this.#input.events[this.#nextEvent];
      if (!event || event.at > this.#input.stopAt || (until && event.at >= until)) break;
      this.#advance(event.at, 1);
    }
    if (until === null) throw this.#stillWaiting();
    this.#advance(until);
    this.#recorded.forget();
    return this.#collect(null, true) ?? this.#endWait(step, null);
  }

  /**
   * Lets the open digest take events. Closes the digest if its time is over or it has enough
   * events.
   * @param since see `RecordedEvents.takeAll`
   */
  #collect(since: Expectation['since'] | null, isOver = false): Outcome | null {
    if (!this.#digest) return null;
    const { startEventName } = this.#input;
    const scope = { contact: this.#contact, context: this.#context, startEventName };
    this.#digest.take(this.#recorded, since, scope);
    const closed = this.#digest.closing({ now: this.#now, isOver }, this.#services.newId);
    if (!closed) {
      this.#last().output = this.#digest.output;
      return null;
    }
    this.#digest = null;
    this.#context = { ...this.#context, ...closed.context };
    this.#recorded.countAnew();
    this.#leave(null, closed.output);
    return { kind: 'done' };
  }

  /** Ends a wait if its event was recorded. `since`: see `RecordedEvents.take`. */
  #endByEvent(step: GraphStep, since: Expectation['since'] | null): Outcome | null {
    if (this.#digest) return this.#collect(since);
    const { eventName, where } = this.#wait!;
    const scope = { contact: this.#contact, context: this.#context };
    const meets = ({ data }: Happening) => meetsWait(where?.items ?? [], { ...scope, event: data });
    const event = this.#recorded.take(eventName, since, meets);
    if (!event) return null;
    if (event.data) this.#context = { ...this.#context, ...event.data };
    return this.#endWait(step, event);
  }

  #endWait(step: GraphStep, event: EndingEvent | null): Outcome {
    const { afterWait } = moduleOf(step);
    if (!afterWait) throw new Error(`Unexpected end of a wait: a ${step.type} does not wait.`);
    const { output, ...outcome } = afterWait(step.config, event);
    this.#leave(outcome.kind === 'branch' ? outcome.branch : null, output);
    return outcome;
  }

  #stillWaiting(): StillWaiting {
    this.#now = this.#input.stopAt;
    return new StillWaiting();
  }

  /**
   * Moves the clock, and applies the events up to the new time.
   * @param max maximum number of events to apply. A wait applies them one by one.
   */
  #advance(to: Date, max = Infinity): void {
    const { events, stopAt } = this.#input;
    const last = to > stopAt ? stopAt : to;
    for (let played = 0; played < max; played++) {
      const event = events[this.#nextEvent];
      if (!event || event.at > last) break;
      this.#nextEvent += 1;
      if (event.at > this.#now) this.#now = event.at;
      this.#record(event);
    }
    if (to > stopAt) throw this.#stillWaiting();
    if (to > this.#now) this.#now = to;
  }

  /** Records an event: changes the contact, and ends a waiting execution if an exit rule is met. */
  #record({ name, given, data }: SimulatedEvent): void {
    // Tracking refuses an event whose data would make the contact too large.
    const changed = changedContact(this.#contact, planContactData(given), this.#now);
    if ('fault' in changed) return;
    this.#contact = changed;
    this.#meet({ name, data });
    if (this.#exit !== null && this.#isAtRest()) {
      this.#last().leftAt = this.#now;
      throw new Exited(this.#exit);
    }
  }

  #meet(event: Omit<Happening, 'at'>): void {
    const { exitRules = [] } = this.#input.graph;
    this.#recorded.add({ ...event, at: this.#now });
    this.#exit ??= exitReasonOf(exitRules, event, {
      contact: this.#contact,
      context: this.#context,
    });
  }

  #isAtRest(): boolean {
    const { type, leftAt } = this.#last();
    return leftAt !== null || stepModules[type].rests !== undefined;
  }

  #effects(step: GraphStep): StepEffects {
    const { project, policy, workflow, startAt, subject } = this.#input;
    const { renderer, billed, mark, secrets, topics } = this.#services;
    return {
      beganAt: this.#now,
      subject,
      renderer,
      isBilled: billed,
      now: () => this.#now,
      readScope: async () => ({ contact: this.#contact, context: this.#context }),
      readHistory: async (conditions) => {
        const before = await this.#services.readHistory(conditions);
        return this.#recorded.addTo(before, this.#emails, this.#now);
      },
      readZones: async () => policy,
      findLastClosing: async () => null,
      readVariables: async () => ({
        ...this.#variables(),
        workflow,
        execution: {
          id: this.#executionId,
          startedAt: startAt.toISOString(),
          ...(subject.key !== null && { key: subject.key }),
        },
      }),
      findMail: async (templateId, topicId) => {
        const found = templateId === null ? noMail : await this.#services.findMail(templateId);
        const topic = topics.get((topicId === undefined ? found.topicId : topicId) ?? '') ?? null;
        const variables = (topicKey: string | null) => this.#variables(topicKey);
        return { contact: this.#contact, project, ...found, topic, variables };
      },
      sendMail: async (mail, { found, variables }) => {
        this.#emails.push({
          stepId: step.id,
          at: this.#now,
          to: mail.recipient.email,
          from: mail.from.email,
          subject: mail.content.subject,
          body: mail.content.body,
          messageClass: mail.messageClass,
          ...this.#judge(mail, this.#contact, this.#now, {
            suppression: await this.#services.findSuppression(mail.recipient.email),
            topicLeft: topics.get(mail.topicId ?? '')?.subscribed === false,
          }),
          warnings: await simulatedMailWarnings(renderer, mail, found.template, variables),
        });
        return null;
      },
      changeContact: async ({ data, subscribed }) => this.#changeContact(data, subscribed),
      secretMark: async () => mark,
      findSecrets: async (names) =>
        names
          .filter((name) => secrets.has(name))
          .map((name) => ({ name, value: hidden, hosts: secrets.get(name) ?? null })),
    };
  }

  #variables(topicKey: string | null = null): TemplateVariables {
    const { project } = this.#input;
    return {
      owner: project.id,
      now: this.#now,
      contact: this.#contact,
      context: this.#context,
      locale: localeOf(this.#contact.data, project.language),
      urls: optOutUrls(this.#services.apiUrl, this.#contact.id, this.#services.newId(), topicKey),
    };
  }

  /**
   * Changes the contact as a step of a real execution would.
   * @throws StepFailure when the contact would exceed a limit
   */
  #changeContact(
    data: { set: Record<string, unknown>; remove: readonly string[] },
    subscribed: boolean | undefined,
  ): SimulatedContact {
    const before = this.#contact;
    const after = changedContact(before, { ...data, subscribed }, this.#now);
    if ('fault' in after) throw new StepFailure(after.fault);
    this.#contact = after;
    if (after.subscribed !== before.subscribed) {
      const name = after.subscribed ? 'contact.subscribed' : 'contact.unsubscribed';
      this.#meet({ name, data: { source: 'workflow' } });
    }
    return after;
  }

  /** Makes the request of a step, and repeats it until a response is final. */
  async #call(step: GraphStep, { shown }: StepCallout): Promise<Outcome> {
    const { afterCall } = moduleOf(step);
    if (!afterCall) throw new Error(`Unexpected answer: a ${step.type} makes no request.`);
    const receiver = this.#input.receivers.get(step.id) ?? { statusCode: 200, failures: 0 };
    const { webhookAttemptsMax: attemptsMax } = this.#services;
    for (let attempts = 1; ; attempts++) {
      const outcome = answerOf(receiver, attempts);
      const delayMs = retryAfterAttempt(attempts, outcome, { attemptsMax, now: this.#now });
      if (delayMs !== null) {
        this.#advance(new Date(this.#now.getTime() + delayMs));
        continue;
      }
      const headers = { ...shown.headers };
      for (const name of Object.keys(step.config['headers'] ?? {})) headers[name] = hidden;
      const { method, url, body } = shown;
      this.#webhooks.push({ stepId: step.id, at: this.#now, attempts, method, url, headers, body });
      return this.#end(step, afterCall(step.config, webhookOutput(shown, outcome, attempts)));
    }
  }
}

function moduleOf({ type }: GraphStep): StepModule {
  return stepModules[type];
}

const noMail = { template: null, domainStatus: null, topicId: null };
