import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { createTemplate, createWorkflow, executionIn } from '../../support/histories/executions.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const stripe = await useFakeStripe();
const engine = await useEngine({ ...stripe.environment, FREE_TIER_EMAILS_PER_MONTH: '2' });

const mail = () => ({
  to: `${randomUUID()}@people.test`,
  from: `team@${engine.domain}`,
  subject: 'Hi',
  body: 'Hi',
});
const sentMail = async (id: string) =>
  waitFor('the mail to be sent', async () => {
    const row = await engine.api.db
      .selectFrom('email')
      .select(['status', 'sent_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return row.sent_at === null ? null : row;
  });

it('reports each sent mail of a customer once, by the sweep', async () => {
  await engine.api.db
    .updateTable('project')
    .set({ customer: 'cus_1' })
    .where('id', '=', engine.project.id)
    .execute();
  const { body } = await engine.call('POST', '/v1/send', mail());
  const id = body.data.emails[0].email as string;
  await sentMail(id);
  await sweepNow(engine);
  await sweepNow(engine);
  expect([...stripe.meterEvents.keys()]).toEqual([id]);
  expect(stripe.meterEvents.get(id)).toMatchObject({ 'payload[stripe_customer_id]': 'cus_1' });
});

it('fails the mail of a workflow over the limit with billing_limit; the journey goes on', async () => {
  const { body } = await engine.call('POST', '/v1/send', mail());
  await sentMail(body.data.emails[0].email as string);
  const templateId = await createTemplate(engine);
  const workflow = await createWorkflow(engine, {
    eventName: 'over the limit',
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId },
      { type: 'EXIT', name: 'Done', config: { reason: 'went on' } },
    ],
  });
  const email = `${randomUUID()}@people.test`;
  await engine.call('POST', '/v1/track', { email, event: 'over the limit' });
  const list = await engine.call('GET', `/workflows/${workflow.id}/executions`);
  const execution = await executionIn(
    engine,
    workflow.id,
    list.body.executions[0].id as string,
    'EXITED',
  );
  expect(execution.exitReason).toBe('went on');
  const failed = await waitFor('the mail to fail', async () => {
    const row = await engine.api.db
      .selectFrom('email')
      .select(['status', 'error'])
      .where('workflow_execution_id', '=', execution.id as string)
      .executeTakeFirstOrThrow();
    return row.status === 'FAILED' ? row : null;
  });
  expect(failed.error).toBe('billing_limit');
  expect((await engine.api.request('GET', `/local/mailbox?to=${email}`)).body).toEqual([]);
  const refused = await engine.call('POST', '/v1/send', mail());
  expect([refused.status, refused.body.error.code]).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
});

it('forgets links after an hour and reports of providers after 30 days, by the sweep', async () => {
  const { db } = engine.api;
  const { userId } = await engine.api.signUp();
  for (const age of ['59 minutes', '61 minutes']) {
    await sql`insert into account_token (token_hash, user_id, purpose, created_at)
      values (sha256(${age}::text::bytea), ${userId}, 'reset_password',
        now() - ${age}::text::interval)`.execute(db);
  }
  for (const days of [29, 31]) {
    await sql`insert into payment_receipt (event_id, created_at)
      values (${`evt_${days}`}, now() - make_interval(days => ${days}))`.execute(db);
    await sql`insert into report_receipt (id, created_at)
      values (${`sns_${days}`}, now() - make_interval(days => ${days}))`.execute(db);
  }
  await sweepNow(engine);
  const tokens = await db.selectFrom('account_token').select('user_id').execute();
  const receipts = await db.selectFrom('payment_receipt').select('event_id').execute();
  const reports = await db.selectFrom('report_receipt').select('id').execute();
  expect([tokens.length, receipts]).toEqual([1, [{ event_id: 'evt_29' }]]);
  expect(reports).toEqual([{ id: 'sns_29' }]);
});
