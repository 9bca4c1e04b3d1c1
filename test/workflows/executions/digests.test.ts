import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { deleteEvents } from '../../../db/transactions/events/delete-events.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { askForJob, endOfExecutionJob } from '../../support/histories/execution-jobs.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  type StepPlan,
  type WorkflowPlan,
} from '../../support/histories/executions.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Digests with their runs in Temporal. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { db } = engine.api;

const hour = { for: { amount: 1, unit: 'hours' } };
const rest: StepPlan = { type: 'DELAY', name: 'Rest', config: { amount: 30, unit: 'days' } };
const past = '2020-01-01T00:00:00Z';

interface Step {
  step: { name: string };
  status: string;
  output: Record<string, unknown>;
}

interface Shown {
  id: string;
  key: string | null;
  status: string;
  exitReason: string | null;
  currentStep: { name: string } | null;
  context: { digest?: { count: number; events: { id: string; data: unknown }[] } };
  stepExecutions: Step[];
}

/** A workflow whose event starts it and is collected by the step "Digest", with a contact. */
async function collecting(config: object = hour, plan: Partial<WorkflowPlan> = {}) {
  const eventName = `commented ${randomUUID()}`;
  const digest = { type: 'DIGEST', name: 'Digest', config: { eventName, ...config } };
  const { steps = [], ...more } = plan;
  const reentry = { mode: 'after_end' };
  const workflow = await createWorkflow(engine, {
    eventName,
    reentry,
    ...more,
    steps: [digest, ...steps],
  });
  const path = `/workflows/${workflow.id}`;
  const email = newAddress();
  const contactId = await createContact(engine, email);
  const all = async (): Promise<Shown[]> => {
    const { body } = await engine.call('GET', `${path}/executions?pageSize=100`);
    const ids = body.executions.map(({ id }: { id: string }) => id).toReversed() as string[];
    return Promise.all(
      ids.map(async (id) => (await engine.call('GET', `${path}/executions/${id}`)).body),
    );
  };
  const own = (id: string) => `${path}/executions/${id}`;
  return {
    ...workflow,
    path,
    eventName,
    email,
    contactId,
    all,
    own,
    async track(data: object = {}, event = eventName): Promise<string> {
      const { status, body } = await engine.call('POST', '/v1/track', { email, event, data });
      expect(status).toBe(200);
      return (body.data.event ?? body.data.eventId) as string;
    },
    /** The executions, once the newest one is so. */
    newest: (what: string, is: (one: Shown) => boolean) =>
      waitFor(what, async () => {
        const newest = (await all()).at(-1);
        return newest && is(newest) ? newest : null;
      }),
    async close(id: string) {
      const { status } = await engine.call('PATCH', `${own(id)}/wait`, { until: past });
      expect(status).toBe(200);
    },
  };
}

const isOpen = ({ status, currentStep }: Shown) =>
  status === 'WAITING' && currentStep?.name === 'Digest';
const hasEnded = ({ status }: Shown) => status !== 'WAITING' && status !== 'RUNNING';
const stepOf = ({ stepExecutions }: Shown, name = 'Digest') =>
  stepExecutions.find(({ step }) => step.name === name);
const countOf = ({ context }: Shown) => context?.digest?.count;
const dataOf = ({ context }: Shown) => context.digest?.events.map(({ data }) => data);

describe('a DIGEST of the event that starts its workflow', () => {
  it('collects the events of its time in one execution, for its mail', async () => {
    const body = '{% for one in digest.events %}{{ one.data.by }} {% endfor %}of {{digest.count}}';
    const templateId = await createTemplate(engine, { subject: '{{digest.count}} comments', body });
    const mail = { type: 'SEND_EMAIL', name: 'Mail', templateId };
    const { track, newest, close, all, email } = await collecting(hour, { steps: [mail, rest] });
    await track({ by: 'Ada' });
    const { id } = await newest('the open digest', isOpen);
    for (const by of ['Bo', 'Cy', 'Di', 'Ed']) await track({ by });
    const open = stepOf((await all())[0]!)!;
    expect(open).toMatchObject({
      status: 'WAITING',
      output: { count: 5, closesAt: expect.any(String) },
    });
    await close(id);
    const [sent] = await engine.mailsTo(email, 1);
    expect(sent?.subject).toBe('5 comments');
    const stored = await db.selectFrom('email').select('body').where('id', '=', sent!.id).execute();
    expect(stored[0]?.body).toContain('Ada Bo Cy Di Ed of 5');
    // Its execution goes on, and does not count as active any more.
    await track({ by: 'Fay' });
    const next = await newest('the next digest', (one) => one.id !== id && isOpen(one));
    expect(stepOf(next)?.output['count']).toBe(1);
    const [first] = await all();
    expect(stepOf(first!)?.output).toMatchObject({ count: 5, closedBy: 'time' });
    expect(first).toMatchObject({ status: 'WAITING', context: { digest: { truncated: false } } });
  });

  it('closes at its maximum, and has each of many events exactly once', async () => {
    const { track, all, close, newest } = await collecting({ ...hour, max: 3 });
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => track({ n })));
    const executions = await waitFor('the digests', async () => {
      const found = await all();
      const open = found.filter((one) => !hasEnded(one));
      const counts = open.map((one) => Number(stepOf(one)?.output?.['count']));
      const isFull = counts.some((count) => !(count < 3));
      return isFull || open.length > 1 ? null : found;
    });
    const last = executions.at(-1)!;
    if (!hasEnded(last)) {
      await close(last.id);
      await newest('the end', hasEnded);
    }
    const closed = await all();
    const taken = closed.flatMap(({ context }) => context.digest!.events.map(({ id }) => id));
    expect(taken.toSorted()).toEqual(ids.toSorted());
    const byMax = closed.filter((one) => stepOf(one)?.output['closedBy'] === 'max');
    expect(byMax.length).toBeGreaterThan(0);
    for (const one of byMax) expect(countOf(one)).toBeGreaterThanOrEqual(3);
  });

  it('takes the events of its own key', async () => {
    const plan = { executionKey: 'event.post', steps: [rest] };
    const { track, all, close } = await collecting(hour, plan);
    await Promise.all(['A', 'B'].map((post) => track({ post, n: 1 })));
    const open = await waitFor('two open digests', async () => {
      const found = await all();
      return found.length === 2 && found.every(isOpen) ? found : null;
    });
    await track({ post: 'B', n: 2 });
    await track({ post: 'A', n: 3 });
    await track({ post: 'B', n: 4 });
    await Promise.all(open.map(({ id }) => close(id)));
    const closed = await waitFor('both in the rest', async () => {
      const found = await all();
      return found.every(({ currentStep }) => currentStep?.name === 'Rest') ? found : null;
    });
    const taken = Object.fromEntries(closed.map((one) => [one.key, dataOf(one)]));
    expect(taken).toEqual({
      A: [
        { post: 'A', n: 1 },
        { post: 'A', n: 3 },
      ],
      B: [
        { post: 'B', n: 1 },
        { post: 'B', n: 2 },
        { post: 'B', n: 4 },
      ],
    });
    await track({ post: 'A', n: 5 });
    expect((await all()).map(({ key }) => key).toSorted()).toEqual(['A', 'A', 'B']);
  });

  it('lets the first event through at once, and then collects', async () => {
    const { track, newest, close } = await collecting({ ...hour, immediateFirst: true });
    await track({ n: 1 });
    const first = await newest('the end of the first', hasEnded);
    expect(stepOf(first)?.output).toMatchObject({ count: 1, closedBy: 'first' });
    await track({ n: 2 });
    const { id } = await newest('the open digest', isOpen);
    await track({ n: 3 });
    await close(id);
    const second = await newest('the end of the second', hasEnded);
    expect([stepOf(second)?.output['closedBy'], dataOf(second)]).toEqual([
      'time',
      [{ n: 2 }, { n: 3 }],
    ]);
    await track({ n: 4 });
    expect(isOpen(await newest('the third', isOpen))).toBe(true);
  });

  it('may fail and be retried behind it while another one collects', async () => {
    const config = { url: `${receiver.url}/fails`, onFailure: 'fail' };
    receiver.answer('/fails', { status: 404 });
    const steps = [{ type: 'WEBHOOK', name: 'Call', config }];
    const { track, newest, close, own } = await collecting(hour, { steps });
    await track();
    const { id } = await newest('the open digest', isOpen);
    await close(id);
    await newest('the failure', ({ status }) => status === 'FAILED');
    await track();
    await newest('the next digest', (one) => one.id !== id && isOpen(one));
    expect((await engine.call('POST', `${own(id)}/retry`)).status).toBe(200);
  });
});

describe('a DIGEST of other events', () => {
  const other = { eventName: 'liked' };

  it('counts events since the execution began, also without one', async () => {
    const plan = { steps: [rest] };
    const before = await collecting({ ...hour, ...other }, plan);
    await before.track();
    const { id } = await before.newest('the open digest', isOpen);
    await before.close(id);
    const empty = await before.newest('the rest', (one) => one.currentStep?.name === 'Rest');
    expect(stepOf(empty)?.output).toMatchObject({ count: 0, firstAt: null, lastAt: null });
  });

  it('looks back past hundreds of events, and takes none that another step has used', async () => {
    const where = [{ field: 'event.n', operator: 'greaterThan', value: 0 }];
    const wait = { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { ...other, since: 'execution' } };
    const digest = (name: string, config: object = {}): StepPlan => ({
      type: 'DIGEST',
      name,
      config: { ...hour, ...other, ...config },
    });
    const eventName = randomUUID();
    const steps = [rest, wait, digest('One', { where, max: 5 }), digest('Two'), wait2()];
    const workflow = await createWorkflow(engine, { eventName, steps });
    const path = `/workflows/${workflow.id}/executions`;
    const email = newAddress();
    const contactId = await createContact(engine, email);
    await engine.call('POST', '/v1/track', { email, event: eventName });
    const { body } = await engine.call('GET', path);
    const own = `${path}/${body.executions[0].id}`;
    const at = (name: string) =>
      waitFor(`the execution at ${name}`, async () => {
        const { body: one } = await engine.call('GET', own);
        return one.status === 'WAITING' && one.currentStep?.name === name ? one : null;
      });
    await at('Rest');
    await db
      .insertInto('event')
      .values(
        Array.from({ length: 2500 }, (_, n) => ({
          project_id: engine.project.id,
          contact_id: contactId,
          name: 'liked',
          data: JSON.stringify({ n: n % 500 === 1 ? 1 : 0 }),
          recorded_at: sql<Date>`clock_timestamp() + ${n} * interval '1 microsecond'`,
        })),
      )
      .execute();
    await engine.call('PATCH', `${own}/wait`, { until: past });
    // The first event has ended the wait; "One" has taken five, the others are left.
    const open = await at('Two');
    expect(stepOf(open, 'One')?.output).toMatchObject({ count: 5, closedBy: 'max' });
    await waitFor('all that are left', async () => {
      const { body: one } = await engine.call('GET', own);
      return stepOf(one, 'Two')?.output['count'] === 2494;
    });
    await engine.call('PATCH', `${own}/wait`, { until: past });
    const { context } = await at('Again');
    expect(context.digest).toMatchObject({ count: 2494, truncated: true });
  });

  function wait2(): StepPlan {
    const config = { ...other, since: 'execution' };
    return { type: 'WAIT_FOR_EVENT', name: 'Again', config };
  }

  it('leaves out events that are deleted while it is open', async () => {
    const eventName = `kept ${randomUUID()}`;
    const { track, newest, close } = await collecting({ ...hour, eventName }, { steps: [rest] });
    await track();
    await newest('the open digest', isOpen);
    await track({ n: 1 }, eventName);
    await track({ n: 2 }, eventName);
    // A name in use is refused by the API. Its use may begin at this moment.
    await deleteEvents(db, engine.project.id, eventName, async () => {});
    const { id } = await newest('one that is empty', (one) => stepOf(one)?.output['count'] === 0);
    await track({ n: 3 }, eventName);
    await close(id);
    const closed = await newest('the rest', (one) => one.currentStep?.name === 'Rest');
    expect([countOf(closed), dataOf(closed)]).toEqual([1, [{ n: 3 }]]);
  });
});

describe('an open DIGEST', () => {
  it('is dropped by the end of its execution, with what it had', async () => {
    const { track, newest, own, all } = await collecting();
    await track();
    const { id } = await newest('the open digest', isOpen);
    await track();
    await engine.call('DELETE', own(id));
    await newest('the end', ({ status }) => status === 'CANCELLED');
    await track({ n: 3 });
    const next = await newest('the next digest', isOpen);
    expect([(await all()).length, stepOf(next)?.output['count']]).toEqual([2, 1]);
  });

  it('does not take the event that meets an exit rule', async () => {
    const where = [{ field: 'event.stop', operator: 'equals', value: true }];
    const eventName = `commented ${randomUUID()}`;
    const rule = { eventName, where, reason: 'stopped' };
    const { track, newest, all } = await collecting(
      { ...hour, eventName },
      {
        eventName,
        exitRules: [rule],
      },
    );
    await track({ n: 1 }, eventName);
    await newest('the open digest', isOpen);
    const stop = await track({ stop: true }, eventName);
    const [first] = await all();
    expect([first?.status, first?.exitReason]).toEqual(['EXITED', 'stopped']);
    // It starts the next execution.
    const next = await newest('the next digest', isOpen);
    const { rows } = await sql<{ execution: string }>`
      select step.execution_id as execution from digest_event
        join step_execution step on step.id = step_execution_id
        where event_id = ${stop}`.execute(db);
    expect(rows).toEqual([{ execution: next.id }]);
  });

  it('is skipped with what it has', async () => {
    const { track, newest, own } = await collecting(hour, { steps: [rest] });
    await track({ n: 1 });
    const { id } = await newest('the open digest', isOpen);
    await track({ n: 2 });
    expect((await engine.call('POST', `${own(id)}/skip`, {})).status).toBe(200);
    const skipped = await newest('the rest', (one) => one.currentStep?.name === 'Rest');
    expect(stepOf(skipped)).toMatchObject({
      status: 'SKIPPED',
      output: { skipped: true, closedBy: 'skip', count: 2 },
    });
    expect(dataOf(skipped)).toEqual([{ n: 1 }, { n: 2 }]);
    await track({ n: 3 });
    await newest('the next digest', (one) => one.id !== id && isOpen(one));
  });

  it('collects and closes while its execution is paused, and holds what follows', async () => {
    const exit = { type: 'EXIT', name: 'Out', config: { reason: 'done' } };
    const { track, newest, own, close } = await collecting(hour, { steps: [exit] });
    await track({ n: 1 });
    const { id } = await newest('the open digest', isOpen);
    await engine.call('POST', `${own(id)}/pause`, {});
    await track({ n: 2 });
    await close(id);
    const held = await newest('the closed digest', (one) => countOf(one) === 2);
    expect(stepOf(held)?.status).toBe('COMPLETED');
    await waitFor('the held step', async () => {
      const row = db.selectFrom('execution').select('held_at').where('id', '=', id);
      return (await row.executeTakeFirst())?.held_at;
    });
    await engine.call('POST', `${own(id)}/resume`, {});
    await newest('the exit', ({ status }) => status === 'EXITED');
  });

  it('cannot last for ever', async () => {
    const { track, newest, own, path, steps } = await collecting();
    await track();
    const { id } = await newest('the open digest', isOpen);
    const forever = { forever: true };
    const refused = await engine.call('PATCH', `${own(id)}/wait`, forever);
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'forever not_allowed']);
    const ofStep = `${path}/steps/${steps['Digest']}/move-waits`;
    expect(refusal(await engine.call('POST', ofStep, forever))).toEqual([
      422,
      'VALIDATION_ERROR',
      'forever not_allowed',
    ]);
  });

  it('keeps what it took in another version, with a new end and new conditions', async () => {
    const {
      id: workflowId,
      track,
      newest,
      own,
      path,
      steps,
      eventName,
    } = await collecting(hour, {
      steps: [rest],
    });
    await track({ n: 1 });
    const { id } = await newest('the open digest', isOpen);
    await track({ n: 2 });
    const migrate = async (config: object) => {
      const step = `${path}/steps/${steps['Digest']}`;
      const { status } = await engine.call('PATCH', step, { config: { eventName, ...config } });
      expect(status).toBe(200);
      await endOfExecutionJob(
        engine,
        workflowId,
        await askForJob(engine, workflowId, 'migrate', {}),
      );
      return (await engine.call('GET', own(id))).body as Shown;
    };
    const ends = async () =>
      Date.parse(String(stepOf((await engine.call('GET', own(id))).body)?.output['closesAt']));
    const before = await ends();
    const where = [{ field: 'event.n', operator: 'greaterThan', value: 2 }];
    await migrate({ for: { amount: 2, unit: 'hours' }, where });
    expect((await ends()) - before).toBe(3_600_000);
    await track({ n: 0 });
    await track({ n: 3 });
    const output = { count: 3, waitingFor: { eventName, where } };
    expect(stepOf((await engine.call('GET', own(id))).body)?.output).toMatchObject(output);
    // It has as many already.
    await migrate({ for: { amount: 2, unit: 'hours' }, where, max: 3 });
    const closed = await newest('the rest', (one) => one.currentStep?.name === 'Rest');
    expect(stepOf(closed)?.output).toMatchObject({ count: 3, closedBy: 'max' });
    expect(dataOf(closed)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
});

describe('a wait right behind a DIGEST', () => {
  it('counts events from its closing on, however late the wait begins', async () => {
    const wait = { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'read' } };
    const { track, newest, own, close } = await collecting(hour, { steps: [wait] });
    await track();
    const { id } = await newest('the open digest', isOpen);
    await track({ n: 1 }, 'read');
    await engine.call('POST', `${own(id)}/pause`, {});
    await close(id);
    await newest('the closed digest', (one) => countOf(one) === 1);
    await track({ n: 2 }, 'read');
    await engine.call('POST', `${own(id)}/resume`, {});
    const ended = await newest('the end', hasEnded);
    expect(stepOf(ended, 'Wait')?.output).toMatchObject({ eventData: { n: 2 } });
  });
});
