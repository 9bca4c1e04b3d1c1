import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { withinTime } from '../../../../db/bounded.ts';
import { errorFields, useWorkflowApi } from '../../../support/projects/workflow-api.ts';
import { writeMail } from '../../../support/mail-tables.ts';

/** The numbers of a workflow. The test inserts the rows that executions leave. */

const { api, cookie, projectId, call, make, createWorkflow, addDelay, read } =
  await useWorkflowApi();
const { db } = api;

async function statsOf(id: string, query = '') {
  const { status, body } = await call('GET', `/workflows/${id}/stats${query}`);
  expect([status, body.error]).toEqual([200, undefined]);
  const steps = body.data.steps as { name: string }[];
  return { ...body.data, step: (name: string) => steps.find((step) => step.name === name) };
}

/** Inserts a step of an execution; `begun` and `ended` are seconds after its start. */
async function did(
  executionId: string,
  stepId: string,
  step: { status?: string; begun?: number | null; ended?: number | null; output?: object },
): Promise<string> {
  const { status = 'COMPLETED', begun = 0, ended = begun, output = {} } = step;
  const at = (seconds: number | null) =>
    sql`(select started_at from execution where id = ${executionId})
      + ${seconds} * interval '1 second'`;
  const { rows } = await sql<{ id: string }>`
    insert into step_execution (project_id, execution_id, step_id, status, output, started_at,
        completed_at)
      values (${projectId}, ${executionId}, ${stepId}, ${status}, ${JSON.stringify(output)}::jsonb,
        ${at(begun)}, ${at(ended)})
      returning id`.execute(db);
  return rows[0]!.id;
}

async function isNow(executionId: string, status: string, stepId: string | null): Promise<void> {
  await sql`update execution set status = ${status}, current_step_id = ${stepId},
      completed_at = case when ${status} in ('RUNNING', 'WAITING') then null
        else started_at + interval '1 hour' end
    where id = ${executionId}`.execute(db);
}

/** Creates an enabled workflow: delay, condition, and an end for each of its branches. */
async function drawWorkflow() {
  const { id } = await createWorkflow();
  const delay = await addDelay(id);
  const step = (type: string, name: string, config: object) =>
    make(`/workflows/${id}/steps`, { type, name, config, autoConnect: false });
  const choice = await step('CONDITION', 'Pro?', {
    field: 'data.plan',
    operator: 'equals',
    value: 'pro',
  });
  const mail = await step('SEND_EMAIL', 'Mail', {});
  const end = await step('EXIT', 'End', {});
  const link = (from: string, to: string, more = {}) =>
    make(`/workflows/${id}/transitions`, { fromStepId: from, toStepId: to, ...more });
  await link(delay.id, choice.id);
  await link(choice.id, mail.id, { branch: 'yes' });
  await link(choice.id, end.id, { branch: 'no' });
  await sql`update workflow set enabled = true where id = ${id}`.execute(db);
  const { version, steps } = await read(id);
  await sql`insert into workflow_version (workflow_id, project_id, version, graph)
    select ${id}, ${projectId}, ${version}, ${JSON.stringify({ steps, transitions: [] })}::jsonb
    on conflict (workflow_id, version) do update set graph = excluded.graph`.execute(db);
  const trigger = steps.find(({ type }: { type: string }) => type === 'TRIGGER');
  const start = async () => {
    const contact = await make('/contacts', { email: `${crypto.randomUUID()}@people.test` });
    return (await make(`/workflows/${id}/executions`, { contactId: contact.id })).id as string;
  };
  return { id, version, trigger, delay, choice, mail, end, start };
}

describe('the numbers of a workflow', () => {
  it('count executions, and what became of them at each step', async () => {
    const { id, delay, choice, mail, end, start } = await drawWorkflow();
    for (let n = 0; n < 10; n += 1) {
      const execution = await start();
      await did(execution, delay.id, { begun: 1 });
      await did(execution, choice.id, {
        begun: 2 + n,
        ended: 3 + n,
        output: { branch: n < 4 ? 'yes' : 'no' },
      });
      if (n < 4) {
        const sent = await did(execution, mail.id, { begun: 20, ended: 22 + n });
        await writeMail(db, (tx) =>
          sql`insert into email (project_id, contact_id, to_email, subject, from_email,
            message_class, source_type, status, error, sent_at, delivered_at, opened_at,
            human_opened_at, clicked_by_machines, workflow_step_execution_id)
          select ${projectId}, contact_id, 'a@people.test', 'S', 'b@people.test', 'TRANSACTIONAL',
            'WORKFLOW', ${n === 3 ? 'FAILED' : 'DELIVERED'}, ${n === 3 ? 'frequency_cap' : null},
            case when ${n} < 3 then now() end, case when ${n} < 3 then now() end,
            case when ${n} = 0 then now() end, case when ${n} = 0 then now() end, ${n} = 1, ${sent}
          from execution where id = ${execution}`.execute(tx),
        );
      } else await did(execution, end.id, { begun: 20, ended: 20 });
      await isNow(execution, n < 4 ? 'COMPLETED' : 'EXITED', n < 4 ? null : end.id);
    }
    const { executions, step } = await statsOf(id);
    expect(executions).toEqual({
      started: 10,
      active: 0,
      paused: 0,
      completed: 4,
      exited: 6,
      failed: 0,
      cancelled: 0,
    });
    const none = { skipped: 0, failed: 0, waiting: 0, branches: {} };
    expect(step('Trigger: signed_up')).toMatchObject({ ...none, entered: 10, completed: 10 });
    expect(step('Pro?')).toEqual({
      ...none,
      stepId: choice.id,
      name: 'Pro?',
      type: 'CONDITION',
      entered: 10,
      completed: 10,
      medianSeconds: 1,
      branches: { yes: 4, no: 6 },
    });
    expect(step('Mail')).toMatchObject({
      entered: 4,
      medianSeconds: 3.5,
      emails: {
        total: 4,
        outcomes: { sent: 3, failed: 0, withheld: 1, held: 0, pending: 0, unknown: 0 },
        reasons: { frequency_cap: 1 },
        sent: 3,
        delivered: 3,
        opened: 1,
        clicked: 0,
        bounced: 0,
        humanOpened: 1,
        machineOpened: 0,
        humanClicked: 0,
        machineClicked: 1,
      },
    });
    // A step ends when the next one begins: here after 1 to 10 seconds.
    expect(step('Wait')).toMatchObject({ entered: 10, completed: 10, medianSeconds: 5.5 });
    expect(step('Wait')).not.toHaveProperty('emails');
  });

  it('agree with the list of executions about who waits, fails and is paused', async () => {
    const { id, delay, choice, end, start } = await drawWorkflow();
    const [waiting, paused, failed, cancelled, ended] = [
      await start(),
      await start(),
      await start(),
      await start(),
      await start(),
    ];
    for (const execution of [waiting, paused, cancelled, ended]) {
      await did(execution, delay.id, { begun: 1 });
    }
    for (const execution of [waiting, paused]) {
      await did(execution, choice.id, { status: 'SCHEDULED', begun: null });
      await isNow(execution, 'WAITING', delay.id);
    }
    await sql`update execution set paused_at = now() where id in (${paused}, ${cancelled})`.execute(
      db,
    );
    await did(failed, delay.id, { status: 'FAILED', begun: 1 });
    await isNow(failed, 'FAILED', delay.id);
    await did(cancelled, choice.id, { status: 'SKIPPED', begun: null });
    await isNow(cancelled, 'CANCELLED', delay.id);
    // A skipped wait ends when it is skipped, not when the next step begins.
    await sql`update step_execution set status = 'SKIPPED',
        completed_at = started_at + interval '30 seconds'
      where execution_id = ${ended} and step_id = ${delay.id}`.execute(db);
    await did(ended, end.id, { begun: 90 });
    await isNow(ended, 'EXITED', end.id);

    const { executions, step } = await statsOf(id);
    const listed = await call('GET', `/workflows/${id}/executions?status=WAITING`);
    expect(executions).toMatchObject({ started: 5, active: 2, paused: 1, failed: 1, cancelled: 1 });
    expect(listed.body.total).toBe(2);
    expect(step('Wait')).toMatchObject({
      entered: 5,
      completed: 3,
      skipped: 1,
      failed: 1,
      waiting: 2,
      medianSeconds: 30,
    });
    expect(step('Pro?')).toMatchObject({ entered: 0, skipped: 1, medianSeconds: null });
  });

  it('are of the executions that started in a period, or are on a version', async () => {
    const { id, version, trigger, start } = await drawWorkflow();
    const [earlier] = [await start(), await start()];
    await sql`update execution set started_at = '2026-01-15T00:00:00Z' where id = ${earlier}`.execute(
      db,
    );
    const started = async (query: string) => (await statsOf(id, query)).executions.started;
    expect(await started('?startDate=2026-01-01&endDate=2026-01-15')).toBe(1);
    expect(await started('?startDate=2026-01-16')).toBe(1);
    expect(await started('?endDate=2025-01-01')).toBe(0);
    expect(await started(`?version=${version}`)).toBe(2);

    // The steps of the new graph come first, and those of the version are still there.
    await call('PATCH', `/workflows/${id}/steps/${trigger.id}`, { name: 'Begin' });
    await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'New', config: {} });
    expect((await statsOf(id)).step('New')).toMatchObject({ entered: 0, medianSeconds: null });
    expect((await statsOf(id)).step('Begin')).toMatchObject({ entered: 2 });
    expect((await statsOf(id, `?version=${version}`)).step('New')).toBeUndefined();
    expect((await read(id)).version).toBeGreaterThan(version);
    expect(await started(`?version=${(await read(id)).version}`)).toBe(0);
  });

  it('refuse a version that there never was, and a period that ends before it begins', async () => {
    const { id } = await drawWorkflow();
    const refused = async (query: string) => {
      const { status, body } = await call('GET', `/workflows/${id}/stats?${query}`);
      return [status, ...errorFields(body)];
    };
    for (const version of ['99', '0', '-1', '99999999999999']) {
      expect(await refused(`version=${version}`)).toEqual([422, 'version not_found']);
    }
    expect(await refused('version=x')).toEqual([422, 'version invalid_string']);
    expect(await refused('startDate=2026-02-01&endDate=2026-01-01')).toEqual([
      422,
      'startDate custom',
    ]);
  });

  it('are not of other projects', async () => {
    const { id } = await drawWorkflow();
    const { secretKey, publicKey } = await api.createProject(cookie);
    const path = `/workflows/${id}/stats`;
    const refused = async (key?: string) => {
      const { status, body } = await api.request('GET', path, key === undefined ? {} : { key });
      return [status, body.error.code];
    };
    expect(await refused(secretKey)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    expect(await refused()).toEqual([401, 'MISSING_AUTH']);
    expect(await refused(publicKey)).toEqual([401, 'INVALID_API_KEY']);
  });

  it('are given up when they take too long', async () => {
    const slow = withinTime(db, { ms: 50, problem: 'STATS_TOO_HEAVY' }, (tx) =>
      sql`select pg_sleep(5)`.execute(tx),
    );
    await expect(slow).rejects.toMatchObject({ code: 'STATS_TOO_HEAVY' });
  });
});
