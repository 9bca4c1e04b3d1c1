import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { beginExecution, type StepPlan, type WayPlan } from '../../support/histories/executions.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Begins an execution for a new contact. */
const begin = (steps: StepPlan[], ways: WayPlan[], contact = {}) =>
  beginExecution(engine, { steps, ways, contact });

const wait = (name: string, eventName: string): StepPlan => ({
  type: 'WAIT_FOR_EVENT',
  name,
  config: { eventName },
});

type Begun = Awaited<ReturnType<typeof begin>>;

const read = async ({ path }: Begun) => (await engine.call('GET', path)).body;

/** Waits until the execution waits at its `step`th step. */
const waitingAt = (begun: Begun, step: number) =>
  waitFor(`step ${step} to wait`, async () => {
    const execution = await read(begun);
    const { status } = execution.stepExecutions[step] ?? {};
    return status === 'WAITING' && execution.temporalRunId ? execution : null;
  });

/** Terminates the run in Temporal, and retries the failed execution. */
async function failAndRetry(begun: Begun) {
  await engine.temporal.client.workflow.getHandle(`execution-${begun.id}`).terminate('by a test');
  await waitFor('a FAILED execution', async () => {
    await sweepNow(engine);
    return (await read(begun)).status === 'FAILED';
  });
  expect((await engine.call('POST', `${begun.path}/retry`)).status).toBe(200);
}

describe('an UPDATE_CONTACT step that would break a limit', () => {
  it('fails and leaves the contact as it was', async () => {
    const keys = (prefix: string) =>
      Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${prefix}${at}`, at]));
    const config = { updates: keys('new'), subscriptionAction: 'unsubscribe' };
    const begun = await begin(
      [{ type: 'UPDATE_CONTACT', name: 'Update', config }],
      [['TRIGGER', 'Update']],
      { data: keys('old') },
    );
    const execution = await begun.until('FAILED');
    expect(execution.stepExecutions[1]).toMatchObject({ status: 'FAILED', error: execution.error });
    const { body: contact } = await engine.call('GET', `/contacts/${begun.contactId}`);
    expect(contact).toMatchObject({ subscribed: true, data: keys('old') });
    const { body } = await engine.call('GET', `/events/contact/${begun.contactId}`);
    expect(body.events).toEqual([]);
  });
});

describe('an EXIT step', () => {
  it('without a word says exit_step', async () => {
    const begun = await begin(
      [{ type: 'EXIT', name: 'Out', config: { reason: '' } }],
      [['TRIGGER', 'Out']],
    );
    const execution = await begun.until('EXITED');
    expect(execution.exitReason).toBe('exit_step');
    expect(execution.stepExecutions[1].output).toEqual({ exited: true, reason: 'exit_step' });
  });
});

describe('a wait that is tried again', () => {
  it('takes no event from before it began, and one from after that', async () => {
    const begun = await begin(
      [wait('First', 'opened'), wait('Second', 'paid')],
      [
        ['TRIGGER', 'First'],
        ['First', 'Second', 'event'],
      ],
    );
    const track = (event: string, data: object) =>
      engine.call('POST', '/v1/track', { email: begun.email, event, data });
    await waitingAt(begun, 1);
    await track('paid', { early: true });
    await track('opened', {});
    await waitingAt(begun, 2);
    await failAndRetry(begun);
    const again = await waitingAt(begun, 2);
    expect(again.stepExecutions[2].completedAt).toBeNull();
    await track('paid', { late: true });
    const execution = await begun.until('COMPLETED');
    expect(execution.context).toEqual({ late: true });
  });
});
