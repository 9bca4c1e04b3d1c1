import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
} from '../../support/histories/executions.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/**
 * Starts 20 executions of one contact at once, manually and by event in turn. Returns the
 * statuses of the manual starts.
 */
async function startOften(workflowId: string, eventName: string, email: string, contactId: string) {
  const byHand = `/workflows/${workflowId}/executions`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, turn) =>
      turn % 2 === 0
        ? engine.call('POST', byHand, { contactId })
        : engine.call('POST', '/v1/track', { email, event: eventName }),
    ),
  );
  const tracked = answers.filter((_, turn) => turn % 2 === 1).map(({ status }) => status);
  expect(new Set(tracked)).toEqual(new Set([200]));
  return answers.filter((_, turn) => turn % 2 === 0).map(({ status }) => status);
}

function executionsOf(workflowId: string) {
  return engine.api.db
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', workflowId)
    .orderBy('started_at')
    .execute();
}

describe('20 starts of one contact at once', () => {
  it.each([
    [false, 1],
    [true, 2],
  ])('make one execution at a time (re-entry %s: %i in two rounds)', async (allowReentry, all) => {
    const eventName = `crowd ${allowReentry}`;
    const email = `${randomUUID()}@people.test`;
    const contactId = await createContact(engine, email);
    const workflow = await createWorkflow(engine, {
      eventName,
      allowReentry,
      steps: [
        { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) },
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'over' } },
      ],
    });
    const statuses = await startOften(workflow.id, eventName, email, contactId);
    const made = statuses.filter((status) => status === 201).length;
    // No manual start, if an event was first.
    expect(made).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(10 - made);
    const [first, ...others] = await executionsOf(workflow.id);
    expect(others).toEqual([]);

    await executionIn(engine, workflow.id, first!.id, 'WAITING');
    await waitFor('the wait', async () =>
      engine.api.db
        .selectFrom('wait')
        .select('execution_id')
        .where('execution_id', '=', first!.id)
        .executeTakeFirst(),
    );
    await engine.call('POST', '/v1/track', { email, event: 'over' });
    await executionIn(engine, workflow.id, first!.id, 'COMPLETED');

    await startOften(workflow.id, eventName, email, contactId);
    expect(await executionsOf(workflow.id)).toHaveLength(all);
    const mails = await engine.mailsTo(email, all);
    expect(mails).toHaveLength(all);
  });

  it('never deadlock, in 60 starts beside cancels', async () => {
    const eventName = 'cancelled meanwhile';
    const workflow = await createWorkflow(engine, {
      eventName,
      allowReentry: true,
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName } }],
    });
    const emails = Array.from({ length: 3 }, () => `${randomUUID()}@people.test`);
    const track = () =>
      emails.map((email) => engine.call('POST', '/v1/track', { email, event: eventName }));
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(track());
      await waitFor('three waits', async () => {
        const waits = engine.api.db.selectFrom('wait').select('execution_id');
        return (await waits.where('event_name', '=', eventName).execute()).length === 3;
      });
      const answers = await Promise.all([
        ...track(),
        engine.call('POST', `/workflows/${workflow.id}/executions/cancel-all`),
        ...track(),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      await engine.call('POST', `/workflows/${workflow.id}/executions/cancel-all`);
    }
  });
});

describe('executions that are cancelled and deleted at once', () => {
  it('leave no run open in Temporal', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'to be deleted',
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
    });
    await Promise.all(
      Array.from({ length: 60 }, () =>
        engine.call('POST', '/v1/track', {
          email: `${randomUUID()}@people.test`,
          event: 'to be deleted',
        }),
      ),
    );
    await waitFor('60 waiting executions', async () => {
      const rows = await executionsOf(workflow.id);
      return rows.filter(({ status }) => status === 'WAITING').length === 60;
    });
    const ids = (await executionsOf(workflow.id)).map(({ id }) => id);
    const path = `/workflows/${workflow.id}`;
    const cancelled = await engine.call('POST', `${path}/executions/cancel-all`);
    expect(cancelled.body).toEqual({ cancelled: 60 });
    expect((await engine.call('DELETE', path)).status).toBe(204);

    const { workflow: runs } = engine.temporal.client;
    for (const id of ids) {
      await waitFor(
        `run of ${id} closed`,
        async () => {
          const { status } = await runs.getHandle(`execution-${id}`).describe();
          return status.name === 'CANCELLED';
        },
        10_000,
      );
    }
  }, 60_000);
});
