import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { executionRunId } from '../../../domain/runs/execution.ts';
import type { Engine } from '../engine.ts';
import type { Receiver } from '../fakes/receiver.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
  type WayPlan,
} from './executions.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Executions whose histories are recorded in `test/histories/`: at least one for each kind of step
 * and outcome. A case plays one execution and returns its id; then the history is recorded.
 */
export const historyCases: Record<string, (engine: Engine, receiver: Receiver) => Promise<string>> =
  {
    'mail-sent': async (engine) =>
      play(engine, {
        steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) }],
        until: 'COMPLETED',
      }),
    'mail-failed': async (engine) => {
      const templateId = await createTemplate(engine);
      return play(engine, {
        steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
        before: () =>
          engine.api.db
            .updateTable('template')
            .set({ from_email: 'team@elsewhere.test' })
            .where('id', '=', templateId)
            .execute(),
        until: 'FAILED',
      });
    },
    'mail-withheld': async (engine) =>
      play(engine, {
        steps: [
          {
            type: 'SEND_EMAIL',
            name: 'Mail',
            templateId: await createTemplate(engine, { type: 'MARKETING' }),
          },
        ],
        contact: { subscribed: false },
        until: 'COMPLETED',
      }),
    'mail-custom': async (engine) =>
      play(engine, {
        steps: [
          {
            type: 'SEND_EMAIL',
            name: 'Mail',
            templateId: await createTemplate(engine),
            config: { recipient: { type: 'CUSTOM', customEmail: 'owner@people.test' } },
          },
        ],
        until: 'COMPLETED',
      }),
    'mail-late': async (engine) => {
      const { db } = engine.api;
      const run = (statement: string) => sql.raw(statement).execute(db);
      return play(engine, {
        steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) }],
        // Two attempts fail in the workflow task, so the step continues as an activity.
        before: async () => {
          await run(`create function refuse() returns trigger language plpgsql
            as $$ begin raise 'Not now.'; end $$`);
          await run(`create trigger refuse before insert on email execute function refuse()`);
        },
        until: 'RUNNING',
        after: async (id, path) => {
          const handle = engine.temporal.client.workflow.getHandle(executionRunId(id));
          await waitFor('its activity', async () => {
            const { raw } = await handle.describe();
            return (raw.pendingActivities?.[0]?.attempt ?? 0) > 1;
          });
          await run('drop function refuse cascade');
          await waitFor('the mail', async () => {
            const { body } = await engine.call('GET', path);
            return body.status === 'COMPLETED';
          });
        },
      });
    },
    'condition-yes': (engine) =>
      play(engine, { ...condition(), contact: { data: { plan: 'pro' } }, until: 'EXITED' }),
    'condition-no': (engine) => play(engine, { ...condition(), until: 'EXITED' }),
    'condition-nowhere': (engine) =>
      play(engine, {
        ...condition(),
        ways: [
          ['TRIGGER', 'If'],
          ['If', 'Yes', 'yes'],
        ],
        until: 'COMPLETED',
      }),
    'digest-first': (engine) =>
      play(engine, {
        steps: [digest({ immediateFirst: true }), exit('Exit')],
        until: 'EXITED',
      }),
    'digest-max': (engine) =>
      play(engine, {
        steps: [digest({ max: 1 }), exit('Exit')],
        track: ['clicked'],
        until: 'EXITED',
      }),
    split: (engine) =>
      play(engine, {
        steps: [
          {
            type: 'SPLIT',
            name: 'Split',
            config: { arms: [onlyArm, noArm] },
          },
          { type: 'EXIT', name: 'All', config: { reason: 'all' } },
        ],
        ways: [
          ['TRIGGER', 'Split'],
          ['Split', 'All', 'all'],
        ],
        until: 'EXITED',
      }),
    'split-by-key': (engine) =>
      play(engine, {
        steps: [
          { type: 'SPLIT', name: 'Split', config: { by: 'key', arms: [onlyArm, noArm] } },
          { type: 'EXIT', name: 'All', config: { reason: 'all' } },
        ],
        ways: [
          ['TRIGGER', 'Split'],
          ['Split', 'All', 'all'],
        ],
        executionKey: 'event.order',
        context: { order: 'order-7' },
        until: 'EXITED',
      }),
    'condition-filter': (engine) => play(engine, { ...byHistory('notTriggered'), until: 'EXITED' }),
    'condition-filter-default': (engine) =>
      play(engine, { ...byHistory('triggered'), until: 'EXITED' }),
    'condition-multi': (engine) =>
      play(engine, { ...multi, contact: { data: { plan: 'pro' } }, until: 'EXITED' }),
    'condition-multi-default': (engine) => play(engine, { ...multi, until: 'EXITED' }),
    'contact-updated': (engine) =>
      play(engine, {
        steps: [
          {
            type: 'UPDATE_CONTACT',
            name: 'Update',
            config: { updates: { stage: 'in' }, subscriptionAction: 'unsubscribe' },
          },
        ],
        until: 'COMPLETED',
      }),
    'contact-update-failed': (engine) =>
      play(engine, {
        steps: [
          {
            type: 'UPDATE_CONTACT',
            name: 'Update',
            config: { updates: { ['k'.repeat(101)]: 'too long a key' } },
          },
        ],
        until: 'FAILED',
      }),
    'webhook-answered': (engine, receiver) => hook(engine, receiver, [200], {}, 'EXITED'),
    'webhook-answered-late': (engine, receiver) => hook(engine, receiver, [500, 200], {}, 'EXITED'),
    'webhook-refused': (engine, receiver) => hook(engine, receiver, [404], {}, 'EXITED'),
    'webhook-failed': (engine, receiver) =>
      hook(engine, receiver, [404], { onFailure: 'fail' }, 'FAILED'),
    'webhook-cancelled': (engine, receiver) =>
      hook(engine, receiver, [503], {}, 'RUNNING', async (id, path) => {
        await waitFor('the first attempt to be over', async () => {
          const { body } = await engine.call('GET', path);
          return body.stepExecutions[1]?.status === 'PENDING';
        });
        await engine.call('DELETE', path);
      }),
    'failed-and-tried-again': (engine, receiver) =>
      hook(engine, receiver, [404, 200], { onFailure: 'fail' }, 'FAILED', async (id, path) => {
        await engine.call('POST', `${path}/retry`);
        await waitFor('the execution to have exited', async () => {
          const { body } = await engine.call('GET', path);
          return body.status === 'EXITED';
        });
      }),
    exited: (engine) => play(engine, { steps: [exit('Exit')], until: 'EXITED' }),
    'delay-over': (engine) =>
      play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'EXITED' }),
    'delay-waiting': (engine) =>
      play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'WAITING' }),
    'delay-cancelled': (engine) =>
      play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'WAITING', cancel: true }),
    'delay-until-date': (engine) =>
      play(engine, {
        steps: [untilDate, exit('Exit')],
        contact: { data: { due: new Date(Date.now() + 3_000).toISOString() } },
        until: 'EXITED',
      }),
    'delay-date-past': (engine) =>
      play(engine, {
        steps: [untilDate, exit('Exit')],
        contact: { data: { due: '2026-01-01' } },
        until: 'EXITED',
      }),
    'delay-date-missing': (engine) =>
      play(engine, {
        steps: [{ ...untilDate, config: { ...untilDate.config, ifPast: 'exit' } }, exit('Exit')],
        until: 'EXITED',
      }),
    'mail-then-delay': async (engine) => {
      const mail = { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) };
      return play(engine, { steps: [mail, delay, exit('Exit')], until: 'EXITED' });
    },
    'wait-event': (engine) =>
      play(engine, {
        steps: [wait(60), ...exits],
        ways: waited,
        track: ['clicked'],
        until: 'EXITED',
      }),
    'wait-event-forever': (engine) =>
      play(engine, {
        steps: [wait(), ...exits],
        ways: waited,
        track: ['clicked'],
        until: 'EXITED',
      }),
    'wait-where': (engine) =>
      play(engine, {
        steps: [ofSame('Wait', 'clicked'), ...exits],
        ways: waited,
        context: { n: 1 },
        track: ['clicked'],
        until: 'EXITED',
      }),
    'wait-looked-back': (engine) =>
      play(engine, {
        steps: [
          ofSame('First', 'opened'),
          ofSame('Second', 'clicked', { since: 'execution' }),
          exit('Exit'),
        ],
        context: { n: 1 },
        // The event of the second step is recorded before the step begins.
        track: ['clicked', 'opened'],
        until: 'EXITED',
      }),
    'wait-timeout': (engine) =>
      play(engine, { steps: [wait(1), ...exits], ways: waited, until: 'EXITED' }),
    'wait-nowhere': (engine) =>
      play(engine, { steps: [wait(1)], ways: [['TRIGGER', 'Wait']], until: 'COMPLETED' }),
    'wait-waiting': (engine) =>
      play(engine, { steps: [wait(), ...exits], ways: waited, until: 'WAITING' }),
    'wait-cancelled': (engine) =>
      play(engine, { steps: [wait(60), ...exits], ways: waited, until: 'WAITING', cancel: true }),
  };

const onlyArm = { id: 'all', name: 'All', weight: 1 };
const noArm = { id: 'none', name: 'None', weight: 0 };
/** Returns a wait for an event whose `n` equals that of the context. */
const ofSame = (name: string, eventName: string, more: object = {}): StepPlan => ({
  type: 'WAIT_FOR_EVENT',
  name,
  config: {
    eventName,
    where: [{ field: 'event.n', operator: 'equals', valueOf: 'context.n' }],
    ...more,
  },
});
const untilDate = { type: 'DELAY', name: 'Until it is due', config: { untilField: 'data.due' } };
const condition = (): Pick<Play, 'steps' | 'ways'> => ({
  steps: [
    {
      type: 'CONDITION',
      name: 'If',
      config: { field: 'data.plan', operator: 'equals', value: 'pro' },
    },
    exit('Yes'),
    exit('No'),
  ],
  ways: [
    ['TRIGGER', 'If'],
    ['If', 'Yes', 'yes'],
    ['If', 'No', 'no'],
  ],
});
/** Returns a CONDITION on events of the contact. */
const byHistory = (operator: string): Pick<Play, 'steps' | 'ways'> => {
  const filter = { operator: 'AND', conditions: [{ field: 'event.bought', operator }] };
  const branches = [{ id: 'met', name: 'Met', filter }];
  return {
    steps: [
      { type: 'CONDITION', name: 'Who?', config: { mode: 'filter', branches } },
      exit('Met'),
      exit('Others'),
    ],
    ways: [
      ['TRIGGER', 'Who?'],
      ['Who?', 'Met', 'met'],
      ['Who?', 'Others', 'default'],
    ],
  };
};
const multi: Pick<Play, 'steps' | 'ways'> = {
  steps: [
    {
      type: 'CONDITION',
      name: 'Switch',
      config: {
        mode: 'multi',
        field: 'data.plan',
        branches: [{ id: 'pro', name: 'Pro', operator: 'equals', value: 'pro' }],
      },
    },
    { type: 'EXIT', name: 'Pro' },
    { type: 'EXIT', name: 'Other' },
  ],
  ways: [
    ['TRIGGER', 'Switch'],
    ['Switch', 'Pro', 'pro'],
    ['Switch', 'Other', 'default'],
  ],
};

/** Returns a webhook whose receiver responds with these statuses, in order. */
function hook(
  engine: Engine,
  receiver: Receiver,
  statuses: number[],
  config: object,
  until: string,
  after?: Play['after'],
): Promise<string> {
  const path = `/${randomUUID()}`;
  receiver.answer(path, ...statuses.map((status) => ({ status })));
  return play(engine, {
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${path}`, ...config } },
      exit('Exit'),
    ],
    until,
    ...(after ? { after } : {}),
  });
}

const exit = (name: string): StepPlan => ({ type: 'EXIT', name });
const exits = [exit('On event'), exit('On time-out')];
const delay: StepPlan = { type: 'DELAY', name: 'Delay', config: { amount: 1, unit: 'minutes' } };
const delayed: WayPlan[] = [
  ['TRIGGER', 'Delay'],
  ['Delay', 'Exit'],
];
const wait = (timeout?: number): StepPlan => ({
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName: 'clicked', ...(timeout ? { timeout } : {}) },
});
const digest = (config: object): StepPlan => ({
  type: 'DIGEST',
  name: 'Digest',
  config: { eventName: 'clicked', for: { amount: 1, unit: 'hours' }, ...config },
});
const waited: WayPlan[] = [
  ['TRIGGER', 'Wait'],
  ['Wait', 'On event', 'event'],
  ['Wait', 'On time-out', 'timeout'],
];

interface Play {
  steps: StepPlan[];
  ways?: WayPlan[];
  /** Runs after the workflow is enabled, and before the execution starts. */
  before?: () => Promise<unknown>;
  /** Events that are tracked in this order once the execution waits. */
  track?: string[];
  until: string;
  cancel?: boolean;
  contact?: object;
  context?: object;
  executionKey?: string;
  /** Runs at the end; `path` is the path of the execution in the API. */
  after?: (id: string, path: string) => Promise<unknown>;
}

async function play(engine: Engine, plan: Play): Promise<string> {
  const email = `${randomUUID()}@people.test`;
  const workflow = await createWorkflow(engine, { ...plan, eventName: randomUUID() });
  await plan.before?.();
  const contact = await createContact(engine, email, plan.contact);
  const id = await startByHand(engine, workflow.id, contact, plan.context);
  const { track = [] } = plan;
  if (track.length > 0) await executionIn(engine, workflow.id, id, 'WAITING');
  for (const event of track)
    await engine.call('POST', '/v1/track', { email, event, data: { n: 1 } });
  await executionIn(engine, workflow.id, id, plan.until, 90_000);
  const path = `/workflows/${workflow.id}/executions/${id}`;
  if (plan.cancel) await engine.call('DELETE', path);
  await plan.after?.(id, path);
  return id;
}
