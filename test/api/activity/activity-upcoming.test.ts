import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { useActivityShop } from '../../support/projects/activity-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

const activity = await useActivityShop();
const { shop, contact, insertCampaign, insertExecution } = activity;
afterEach(() => activity.clear());

const get = (path: string) => activity.get(path);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const item = { id: expect.any(String), timestamp: expect.any(String) };
const aboutContact = () => ({ contactId: contact.id, contactEmail: contact.email });

describe('GET /activity/upcoming', () => {
  it('shows a scheduled campaign, there and not in the feed, until it is cancelled', async () => {
    const at = inDays(1);
    const id = await insertCampaign({ status: 'SCHEDULED', scheduled_for: at });
    const expected = {
      id: `campaign_${id}_scheduled`,
      type: 'campaign.scheduled',
      timestamp: at.toISOString(),
      metadata: {
        campaignName: 'Spring sale',
        subject: '20% off',
        totalRecipients: 4,
        segmentName: null,
        audienceType: 'ALL',
      },
    };
    expect(await get('/activity/upcoming')).toEqual({ activities: [expected] });
    expect((await get('/activity')).data).toEqual([]);
    await shop.api.db.updateTable('campaign').set({ status: 'CANCELLED' }).execute();
    expect(await get('/activity/upcoming')).toEqual({ activities: [] });
  });

  it('shows the next step of an execution: a mail, another step, or the end of a wait', async () => {
    const templateId = await shop.createTemplate({ subject: 'Welcome, {{name}}' });
    const steps = [
      { id: randomUUID(), type: 'SEND_EMAIL', name: 'Send', config: {}, templateId },
      { id: randomUUID(), type: 'WEBHOOK', name: 'Call', config: {}, templateId: null },
      { id: randomUUID(), type: 'WAIT_FOR_EVENT', name: 'Wait', config: {}, templateId: null },
    ];
    const [mail, call, wait] = [
      await insertStep(steps, 0, { status: 'SCHEDULED', scheduled_for: inDays(3) }),
      await insertStep(steps, 1, { status: 'SCHEDULED', scheduled_for: inDays(2) }),
      await insertStep(steps, 2, { status: 'WAITING', execute_after: inDays(1) }),
    ];
    await insertStep(steps, 1, { status: 'SKIPPED', scheduled_for: inDays(1) });
    await insertStep(steps, 2, { status: 'WAITING' });
    const workflowName = 'Welcome';
    const activities = [
      {
        ...item,
        ...aboutContact(),
        id: `workflow_step_${wait}_waiting`,
        type: 'workflow.waiting',
        metadata: {
          workflowName,
          stepName: 'Wait',
        },
      },
      {
        ...item,
        ...aboutContact(),
        id: `workflow_step_${call}_waiting`,
        type: 'workflow.waiting',
        metadata: {
          workflowName,
          stepName: 'Call',
        },
      },
      {
        ...item,
        ...aboutContact(),
        id: `workflow_step_${mail}_scheduled`,
        type: 'workflow.email.scheduled',
        metadata: {
          workflowName,
          subject: 'Welcome, {{name}}',
          stepName: 'Send',
        },
      },
    ];
    expect(await get('/activity/upcoming')).toEqual({ activities });
    expect(await get('/activity/upcoming?limit=2')).toEqual({ activities: activities.slice(0, 2) });
    expect(await get('/activity/upcoming?daysAhead=1')).toEqual({
      activities: activities.slice(0, 1),
    });
    const { status } = await shop.call('GET', `/activity/upcoming?daysAhead=90`);
    expect(status).toBe(200);
  });

  it.each([
    ['daysAhead=91', 'daysAhead too_big'],
    ['daysAhead=0', 'daysAhead too_small'],
    ['limit=101', 'limit too_big'],
  ])('refuses ?%s', async (query, fault) => {
    const answer = await shop.call('GET', `/activity/upcoming?${query}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });
});

/** Inserts an execution at a step, with a row for its wait. Returns the step execution. */
async function insertStep(
  steps: { id: string; type: string }[],
  index: number,
  given: { status: string; scheduled_for?: Date; execute_after?: Date },
): Promise<string> {
  const { db } = shop.api;
  const project = { project_id: shop.project.id };
  const executionId = await insertExecution({ status: 'WAITING' }, steps);
  const { id } = await db
    .insertInto('step_execution')
    .values({ ...project, execution_id: executionId, step_id: steps[index]!.id, ...given })
    .returning('id')
    .executeTakeFirstOrThrow();
  if (given.status !== 'WAITING') return id;
  const wait = { step_execution_id: id, execution_id: executionId, contact_id: contact.id };
  await db
    .insertInto('wait')
    .values({ ...project, ...wait, event_name: 'e', expires_at: given.execute_after ?? null })
    .execute();
  return id;
}
