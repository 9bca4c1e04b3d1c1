import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { trackingLinks } from '../../../domain/links/tracking.ts';
import { createSigner } from '../../../providers/encryption.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { askForJob, endOfExecutionJob } from '../../support/histories/execution-jobs.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';
import { linkTo } from '../../support/tracked-link.ts';

/** Waits with conditions on events, and waits that look back, with their runs in Temporal. */

const engine = await useEngine();

const ofOrder = [{ field: 'event.orderId', operator: 'equals', valueOf: 'context.orderId' }];
const paid = (name: string, config: object = {}): StepPlan => ({
  type: 'WAIT_FOR_EVENT',
  name,
  config: { eventName: 'paid', where: ofOrder, ...config },
});
const rest: StepPlan = { type: 'DELAY', name: 'Rest', config: { amount: 30, unit: 'days' } };

/** Starts an execution of these steps by an event with this data. */
async function begin(steps: StepPlan[], data: object, contact: object = {}) {
  const eventName = randomUUID();
  const workflow = await createWorkflow(engine, { eventName, steps });
  const email = newAddress();
  const contactId = await createContact(engine, email, contact);
  const track = async (event: string, given: object = {}) => {
    const { status } = await engine.call('POST', '/v1/track', { email, event, data: given });
    expect(status).toBe(200);
  };
  await track(eventName, data);
  const path = `/workflows/${workflow.id}`;
  const { body } = await engine.call('GET', `${path}/executions`);
  const own = `${path}/executions/${body.executions[0].id}`;
  const state = async () => (await engine.call('GET', own)).body;
  return {
    workflow,
    email,
    contactId,
    eventName,
    path,
    own,
    track,
    /** Returns the execution, once it waits at the step. */
    at: (name: string) =>
      waitFor(`the execution at ${name}`, async () => {
        const one = await state();
        return one.status === 'WAITING' && one.currentStep?.name === name ? one : null;
      }),
    ended: () =>
      waitFor('the end of the execution', async () => {
        const one = await state();
        return one.completedAt === null ? null : one;
      }),
    state,
  };
}

interface Visit {
  step: { name: string };
  status: string;
  output: Record<string, unknown> | null;
  history?: { to: string }[];
}

const visitOf = ({ stepExecutions }: { stepExecutions: Visit[] }, name: string) =>
  stepExecutions.find(({ step }) => step.name === name);

describe('a workflow with an executionKey', () => {
  it('distinguishes two orders of a contact, from the start to the end', async () => {
    const eventName = `order placed ${randomUUID()}`;
    const refunded = `refunded ${randomUUID()}`;
    const { status, body } = await engine.call('POST', '/workflows', {
      name: 'Order',
      enabled: true,
      graph: {
        executionKey: 'event.orderId',
        trigger: {
          type: 'EVENT',
          config: {
            eventName,
            where: [{ field: 'event.total', operator: 'greaterThan', value: 0 }],
          },
        },
        exitRules: [{ eventName: refunded, where: ofOrder, reason: 'refunded' }],
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          {
            key: 'paid',
            type: 'WAIT_FOR_EVENT',
            name: 'Paid?',
            config: { eventName: 'paid', timeout: 86_400, since: 'execution', where: ofOrder },
          },
          {
            key: 'shipped',
            type: 'WAIT_FOR_EVENT',
            name: 'Shipped?',
            config: { eventName: 'sent' },
          },
        ],
        transitions: [
          { from: 'trigger', to: 'paid' },
          { from: 'paid', to: 'shipped' },
        ],
      },
    });
    expect([status, body.error]).toEqual([201, undefined]);
    const email = newAddress();
    await createContact(engine, email);
    const track = (event: string, data: object) =>
      engine.call('POST', '/v1/track', { email, event, data });
    const list = async () => {
      const answer = await engine.call('GET', `/workflows/${body.id}/executions`);
      const states = answer.body.executions.map(
        (one: {
          key: string;
          status: string;
          exitReason: string | null;
          currentStep: { name: string } | null;
        }) => [one.key, one.exitReason ?? `${one.status} ${one.currentStep?.name}`],
      );
      return Object.fromEntries(states) as Record<string, string>;
    };
    const becomes = (expected: Record<string, string>) =>
      waitFor(JSON.stringify(expected), async () => {
        const now = await list();
        return JSON.stringify(now, Object.keys(now).toSorted()) === JSON.stringify(expected);
      });
    await track(eventName, { orderId: '0', total: 0 });
    await track(eventName, { orderId: '1', total: 20 });
    await track(eventName, { orderId: '2', total: 35 });
    await becomes({ 1: 'WAITING Paid?', 2: 'WAITING Paid?' });
    await track('paid', { orderId: '2' });
    await becomes({ 1: 'WAITING Paid?', 2: 'WAITING Shipped?' });
    await track(refunded, { orderId: '1' });
    await becomes({ 1: 'refunded', 2: 'WAITING Shipped?' });
  });
});

describe('a wait with conditions', () => {
  it('is ended by the event that meets them, and shows what it waits for', async () => {
    const begun = await begin([paid('Paid?')], { orderId: 7, total: 3 });
    const { at, track, ended, own, contactId } = begun;
    expect(visitOf(await at('Paid?'), 'Paid?')?.output).toEqual({
      waitingFor: {
        eventName: 'paid',
        where: [{ field: 'event.orderId', operator: 'equals', value: 7 }],
      },
    });
    const explanations = async () => {
      const { body: timeline } = await engine.call(
        'GET',
        `/contacts/${contactId}/timeline?types=execution`,
      );
      const { body: history } = await engine.call('GET', `${own}/history`);
      const { detail } = history.entries.findLast(
        (one: { stepName: string | null }) => one.stepName === 'Paid?',
      );
      return [timeline.data[0].detail.explanation, detail.explanation];
    };
    const waits = 'waits for "paid" where event.orderId equals 7';
    expect(await explanations()).toEqual([waits, waits]);
    await track('paid', { orderId: 8 });
    await track('paid', { orderId: '7' });
    await track('paid');
    await at('Paid?');
    await track('paid', { orderId: 7, by: 'card' });
    const execution = await ended();
    expect(await explanations()).toEqual([
      undefined,
      'got "paid" where event.orderId equals context.orderId',
    ]);
    expect(execution.context).toEqual({ orderId: 7, total: 3, by: 'card' });
    expect(visitOf(execution, 'Paid?')?.output).toMatchObject({
      waitOutcome: 'EVENT',
      eventData: { orderId: 7, by: 'card' },
    });
  });

  it('keeps the values that contact and context had when it began', async () => {
    const sameAsTotal = { field: 'event.paid', operator: 'equals', valueOf: 'event.total' };
    const ofPlan = { field: 'event.plan', operator: 'equals', valueOf: 'contact.data.plan' };
    const where = [ofPlan, sameAsTotal];
    const steps = [paid('Paid?', { where })];
    const { at, track, ended, contactId } = await begin(steps, {}, { data: { plan: 'free' } });
    expect(visitOf(await at('Paid?'), 'Paid?')?.output).toEqual({
      waitingFor: {
        eventName: 'paid',
        where: [{ field: 'event.plan', operator: 'equals', value: 'free' }, sameAsTotal],
      },
    });
    await engine.call('PATCH', `/contacts/${contactId}`, { data: { plan: 'pro' } });
    await track('paid', { plan: 'pro', paid: 1, total: 1 });
    await track('paid', { plan: 'free', paid: 1, total: 2 });
    await at('Paid?');
    await track('paid', { plan: 'free', paid: 1, total: 1 });
    expect((await ended()).status).toBe('COMPLETED');
  });

  it('reads contact and context as they are when the event comes, where they are the field', async () => {
    const where: object[] = [
      { field: 'contact.data.level', operator: 'greaterThan', value: 3 },
      { field: 'context.orderId', operator: 'equals', valueOf: 'event.orderId' },
    ];
    const { at, track, ended } = await begin([paid('Paid?', { where })], { orderId: 7 });
    await at('Paid?');
    await track('paid', { orderId: 7, level: 2 });
    await at('Paid?');
    // The data of the event is stored in the contact first.
    await track('paid', { orderId: 7, level: 4 });
    expect((await ended()).status).toBe('COMPLETED');
  });

  it('is ended by no event if it compares with a value that is missing', async () => {
    const { at, track } = await begin([paid('Paid?')], { other: 1 });
    expect(visitOf(await at('Paid?'), 'Paid?')?.output).toEqual({
      waitingFor: {
        eventName: 'paid',
        where: [{ field: 'event.orderId', operator: 'equals', value: null }],
      },
    });
    await track('paid');
    await track('paid', { orderId: 'null' });
    await track('paid', { orderId: 1 });
    await at('Paid?');
  });
});

describe('a wait for an event of mail', () => {
  const ofTemplate = (templateId: string) => [
    { field: 'event.templateId', operator: 'equals', value: templateId },
  ];

  it('tells mails apart by their template, and clicks by their link', async () => {
    const [wanted, other] = [await createTemplate(engine), await createTemplate(engine)];
    const link = 'https://shop.test/sale';
    const ofLink = [{ field: 'event.link', operator: 'equals', value: link }];
    const sent = paid('Sent?', { eventName: 'email.sent', where: ofTemplate(wanted) });
    const clicked = paid('Clicked?', { eventName: 'email.click', where: ofLink });
    const { at, ended, email } = await begin([sent, clicked], {});
    const send = async (template: string) => {
      const { body } = await engine.call('POST', '/v1/send', { to: email, template });
      await waitFor('the mail', async () => {
        const { body: mail } = await engine.call('GET', `/emails/${body.data.emails[0].email}`);
        return mail.sentAt !== null;
      });
      return body.data.emails[0].email as string;
    };
    await at('Sent?');
    await send(other);
    await at('Sent?');
    const emailId = await send(wanted);
    await at('Clicked?');
    const sign = createSigner(engine.api.services.config.jwtSecret, 'tracking links');
    const { clickUrl } = trackingLinks('', emailId, sign);
    await engine.api.request('GET', clickUrl(linkTo('https://shop.test/other')));
    await at('Clicked?');
    await engine.api.request('GET', clickUrl(linkTo(link)));
    const { output } = visitOf(await ended(), 'Clicked?')!;
    expect(output).toMatchObject({ eventData: { link, emailId } });
  });

  it('finds mail whose events are not stored by its template', async () => {
    const [wanted, other] = [await createTemplate(engine), await createTemplate(engine)];
    const config = { eventName: 'email.sent', where: ofTemplate(wanted), since: 'execution' };
    const { at, own, ended, contactId } = await begin([rest, paid('Sent?', config)], {});
    await at('Rest');
    const owner = { projectId: engine.project.id, contactId };
    for (const template_id of [other, wanted, other]) {
      await insertTestEmail(engine.api.db, owner, { derived_events: 1, template_id });
    }
    await engine.call('PATCH', `${own}/wait`, { until: '2020-01-01T00:00:00Z' });
    const { output } = visitOf(await ended(), 'Sent?')!;
    expect(output).toMatchObject({ waitOutcome: 'EVENT', eventData: { templateId: wanted } });
  });
});

describe('a wait that counts events since the execution began', () => {
  it('is ended at once by an event during the delay before it, and not by that of the other kind', async () => {
    const since = { since: 'execution' };
    const early = await begin([rest, paid('Paid?', since)], { orderId: 7 });
    const late = await begin([rest, paid('Paid?')], { orderId: 7 });
    for (const { at, track } of [early, late]) {
      await at('Rest');
      await track('paid', { orderId: 8, n: 1 });
      await track('paid', { orderId: 7, n: 2 });
      await track('paid', { orderId: 7, n: 3 });
    }
    for (const { own } of [early, late]) {
      const { status } = await engine.call('PATCH', `${own}/wait`, {
        until: '2020-01-01T00:00:00Z',
      });
      expect(status).toBe(200);
    }
    const execution = await early.ended();
    const visit = visitOf(execution, 'Paid?');
    expect(visit).toMatchObject({ status: 'COMPLETED', output: { eventData: { n: 2 } } });
    const history = await engine.call('GET', `${early.own}/history`);
    const states = history.body.entries.map(({ to }: { to: string }) => to);
    // Only the delay was waited for.
    expect(states.filter((to: string) => to === 'WAITING').length).toBe(1);
    await late.at('Paid?');
  });

  it('takes an event that no other wait has taken, and never the one that started it', async () => {
    const eventName = randomUUID();
    const wait = (name: string) => paid(name, { eventName, where: [], since: 'execution' });
    const workflow = await createWorkflow(engine, { eventName, steps: [wait('One'), wait('Two')] });
    const email = newAddress();
    const contactId = await createContact(engine, email);
    const track = (n: number) =>
      engine.call('POST', '/v1/track', { email, event: eventName, data: { n } });
    await track(1);
    const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
    const own = `/workflows/${workflow.id}/executions/${body.executions[0].id}`;
    const at = (name: string) =>
      waitFor(`the execution at ${name}`, async () => {
        const { body: one } = await engine.call('GET', own);
        return one.status === 'WAITING' && one.currentStep?.name === name ? one : null;
      });
    await at('One');
    await track(2);
    await at('Two');
    await track(3);
    const { context } = await waitFor('the end', async () => {
      const { body: one } = await engine.call('GET', own);
      return one.completedAt === null ? null : one;
    });
    expect([context, contactId]).toEqual([{ n: 3 }, expect.any(String)]);
  });

  it('finds its event behind hundreds of others, and none that was deleted', async () => {
    const steps = [rest, paid('Paid?', { since: 'execution' })];
    const { at, own, contactId, track } = await begin(steps, { orderId: 7 });
    await at('Rest');
    const { project_id } = await engine.api.db
      .selectFrom('contact')
      .select('project_id')
      .where('id', '=', contactId)
      .executeTakeFirstOrThrow();
    const events = Array.from({ length: 250 }, (_, n) => ({
      project_id,
      contact_id: contactId,
      name: 'paid',
      data: JSON.stringify({ orderId: n === 0 ? 7 : 8, n }),
    }));
    const [first] = await engine.api.db
      .insertInto('event')
      .values(events)
      .returning('id')
      .execute();
    await engine.api.db.deleteFrom('event').where('id', '=', first!.id).execute();
    await track('paid', { orderId: 7, n: 250 });
    await engine.call('PATCH', `${own}/wait`, { until: '2020-01-01T00:00:00Z' });
    const execution = await waitFor('the end', async () => {
      const { body } = await engine.call('GET', own);
      return body.completedAt === null ? null : body;
    });
    expect(execution.context).toEqual({ orderId: 7, n: 250 });
  });
});

describe('a wait that another version has with other conditions', () => {
  async function waiting() {
    const begun = await begin([paid('Paid?')], { orderId: 7 });
    const { workflow, path, state } = begun;
    await begun.at('Paid?');
    /** Changes the step, and takes the execution to the new version. */
    const change = async (config: object) => {
      await engine.call('PATCH', `${path}/steps/${workflow.steps['Paid?']}`, {
        config: { eventName: 'paid', ...config },
      });
      const jobId = await askForJob(engine, workflow.id, 'migrate', {});
      await endOfExecutionJob(engine, workflow.id, jobId);
      return state();
    };
    return { ...begun, change };
  }

  it('is ended by the event that the new version expects', async () => {
    const { change, track, at, ended } = await waiting();
    await change({ where: [{ field: 'event.orderId', operator: 'equals', value: 8 }] });
    await track('paid', { orderId: 7 });
    await at('Paid?');
    await track('paid', { orderId: 8 });
    expect(visitOf(await ended(), 'Paid?')?.output).toMatchObject({ eventData: { orderId: 8 } });
  });

  it('compares anew, and is ended by an event since the execution began', async () => {
    const { change, track, at, ended } = await waiting();
    await track('paid', { orderId: 9 });
    const other = [{ field: 'event.orderId', operator: 'equals', value: 8 }];
    expect(visitOf(await change({ where: other }), 'Paid?')?.output).toEqual({
      waitingFor: { eventName: 'paid', where: other },
    });
    await track('paid', { orderId: 7 });
    await at('Paid?');
    await change({
      where: [{ field: 'event.orderId', operator: 'equals', value: 9 }],
      since: 'execution',
    });
    expect(visitOf(await ended(), 'Paid?')?.output).toMatchObject({ eventData: { orderId: 9 } });
  });
});
