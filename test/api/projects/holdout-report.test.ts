import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();
const { db } = shop.api;
const minuteMs = 60_000;
const ago = (minutes: number) => new Date(Date.now() - minutes * minuteMs);

/** A new project, with what contacts of it got and did. */
async function useProject() {
  const { id: projectId, secretKey } = await shop.api.createProject(shop.cookie);
  const contact = async () => {
    const values = {
      project_id: projectId,
      email: `${randomUUID()}@people.test`,
      subscribed: true,
    };
    return (await db.insertInto('contact').values(values).returning('id').executeTakeFirstOrThrow())
      .id;
  };
  const mail = (contactId: string, at: Date, fields: object = {}) =>
    insertTestEmail(
      db,
      { projectId, contactId, campaignId: randomUUID() },
      { created_at: at, sent_at: at, ...fields },
    );
  const heldOut = { status: 'FAILED', error: 'held_out', sent_at: null, message_id: null };
  return {
    secretKey,
    projectId,
    contact,
    sent: mail,
    heldOut: (contactId: string, at: Date, fields: object = {}) =>
      mail(contactId, at, { ...heldOut, updated_at: at, ...fields }),
    event: (contactId: string, at: Date, data: object | null = null, name = 'order') =>
      db
        .insertInto('event')
        .values({
          project_id: projectId,
          contact_id: contactId,
          name,
          data: data && JSON.stringify(data),
          created_at: at,
        })
        .execute(),
    report: async (query: string) =>
      (await shop.call('GET', `/holdout/report?${query}`, undefined, secretKey)).body,
  };
}
const empty = { contacts: 0, converted: 0, rate: 0, events: 0, value: 0 };

describe('the report of a hold-out', () => {
  it('counts what both groups did after the first mail of each contact', async () => {
    const project = await useProject();
    const [held, both, buyer, silent] = [
      await project.contact(),
      await project.contact(),
      await project.contact(),
      await project.contact(),
    ];
    await project.heldOut(held, ago(60));
    await project.heldOut(held, ago(10));
    await project.event(held, ago(70), { total: 1_000 });
    await project.event(held, ago(50), { total: 12.5 });
    await project.event(held, ago(5), { total: '-0.25' });
    // Held out once, so it is no contact that was reached.
    await project.sent(both, ago(90));
    await project.heldOut(both, ago(60));
    await project.event(both, ago(80), { total: 1_000 });
    await project.sent(buyer, ago(60));
    await project.event(buyer, ago(59), { total: 'much', order: { total: 7 } });
    await project.event(buyer, ago(58), null, 'other');
    await project.sent(silent, ago(60));
    await shop.call('PUT', '/holdout', { percent: 20 }, project.secretKey);
    const body = await project.report('event=order&valueField=total');
    expect(body).toEqual({
      event: 'order',
      startDate: expect.any(String),
      endDate: expect.any(String),
      percent: 20,
      heldOut: { contacts: 2, converted: 1, rate: 50, events: 2, value: 12.25 },
      reached: { contacts: 2, converted: 1, rate: 50, events: 1, value: 0 },
      liftPercent: 0,
    });
    expect(Date.parse(body.endDate) - Date.parse(body.startDate)).toBe(30 * 86_400_000);
    const nested = await project.report('event=order&valueField=order.total');
    expect(nested.reached.value).toBe(7);
    expect(await project.report('event=other')).toMatchObject({
      heldOut: { ...empty, contacts: 2 },
      liftPercent: null,
    });
  });

  it('counts only the mail that the hold-out concerns, of the period', async () => {
    const project = await useProject();
    const counted = async () => {
      const query = `event=order&startDate=${ago(60).toISOString()}&endDate=${ago(30).toISOString()}`;
      const { heldOut, reached } = await project.report(query);
      return [heldOut.contacts, reached.contacts, heldOut.events, reached.events];
    };
    const reached = await project.contact();
    await project.sent(reached, ago(40));
    for (const minutes of [70, 35, 20]) await project.event(reached, ago(minutes));
    const topicId = randomUUID();
    const ofTopic = await project.contact();
    await project.heldOut(ofTopic, ago(40), { topic_id: topicId });
    // Out of the period, of another class or source, to another address, or not sent at all.
    for (const [at, fields] of [
      [ago(61), {}],
      [ago(29), {}],
      [ago(40), { sent_at: ago(20) }],
      [ago(40), { message_class: 'TRANSACTIONAL' }],
      [ago(40), { source_type: 'TRANSACTIONAL' }],
      [ago(40), { source_type: 'WORKFLOW', to_email: 'team@shop.test' }],
      [ago(40), { status: 'FAILED', error: 'frequency_cap', sent_at: null }],
    ] as const) {
      await project.sent(await project.contact(), at, fields);
    }
    expect(await counted()).toEqual([1, 1, 0, 1]);
    // The scope may name a topic that is deleted.
    await shop.call('PUT', '/holdout', { percent: 20 }, project.secretKey);
    await db
      .updateTable('holdout')
      .set({ topic_ids: [topicId] })
      .where('project_id', '=', project.projectId)
      .execute();
    expect(await counted()).toEqual([1, 0, 0, 0]);
  });

  it('counts events that are derived from mail', async () => {
    const project = await useProject();
    const contact = await project.contact();
    await project.sent(contact, ago(60));
    await project.sent(contact, ago(50), { derived_events: 1 });
    const { reached } = await project.report('event=email.sent');
    expect(reached).toMatchObject({ contacts: 1, converted: 1, events: 1 });
  });

  it('has sums that JSON can write', async () => {
    const project = await useProject();
    const contact = await project.contact();
    await project.sent(contact, ago(60));
    for (const at of [ago(3), ago(2)]) await project.event(contact, at, { total: 1.7e308 });
    const { reached } = await project.report('event=order&valueField=total');
    expect(reached.value).toBe(Number.MAX_VALUE);
  });

  it('shows nothing of other projects', async () => {
    const [project, other] = [await useProject(), await useProject()];
    const contact = await project.contact();
    await project.sent(contact, ago(60));
    await project.event(contact, ago(50));
    const body = await other.report('event=order');
    expect([body.heldOut, body.reached, body.percent]).toEqual([empty, empty, 0]);
  });

  it.each([
    ['', ['event invalid_type']],
    ['event=', ['event too_small']],
    ['event=order&valueField=a..b', ['valueField invalid_string']],
    [`event=order&valueField=${'x'.repeat(201)}`, ['valueField too_big']],
    ['event=order&startDate=2026-02-02&endDate=2026-02-01', ['startDate custom']],
    ['event=order&startDate=soon', ['startDate invalid_date']],
  ])('refuses the query %j', async (query, faults) => {
    const { status, body } = await shop.call('GET', `/holdout/report?${query}`);
    expect([status, errorFields(body)]).toEqual([422, faults]);
  });
});
