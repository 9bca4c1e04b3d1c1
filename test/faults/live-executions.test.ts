import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { type Engine, useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import { countStatuses } from '../support/histories/execution-jobs.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  startByHand,
  type StepPlan,
} from '../support/histories/executions.ts';
import { newAddress } from '../support/projects/shop.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes/processes.ts';
import { patient, type PatientCall, restarted } from '../support/processes/restarted.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Kills the API, the worker or both while live executions are paused, released, moved, skipped,
 * exited by a rule, migrated or retried. Each execution ends as it would without the fault, and no
 * step is done twice. `FAULT_SEEDS` is the number of plays of each case.
 */

const seeds = Array.from({ length: Number(process.env['FAULT_SEEDS'] ?? 1) }, (_, at) => at + 1);
const victims = ['the worker', 'the API', 'the worker and the API'] as const;

/** Executions of each workflow. */
const executions = 12;
const longAgo = '2020-01-01T00:00:00Z';
const thirtyDays: StepPlan = { type: 'DELAY', name: 'Delay', config: { amount: 30, unit: 'days' } };

interface Group {
  workflowId: string;
  /** `/workflows/{id}`. */
  path: string;
  members: { id: string; email: string }[];
  steps: Record<string, string>;
}

/** An operation on a group of executions, and their expected end and steps. */
interface Act {
  steps(mail: string, hook: string): StepPlan[];
  /** The status in which the executions wait for the operation. */
  from: 'WAITING' | 'FAILED';
  act(call: PatientCall, group: Group): Promise<void>;
  status: string;
  mails: number;
  /** The steps after the trigger, each done once. */
  ends: string[];
}

const mailed = (mail: string): StepPlan[] => [
  { type: 'SEND_EMAIL', name: 'First', templateId: mail },
  thirtyDays,
  { type: 'SEND_EMAIL', name: 'Second', templateId: mail },
];
const bothMails = ['First COMPLETED', 'Delay COMPLETED', 'Second COMPLETED'];

const acts: Record<string, Act> = {
  'a paused workflow': {
    steps: mailed,
    from: 'WAITING',
    async act(call, { path, members }) {
      await call('PATCH', path, { paused: true });
      for (const { id } of members) {
        await call('PATCH', `${path}/executions/${id}/wait`, { until: longAgo });
      }
      await call('PATCH', path, { paused: false });
    },
    status: 'COMPLETED',
    mails: 2,
    ends: bothMails,
  },
  'executions paused singly': {
    steps: mailed,
    from: 'WAITING',
    async act(call, { path, members }) {
      for (const { id } of members) {
        const execution = `${path}/executions/${id}`;
        await call('POST', `${execution}/pause`);
        await call('PATCH', `${execution}/wait`, { until: longAgo });
        await call('POST', `${execution}/resume`);
      }
    },
    status: 'COMPLETED',
    mails: 2,
    ends: bothMails,
  },
  'waits moved by a job': {
    steps: mailed,
    from: 'WAITING',
    async act(call, { path, steps }) {
      await call('POST', `${path}/steps/${steps['Delay']}/move-waits`, { until: longAgo });
    },
    status: 'COMPLETED',
    mails: 2,
    ends: bothMails,
  },
  'skipped delays': {
    // A second delay, which a repeated request must not skip as well.
    steps: (mail) => [...mailed(mail), { ...thirtyDays, name: 'Rest' }],
    from: 'WAITING',
    async act(call, { path, members }) {
      for (const { id } of members) await call('POST', `${path}/executions/${id}/skip`);
    },
    status: 'WAITING',
    mails: 2,
    ends: ['First COMPLETED', 'Delay SKIPPED', 'Second COMPLETED', 'Rest COMPLETED'],
  },
  'an exit rule': {
    steps: mailed,
    from: 'WAITING',
    async act(call, { members }) {
      for (const { email } of members) await call('POST', '/v1/track', { email, event: 'bought' });
    },
    status: 'EXITED',
    mails: 1,
    ends: ['First COMPLETED', 'Delay COMPLETED', 'Second SKIPPED'],
  },
  'a migration': {
    steps: mailed,
    from: 'WAITING',
    async act(call, { path, steps }) {
      const { body: workflow } = await call('GET', path);
      const after = workflow.steps.find((step: { id: string }) => step.id === steps['Delay']);
      const [transition] = after.outgoingTransitions;
      await call('POST', `${path}/transitions/${transition.id}/insert-step`, {
        type: 'UPDATE_CONTACT',
        name: 'Inserted',
        config: { updates: { inserted: true } },
      });
      const { body: migration } = await call('POST', `${path}/migrate`);
      await waitFor(
        'the end of the migration',
        async () => {
          const { body } = await call('GET', `${path}/jobs/${migration.jobId}`);
          if (body.state !== 'completed') return false;
          expect(body.result).toMatchObject({ migrated: executions, unmappable: 0 });
          return true;
        },
        90_000,
      );
      await call('POST', `${path}/steps/${steps['Delay']}/move-waits`, { until: longAgo });
    },
    status: 'COMPLETED',
    mails: 2,
    ends: ['First COMPLETED', 'Delay COMPLETED', 'Inserted COMPLETED', 'Second COMPLETED'],
  },
  'failed executions retried by a job': {
    steps: (mail, hook) => [
      { type: 'SEND_EMAIL', name: 'First', templateId: mail },
      { type: 'WEBHOOK', name: 'Call', config: { url: hook, onFailure: 'fail' } },
      { type: 'SEND_EMAIL', name: 'Second', templateId: mail },
    ],
    from: 'FAILED',
    async act(call, { path }) {
      await call('POST', `${path}/executions/retry-all`);
    },
    status: 'COMPLETED',
    mails: 2,
    ends: ['First COMPLETED', 'Call COMPLETED', 'Second COMPLETED'],
  },
};

const plays = victims.flatMap((victim) => seeds.map((seed) => [victim, seed] as const));

it.each(plays)(
  'all acts end as if nothing had died when %s is killed (seed %i)',
  { timeout: 300_000 },
  async (victim, seed) => {
    const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' }, { worker: false });
    const sink = await useSmtpSink();
    const receiver = await useReceiver();
    const mailing = {
      WEBHOOK_ALLOW_PRIVATE: 'true',
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(sink.port),
      EMAIL_RATE_LIMIT_PER_SECOND: '0',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
    };
    const worker = restarted(() => startWorkerProcess(engine, mailing));
    const api = restarted(() => startApiProcess(engine, mailing));
    try {
      await Promise.all([worker.start(), api.start()]);
      const groups = await Promise.all(
        Object.values(acts).map((plan) => begin(engine, plan, receiver)),
      );
      const call = patient(engine, () => api.get());
      const done = Promise.all(Object.values(acts).map((plan, at) => plan.act(call, groups[at]!)));
      // Kills at different moments, while the operations are under way.
      for (let kills = 0; kills < 2; kills++) {
        await new Promise((resolve) =>
          setTimeout(resolve, ((seed * 347 + kills * 613) % 1_700) + 50),
        );
        await Promise.all([
          victim.includes('worker') && worker.killAndStart(),
          victim.includes('API') && api.killAndStart(),
        ]);
      }
      await done;
      for (const [name, plan] of Object.entries(acts)) {
        const group = groups[Object.keys(acts).indexOf(name)]!;
        await waitFor(
          `${name}: all to be ${plan.status}`,
          async () => {
            const counts = await countStatuses(engine, group.workflowId);
            return counts[plan.status] === executions && (await isAt(engine, group, plan));
          },
          120_000,
        );
        await expectEnds(engine, name, plan, group);
        // A message whose handover was interrupted is not repeated, and none is sent twice.
        for (const { id, email } of group.members) {
          expect([name, await countEmails(engine, id)]).toEqual([name, plan.mails]);
          expect(sink.countTo(email)).toBeLessThanOrEqual(plan.mails);
        }
      }
    } finally {
      await Promise.all([worker.stop(), api.stop()]);
    }
  },
);

async function countEmails({ api: { db } }: Engine, executionId: string): Promise<number> {
  const rows = db.selectFrom('email').select('id').where('workflow_execution_id', '=', executionId);
  return (await rows.execute()).length;
}

/** Builds a workflow, and waits until its executions are where the operation finds them. */
async function begin(
  engine: Engine,
  plan: Act,
  receiver: Awaited<ReturnType<typeof useReceiver>>,
): Promise<Group> {
  const hook = `/${randomUUID()}`;
  receiver.answer(hook, { status: 404 });
  const steps = plan.steps(await createTemplate(engine), `${receiver.url}${hook}`);
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps });
  const path = `/workflows/${workflow.id}`;
  if (plan.status === 'EXITED') {
    const exitRules = [{ eventName: 'bought', reason: 'has bought' }];
    await engine.call('PATCH', path, { exitRules });
  }
  const members = [];
  for (let at = 0; at < executions; at++) {
    const email = newAddress();
    const contactId = await createContact(engine, email);
    members.push({ id: await startByHand(engine, workflow.id, contactId), email });
  }
  await waitFor(
    `all to be ${plan.from}`,
    async () => (await countStatuses(engine, workflow.id))[plan.from] === executions,
    90_000,
  );
  receiver.answer(hook, { status: 200 });
  return { workflowId: workflow.id, path, members, steps: workflow.steps };
}

/** Returns true if all executions have reached the last step of the plan. */
async function isAt(engine: Engine, group: Group, plan: Act): Promise<boolean> {
  const last = plan.ends.at(-1)!.split(' ')[0]!;
  const { rows } = await sql<{ count: number }>`
    select count(*)::int from step_execution step join execution on execution.id = step.execution_id
      where execution.workflow_id = ${group.workflowId}
        and step.step_id = ${group.steps[last] ?? null}`.execute(engine.api.db);
  return rows[0]?.count === executions;
}

async function expectEnds(engine: Engine, name: string, plan: Act, group: Group): Promise<void> {
  for (const { id } of group.members) {
    const { body } = await engine.call('GET', `${group.path}/executions/${id}`);
    const ends = body.stepExecutions
      .slice(1)
      .map((one: { step: { name: string }; status: string }) => `${one.step.name} ${one.status}`);
    expect([name, ends.toSorted()]).toEqual([name, plan.ends.toSorted()]);
  }
}
