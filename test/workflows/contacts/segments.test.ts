import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow, executionIn } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { dropContacts } from '../../support/mail-tables.ts';

const engine = await useEngine();

/** Creates a segment of the contacts on its own plan. */
async function createSegment(name: string, more: object = {}) {
  const plan = randomUUID();
  const filters = {
    operator: 'AND',
    conditions: [{ field: 'data.plan', operator: 'equals', value: plan }],
  };
  const { body } = await engine.call('POST', '/segments', { name, filters, ...more });
  return { id: body.id as string, plan };
}

const memberCountOf = async (id: string) =>
  (await engine.call('GET', `/segments/${id}`)).body.memberCount;

async function countEvents(name: string): Promise<number> {
  const { body } = await engine.call('GET', `/events?eventName=${name}`);
  return body.events.length;
}

/** Makes the last computation of a segment so old. */
async function age(id: string, minutes: number): Promise<void> {
  await engine.api.db
    .updateTable('segment')
    .set({ computed_at: sql<Date>`now() - ${minutes} * interval '1 minute'` })
    .where('id', '=', id)
    .execute();
}

async function onlyExecution(workflowId: string) {
  const { body } = await engine.call('GET', `/workflows/${workflowId}/executions`);
  expect(body.executions).toHaveLength(1);
  return executionIn(engine, workflowId, body.executions[0].id, 'COMPLETED');
}

const leavesAtOnce = (eventName: string) =>
  createWorkflow(engine, {
    eventName,
    steps: [{ type: 'UPDATE_CONTACT', name: 'Greet', config: { updates: { greeted: true } } }],
  });

describe('a contact that enters a tracked segment', () => {
  it('starts the workflows of its entry event', async () => {
    const workflow = await leavesAtOnce('segment.vip-customers.entry');
    const segment = await createSegment('VIP Customers!', { trackMembership: true });
    const contactId = await createContact(engine, newAddress(), { data: { plan: segment.plan } });
    const { body } = await engine.call('POST', `/segments/${segment.id}/compute`);
    expect(body).toEqual({ added: 1, removed: 0, total: 1 });
    const execution = await onlyExecution(workflow.id);
    expect(execution).toMatchObject({
      contactId,
      context: { segmentId: segment.id, segmentName: 'VIP Customers!' },
      causedBy: { type: 'system', id: null, name: 'segment' },
    });
    const contact = await engine.call('GET', `/contacts/${contactId}`);
    expect(contact.body.data).toEqual({ plan: segment.plan, greeted: true });
  });

  it('is found by the sweep after five minutes', async () => {
    const workflow = await leavesAtOnce('segment.swept.entry');
    const segment = await createSegment('Swept', { trackMembership: true });
    await createContact(engine, newAddress(), { data: { plan: segment.plan } });
    await age(segment.id, 4);
    await sweepNow(engine);
    expect(await countEvents('segment.swept.entry')).toBe(0);
    await age(segment.id, 6);
    await sweepNow(engine);
    await onlyExecution(workflow.id);
    await sweepNow(engine);
    expect(await countEvents('segment.swept.entry')).toBe(1);
    expect(await memberCountOf(segment.id)).toBe(1);
  });
});

describe('the sweep', () => {
  it('counts segments that are not tracked, without events', async () => {
    const dynamic = await createSegment('Counted');
    const picked = await engine.call('POST', '/segments', { name: 'Picked', type: 'STATIC' });
    const members = { emails: [newAddress(), newAddress()], createMissing: true };
    await engine.call('POST', `/segments/${picked.body.id}/members`, members);
    await createContact(engine, newAddress(), { data: { plan: dynamic.plan } });
    await dropContacts(engine.api.db, sql<boolean>`email = ${members.emails[0]!}`);
    expect(await memberCountOf(picked.body.id)).toBe(2);
    await age(dynamic.id, 6);
    await age(picked.body.id, 6);
    await sweepNow(engine);
    expect(await memberCountOf(dynamic.id)).toBe(1);
    expect(await memberCountOf(picked.body.id)).toBe(1);
    expect(await countEvents('segment.counted.entry')).toBe(0);
  });

  it('leaves the segments of a disabled project alone', async () => {
    const segment = await createSegment('Disabled', { trackMembership: true });
    await createContact(engine, newAddress(), { data: { plan: segment.plan } });
    await age(segment.id, 6);
    const disable = (reason: string | null) =>
      engine.api.db
        .updateTable('project')
        .set({ disabled_reason: reason })
        .where('id', '=', engine.project.id)
        .execute();
    await disable('MANUAL');
    await sweepNow(engine);
    expect(await countEvents('segment.disabled.entry')).toBe(0);
    await disable(null);
    await sweepNow(engine);
    expect(await countEvents('segment.disabled.entry')).toBe(1);
  });
});
