import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { performStep, type StepCallById } from '../../../activities/steps/perform.ts';
import { createStepActivities } from '../../../activities/steps/steps.ts';
import { recordEvents } from '../../../db/transactions/events/record-events.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import { findVersionGraph } from '../../../db/workflows/graphs.ts';
import { listExecutionStarts } from '../../../db/workflows/executions/starts.ts';
import { registerWait } from '../../../db/workflows/executions/waits.ts';
import { findStep, type Graph } from '../../../domain/workflow/graph.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();
// A worker's activities, to be called in orders that are rare in Temporal.
const activities = createStepActivities(engine.services, 10);

/** Creates TRIGGER → Wait → one exit for each of its results. */
function createWaiting(eventName: string, timeout?: number) {
  const config = { eventName: 'clicked', ...(timeout ? { timeout } : {}) };
  return createWorkflow(engine, {
    eventName,
    steps: [
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config },
      { type: 'EXIT', name: 'by event', config: { reason: 'by event' } },
      { type: 'EXIT', name: 'by time-out', config: { reason: 'by time-out' } },
    ],
    ways: [
      ['TRIGGER', 'Wait'],
      ['Wait', 'by event', 'event'],
      ['Wait', 'by time-out', 'timeout'],
    ],
  });
}

/** Inserts an execution without a run, whose activities the test calls. */
async function insertedExecution(workflow: { id: string; steps: Record<string, string> }) {
  const { db } = engine.api;
  const contactId = await createContact(engine, newAddress());
  const execution = await db.transaction().execute((tx) =>
    insertExecution(tx, {
      projectId: engine.project.id,
      workflowId: workflow.id,
      contactId,
      context: null,
      causedBy: 'key:secret',
    }),
  );
  await db.deleteFrom('outbox').where('run_id', '=', `execution-${execution.id}`).execute();
  const { rows } = await sql<{ since: string; version: number }>`
    select started_at::text as since, workflow_version as version
      from execution where id = ${execution.id}`.execute(db);
  const { since, version } = rows[0]!;
  const call: StepCallById = {
    executionId: execution.id,
    projectId: engine.project.id,
    workflowId: workflow.id,
    version,
    stepId: workflow.steps['Wait']!,
    since,
  };
  return { contactId, call };
}

async function graphOf({ workflowId, version }: StepCallById): Promise<Graph> {
  const graph = await findVersionGraph(engine.api.db, workflowId, version);
  return graph ?? expect.unreachable();
}

const click = (contactId: string) => [{ contactId, name: 'clicked', data: { n: 1 } }];

function recordClick(contactId: string) {
  return engine.api.db
    .transaction()
    .execute((tx) => recordEvents(tx, engine.project.id, click(contactId)));
}

function waitsOf(executionId: string) {
  return engine.api.db
    .selectFrom('wait')
    .selectAll()
    .where('execution_id', '=', executionId)
    .execute();
}

/** Returns the signals in the outbox for the run of an execution. */
function signalsOf(executionId: string) {
  return engine.api.db
    .selectFrom('outbox')
    .select('input')
    .where('run_id', '=', `execution-${executionId}`)
    .where('action', '=', 'signal')
    .execute();
}

/** Resolves when `count` connections of this database wait for a lock of another one. */
function lockWaiters(count: number) {
  return waitFor(`${count} connections waiting for a lock`, async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(engine.api.db);
    return rows[0]!.waiting >= count;
  });
}

describe('an event that comes while its wait is being registered', () => {
  let workflow: Awaited<ReturnType<typeof createWaiting>>;
  beforeAll(async () => {
    workflow = await createWaiting('interleaved');
  });

  it('is seen by the wait when it was recorded first', async () => {
    const { contactId, call } = await insertedExecution(workflow);
    const { db } = engine.api;
    const registering = await db.transaction().execute(async (tx) => {
      await recordEvents(tx, engine.project.id, click(contactId));
      // Not committed yet, so the wait has to wait for it.
      const result = activities.WAIT_FOR_EVENT(call);
      await lockWaiters(1);
      return { result };
    });
    expect((await registering.result).outcome).toEqual({ kind: 'branch', branch: 'event' });
    expect(await waitsOf(call.executionId)).toEqual([]);
  });

  it('finds the wait when that was registered first', async () => {
    const { contactId, call } = await insertedExecution(workflow);
    let recording: ReturnType<typeof recordClick> | undefined;
    const step = findStep(await graphOf(call), call.stepId)!;
    const given = { ...call, step, nextStepId: null };
    const registered = await performStep(engine.api.db, given, async (tx, visit) => {
      const { since } = call;
      const wait = {
        eventName: 'clicked',
        lookBack: 'step' as const,
        since,
        where: null,
        expiresAt: null,
      };
      expect(await registerWait(tx, visit, wait)).toBeNull();
      recording = recordClick(contactId);
      await lockWaiters(1);
      return { outcome: { kind: 'waiting', until: null } };
    });
    expect(registered.outcome.kind).toBe('waiting');
    const events = (await recording)!;
    const [wait] = await waitsOf(call.executionId);
    expect(wait?.event_id).toBe(events[0]!.id);
    expect(await signalsOf(call.executionId)).toHaveLength(1);
  });

  it('is never lost in any of 240 races', async () => {
    const outcomes = { seen: 0, claimed: 0 };
    const race = async (turn: number) => {
      const { contactId, call } = await insertedExecution(workflow);
      // From "event 6 ms earlier" to "wait 6 ms earlier".
      const lead = (turn % 25) / 2 - 6;
      const [registered, events] = await Promise.all([
        sleep(Math.max(0, -lead)).then(() => activities.WAIT_FOR_EVENT(call)),
        sleep(Math.max(0, lead)).then(() => recordClick(contactId)),
      ]);
      const waits = await waitsOf(call.executionId);
      if (registered.outcome.kind === 'branch') {
        outcomes.seen += 1;
        expect(registered.outcome.branch).toBe('event');
        expect(await signalsOf(call.executionId)).toEqual([]);
        expect(waits).toEqual([]);
      } else {
        outcomes.claimed += 1;
        expect(await signalsOf(call.executionId)).toHaveLength(1);
        expect(waits.map((wait) => wait.event_id)).toEqual([events[0]!.id]);
      }
    };
    for (let first = 0; first < 240; first += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => race(first + index)));
    }
    expect(outcomes.seen + outcomes.claimed).toBe(240);
  }, 90_000);

  it('wakes the journey, and the time-out does not, in 80 journeys at once', async () => {
    const racing = await createWaiting('raced', 20);
    const track = async (turn: number) => {
      const email = newAddress();
      const began = await engine.call('POST', '/v1/track', { email, event: 'raced' });
      await sleep((turn * 7) % 31);
      const clicked = await engine.call('POST', '/v1/track', {
        email,
        event: 'clicked',
        data: { turn },
      });
      expect([began.status, clicked.status]).toEqual([200, 200]);
    };
    await Promise.all(Array.from({ length: 80 }, (_, turn) => track(turn)));
    const ends = await waitFor('80 journeys to end', async () => {
      const rows = await engine.api.db
        .selectFrom('execution')
        .select(['exit_reason', 'context'])
        .where('workflow_id', '=', racing.id)
        .where('completed_at', 'is not', null)
        .execute();
      return rows.length === 80 ? rows : null;
    });
    expect(new Set(ends.map((end) => end.exit_reason))).toEqual(new Set(['by event']));
    const turns = ends.map(({ context }) => (context as { turn: number }).turn);
    expect(new Set(turns).size).toBe(80);
  }, 60_000);
});

describe('a wait that is entered twice', () => {
  // The worker died after the commit and before its response.
  it('leaves nothing behind when its event came in between', async () => {
    const { contactId, call } = await insertedExecution(await createWaiting('entered twice'));
    expect((await activities.WAIT_FOR_EVENT(call)).outcome.kind).toBe('waiting');
    await recordClick(contactId);
    const again = await activities.WAIT_FOR_EVENT(call);
    expect(again.outcome).toEqual({ kind: 'branch', branch: 'event' });
    expect(await waitsOf(call.executionId)).toEqual([]);
  });

  it('says the same end at the same moment', async () => {
    const { contactId, call } = await insertedExecution(await createWaiting('settled twice'));
    await activities.WAIT_FOR_EVENT(call);
    await recordClick(contactId);
    const first = await activities.SETTLE_WAIT(call);
    expect(first.since).toEqual(expect.any(String));
    expect(await activities.SETTLE_WAIT(call)).toEqual(first);
    expect(await activities.WAIT_FOR_EVENT(call)).toEqual(first);
  });

  it('does not let one event end two waits', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'two waits',
      steps: ['Wait', 'Second'].map((name) => ({
        type: 'WAIT_FOR_EVENT',
        name,
        config: { eventName: 'clicked' },
      })),
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'Second'],
      ],
    });
    const { contactId, call } = await insertedExecution(workflow);
    await activities.WAIT_FOR_EVENT(call);
    await recordClick(contactId);
    await activities.SETTLE_WAIT(call);
    const { since } = await activities.SETTLE_WAIT(call);
    const next = await activities.WAIT_FOR_EVENT({
      ...call,
      stepId: workflow.steps['Second']!,
      since: since ?? call.since,
    });
    expect(next.outcome.kind).toBe('waiting');
  });
});

describe('a wait behind one that timed out', () => {
  it('counts events from the time-out on, however late that was noticed', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'noticed late',
      steps: ['Wait', 'Second'].map((name) => ({
        type: 'WAIT_FOR_EVENT',
        name,
        config: { eventName: name === 'Wait' ? 'never' : 'clicked', timeout: 1 },
      })),
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'Second', 'timeout'],
      ],
    });
    const { contactId, call } = await insertedExecution(workflow);
    const { outcome } = await activities.WAIT_FOR_EVENT(call);
    const until = (outcome as { until: string }).until;
    await recordClick(contactId);
    await waitFor('the time-out', () => Date.now() > Date.parse(until) + 20);
    const [clicked] = await recordClick(contactId);
    expect((await activities.SETTLE_WAIT(call)).outcome).toMatchObject({ branch: 'timeout' });
    // Its run was lost meanwhile.
    const [due] = await listExecutionStarts(engine.api.db, [call.executionId]);
    expect(due!.start.resume?.stepId).toBe(workflow.steps['Second']);
    const next = await activities.WAIT_FOR_EVENT({
      ...call,
      stepId: workflow.steps['Second']!,
      since: due!.start.resume!.since,
    });
    expect(next.outcome).toEqual({ kind: 'branch', branch: 'event' });
    const { ending_event_id } = await engine.api.db
      .selectFrom('step_execution')
      .select('ending_event_id')
      .where('execution_id', '=', call.executionId)
      .where('step_id', '=', workflow.steps['Second']!)
      .executeTakeFirstOrThrow();
    expect(ending_event_id).toBe(clicked!.id);
  });
});

describe('an event at the very moment of the time-out', () => {
  it('has one outcome, which output, way and context agree on, in 80 journeys', async () => {
    const workflow = await createWaiting('aimed', 2);
    const play = async (turn: number) => {
      const email = newAddress();
      const contactId = await createContact(engine, email);
      const executionId = await startByHand(engine, workflow.id, contactId);
      const wait = await waitFor('the wait', async () => (await waitsOf(executionId))[0]);
      // From 20 ms before to 20 ms after.
      const aim = wait.expires_at!.getTime() + (turn % 41) - 20;
      await sleep(Math.max(0, aim - Date.now()));
      const { body } = await engine.call('POST', '/v1/track', { email, event: 'clicked' });
      const done = await executionIn(engine, workflow.id, executionId, 'EXITED');
      const { output } = done.stepExecutions[1];
      const event = await engine.api.db
        .selectFrom('event')
        .select(sql<boolean>`recorded_at < ${wait.expires_at}`.as('inTime'))
        .where('id', '=', body.data.event)
        .executeTakeFirstOrThrow();
      const outcome = event.inTime ? 'EVENT' : 'TIMEOUT';
      expect([done.exitReason, output.waitOutcome]).toEqual([
        event.inTime ? 'by event' : 'by time-out',
        outcome,
      ]);
      expect(done.stepExecutions).toHaveLength(3);
      expect(await waitsOf(executionId)).toEqual([]);
      return outcome;
    };
    const outcomes = await Promise.all(Array.from({ length: 80 }, (_, turn) => play(turn)));
    expect(outcomes).toHaveLength(80);
  }, 60_000);
});
