import { randomUUID } from 'node:crypto';
import type { Engine } from './engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
  type WayPlan,
} from './journeys.ts';

/**
 * The journeys whose histories are kept in `test/histories/`: at least one for every kind of step
 * and outcome. A case plays one execution and answers its id; the history is taken then.
 */
export const historyCases: Record<string, (engine: Engine) => Promise<string>> = {
  'mail-sent': async (engine) =>
    play(engine, {
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) }],
      ways: [['TRIGGER', 'Mail']],
      until: 'COMPLETED',
    }),
  'mail-failed': async (engine) => {
    const templateId = await createTemplate(engine);
    return play(engine, {
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
      ways: [['TRIGGER', 'Mail']],
      before: () =>
        engine.api.db
          .updateTable('template')
          .set({ from_email: 'team@elsewhere.test' })
          .where('id', '=', templateId)
          .execute(),
      until: 'FAILED',
    });
  },
  exited: (engine) =>
    play(engine, { steps: [exit('Exit')], ways: [['TRIGGER', 'Exit']], until: 'EXITED' }),
  'delay-over': (engine) =>
    play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'EXITED' }),
  'delay-waiting': (engine) =>
    play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'WAITING' }),
  'delay-cancelled': (engine) =>
    play(engine, { steps: [delay, exit('Exit')], ways: delayed, until: 'WAITING', cancel: true }),
  'wait-event': (engine) =>
    play(engine, { steps: [wait(60), ...exits], ways: waited, track: true, until: 'EXITED' }),
  'wait-event-forever': (engine) =>
    play(engine, { steps: [wait(), ...exits], ways: waited, track: true, until: 'EXITED' }),
  'wait-timeout': (engine) =>
    play(engine, { steps: [wait(1), ...exits], ways: waited, until: 'EXITED' }),
  'wait-nowhere': (engine) =>
    play(engine, { steps: [wait(1)], ways: [['TRIGGER', 'Wait']], until: 'COMPLETED' }),
  'wait-waiting': (engine) =>
    play(engine, { steps: [wait(), ...exits], ways: waited, until: 'WAITING' }),
  'wait-cancelled': (engine) =>
    play(engine, { steps: [wait(60), ...exits], ways: waited, until: 'WAITING', cancel: true }),
};

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
const waited: WayPlan[] = [
  ['TRIGGER', 'Wait'],
  ['Wait', 'On event', 'event'],
  ['Wait', 'On time-out', 'timeout'],
];

interface Play {
  steps: StepPlan[];
  ways: WayPlan[];
  /** Done after the workflow is enabled and before the execution starts. */
  before?: () => Promise<unknown>;
  /** Track the event once the execution waits. */
  track?: boolean;
  until: string;
  cancel?: boolean;
}

async function play(engine: Engine, plan: Play): Promise<string> {
  const email = `${randomUUID()}@people.test`;
  const workflow = await createWorkflow(engine, { ...plan, eventName: randomUUID() });
  await plan.before?.();
  const contact = await createContact(engine, email);
  const id = await startByHand(engine, workflow.id, contact);
  if (plan.track) {
    await executionIn(engine, workflow.id, id, 'WAITING');
    await engine.call('POST', '/v1/track', { email, event: 'clicked', data: { n: 1 } });
  }
  // A minute is the shortest delay there is.
  await executionIn(engine, workflow.id, id, plan.until, 90_000);
  if (plan.cancel) await engine.call('DELETE', `/workflows/${workflow.id}/executions/${id}`);
  return id;
}
