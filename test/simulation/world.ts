import { sql } from 'kysely';
import { createCampaignControl } from '../../activities/mail/campaign-control.ts';
import { createCampaignSending } from '../../activities/mail/campaign.ts';
import { createDeliveryActivities } from '../../activities/mail/delivery.ts';
import { createWaitSlots } from '../../activities/mail/wait-slots.ts';
import { createStepActivities } from '../../activities/steps/steps.ts';
import { createSweepActivities } from '../../activities/upkeep/sweep.ts';
import { transact, type Database } from '../../db/database.ts';
import { onCommitted } from '../../db/commits.ts';
import { dispatchStore } from '../../workflows/client/dispatch-store.ts';
import { insertEmail } from '../../db/emails/emails.ts';
import { recordContactEvent } from '../../db/transactions/events/record-events.ts';
import { signalCampaign } from '../../db/outbox/outbox.ts';
import { cancelAllExecutions } from '../../db/transactions/executions/cancel-executions.ts';
import { executionOfRun, executionRunId } from '../../domain/runs/execution.ts';
import type { Dispatcher } from '../../domain/runs/runs.ts';
import type { RunState } from '../../domain/runs/reconcile.ts';
import { noJournal } from '../../providers/journal/journal.ts';
import { openGate } from '../../activities/restores/mail-gate.ts';
import type { Mailer, SendOutcome } from '../../providers/mail/mailer.ts';
import type { WorkersOptions } from '../../worker/workers.ts';
import { createDispatcher } from '../../workflows/client/dispatcher.ts';
import { ids } from './fixture.ts';
import { context, type Process, type Scheduler } from './scheduler.ts';
import type { Run, SimulatedTemporal } from './temporal.ts';

/** The simulated processes of Everpost, made of its own code, and the mail provider. */

const taskQueue = 'simulated';
const quiet = { warn() {}, info() {}, error() {} };

/** A response later than this may come after the end of its claim, in milliseconds. */
const outlastsClaimMs = 60_000;

/** One message that the provider took. */
export interface Taken {
  /** The process that handed it over. */
  by: Process;
  at: number;
  /** True if the product could not know in time that the message was taken. */
  isDoubtful: boolean;
}

/** A mail provider that remembers accepted messages, and fails by the seed. */
export class SimulatedProvider {
  /** Messages it took, by email id. */
  readonly taken = new Map<string, Taken[]>();
  /** Time of the last permanent refusal of a mail. */
  readonly refused = new Map<string, number>();
  readonly #sim: Scheduler;

  constructor(sim: Scheduler) {
    this.#sim = sim;
  }

  /** Returns a mailer with a pool of connections, as each process has one. */
  mailer(by: Process): Mailer {
    return {
      provider: 'simulated',
      hasSimulator: true,
      defaultRatePerSecond: 0,
      maxConcurrency: 4,
      send: (message) => this.#send(by, message.emailId),
      quotaPerSecond: async () => null,
      close: async () => {},
    };
  }

  async #send(by: Process, emailId: string): Promise<SendOutcome> {
    const sim = this.#sim;
    const luck = sim.random();
    const isLater = luck < 0.06;
    const isRefused = !isLater && luck < 0.09;
    const isTaken = luck >= 0.12;
    const isUncertain = luck >= 0.09 && (luck < 0.12 || luck > 0.96);
    // Sometimes longer than a claim lasts.
    const answerMs = sim.random() < 0.06 ? 150_000 * sim.random() : 300 * sim.random();
    const isDoubtful = isUncertain || answerMs > outlastsClaimMs;
    await sim.perform(`hands over ${emailId}`, () => {
      if (isTaken)
        this.taken.set(emailId, [
          ...(this.taken.get(emailId) ?? []),
          { by, at: sim.now, isDoubtful },
        ]);
      else if (isRefused) this.refused.set(emailId, sim.now);
    });
    await sim.sleep(answerMs);
    if (isLater) return { kind: 'retry', error: 'later' };
    if (isRefused) return { kind: 'refused', error: 'never' };
    if (isUncertain) return { kind: 'uncertain', error: 'broken' };
    return { kind: 'accepted', messageId: `${emailId}@provider`, delivered: true };
  }
}

type Services = WorkersOptions['services'];

interface Made {
  sim: Scheduler;
  db: Database;
  temporal: SimulatedTemporal;
  provider: SimulatedProvider;
  unknownPolicy: 'fail' | 'resend';
  /** Runs that reached Temporal too late, although no process had died or been stopped. */
  left: string[];
}

const dispatchers = new WeakMap<Process, Dispatcher>();

/** Starts the dispatcher of a process; the processes share the handle on the database. */
function startDispatcher({ sim, db, temporal, left }: Made, process: Process): Dispatcher {
  const client = temporal.client();
  const store = dispatchStore(db);
  const watched: typeof store = {
    ...store,
    async claimOverdue() {
      const claimed = await store.claimOverdue();
      if (!sim.isDisturbed) left.push(...claimed.runs.map(({ runId }) => runId));
      return claimed;
    },
  };
  const dispatcher = createDispatcher({ client, taskQueue, store: watched, log: quiet });
  dispatchers.set(process, dispatcher);
  onCommitted(db, (runs) => {
    const current = context.getStore()?.process;
    if (current) dispatchers.get(current)?.dispatch(runs);
  });
  void sim.in(process, async () => dispatcher.watch());
  return dispatcher;
}

/** Returns the state of a run in the simulated Temporal. */
function stateOf(run: Run | undefined): RunState {
  if (!run) return { kind: 'missing' };
  const generation = typeof run.memo['generation'] === 'number' ? run.memo['generation'] : null;
  switch (run.status) {
    case 'RUNNING': {
      const attempts = { taskAttempts: 0, activityAttempts: 1, untakenMs: 0 };
      return { kind: 'open', runId: run.runId, ...attempts, failure: null };
    }
    case 'COMPLETED':
      return { kind: 'closed', end: 'completed', generation };
    case 'CANCELLED':
      return { kind: 'closed', end: 'cancelled', generation };
    case 'FAILED':
      return { kind: 'closed', end: 'failed', generation };
    default:
      return { kind: 'closed', end: 'ended', generation };
  }
}

/** The tasks of the sweep that find work; the others clean up. */
const sweepTasks = [
  'DISPATCH_FORGOTTEN',
  'REPAIR_EXECUTIONS',
  'CANCEL_LATE_EXECUTIONS',
  'SETTLE_UNCERTAIN',
  'SIGNAL_STALLED_RUNS',
  'TALLY_MAIL',
];

/** Starts a worker process. */
export function startWorker(made: Made, name: string): Process {
  const { sim, db, temporal, provider } = made;
  const process = sim.process(name, true);
  const renderer = {
    render: async (_: unknown, { source }: { source: string }) => ({ text: source, fault: null }),
    renderTexts: async (sources: readonly string[]) => [...sources],
  };
  const services = {
    db,
    mailer: provider.mailer(process),
    mailPool: { default: defaultProvider },
    routes: [],
    dispatcher: startDispatcher(made, process),
    rates: { perSecond: 0, perProjectPerSecond: 20 },
    tracking: null,
    billingRules: null,
    log: quiet,
    metrics: { countOutcomes() {} },
    journal: noJournal,
    mailGate: openGate,
    returnPaths: { pathOf: (emailId: string) => `${emailId}@bounces.test` },
    apiUrl: 'https://api.test',
    renderer,
    webhookAttemptsMax: 1,
    pauseOnFailures: 0,
    retryMs: 86_400_000,
    settleMinutes: 1,
    unknownPolicy: made.unknownPolicy,
    describeExecutionRun: (id: string) =>
      sim.perform('describes a run', () => stateOf(temporal.runs.get(executionRunId(id)))),
    async *listClosedExecutions(since: Date) {
      const closed = await sim.perform('lists runs', () =>
        temporal.closed.filter(
          ({ closedAt, status }) => (closedAt ?? 0) > since.getTime() && status !== 'COMPLETED',
        ),
      );
      for (const { workflowId } of closed) {
        const executionId = executionOfRun(workflowId);
        if (executionId) yield executionId;
      }
    },
  } as unknown as Services;
  const waitSlots = createWaitSlots(4);
  const activities = {
    ...createStepActivities(services, 4),
    ...createSweepActivities(services, () => 'sweep'),
    ...createDeliveryActivities({ ...services, waitSlots }),
    ...createCampaignControl(services),
    ...createCampaignSending({ ...services, waitSlots }),
    LIST_TASKS: async () => sweepTasks,
  };
  temporal.workers.push({ process, activities });
  return process;
}

/** The provider of all mail, without limits of its own. */
const defaultProvider = {
  id: 'default',
  scope: 'installation',
  name: 'default',
  domains: null,
  ratePerSecond: null,
  maxMessageBytes: null,
};

/** Requests of a client to the API, which may die during each. */
export interface SimulatedApi {
  process: Process;
  send(contactId: string): Promise<void>;
  track(contactId: string, name: string): Promise<void>;
  sendCampaign(): Promise<void>;
  cancelSome(): Promise<void>;
}

/** Starts an API process. */
export function startApi(made: Made, name: string): SimulatedApi {
  const { sim, db } = made;
  const process = sim.process(name, true);
  startDispatcher(made, process);
  return {
    process,
    async send(contactId) {
      await transact(db, (tx) =>
        insertEmail(tx, {
          project_id: ids.project,
          contact_id: contactId,
          to_email: `${contactId}@people.test`,
          subject: 'Hello',
          body: '<p>Hello</p>',
          from_email: 'team@shop.test',
          message_class: 'TRANSACTIONAL',
          source_type: 'TRANSACTIONAL',
          headers: [],
        }),
      );
    },
    async track(contactId, event) {
      await transact(db, (tx) =>
        recordContactEvent(tx, ids.project, { contactId, name: event, data: null }),
      );
    },
    async sendCampaign() {
      await transact(db, async (tx) => {
        const row = await tx
          .insertInto('campaign')
          .values({
            project_id: ids.project,
            name: 'News',
            subject: 'News',
            body: '<p>News</p>',
            from_email: 'team@shop.test',
            audience_type: 'ALL',
            message_class: 'MARKETING',
            status: 'SCHEDULED',
            scheduled_for: sql<Date>`now()`,
          })
          .returning(['id', 'project_id', 'name'])
          .executeTakeFirstOrThrow();
        await signalCampaign(tx, row);
      });
    },
    async cancelSome() {
      await cancelAllExecutions(db, { id: ids.workflow, project_id: ids.project }, async () => {});
    },
  };
}

/** The only schedule: every half minute, unless the last one still runs. */
export async function runSchedule(temporal: SimulatedTemporal): Promise<void> {
  for (;;) {
    await temporal.sim.sleep(30_000);
    if (temporal.runs.get('sweep')?.status === 'RUNNING') continue;
    temporal.start({ workflowId: 'sweep', type: 'sweep', args: [], taskQueue, memo: {} });
  }
}
