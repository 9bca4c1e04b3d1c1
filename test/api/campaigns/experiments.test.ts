import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { holdBackAt } from '../../support/held-insert.ts';
import { useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

/** Experiments in requests and responses, before their campaigns begin. */

const { shop, create, made, inState } = await useCampaignShop();

const settings = {
  arms: [{ id: 'a' }, { id: 'b', name: 'Short', subject: 'Today', body: '<p>Today</p>' }],
  testPercent: 20,
  decideAfterSeconds: 3_600,
  metric: 'human_click',
};

const change = (id: string, body: object) => shop.call('PUT', `/campaigns/${id}`, body);

describe('the experiment of a campaign', () => {
  it('is in the record with its defaults, and stays in a copy', async () => {
    const campaign = await made({ experiment: settings });
    const whole = { ...settings, minPerArm: 100, minProbability: null, onTie: 'first' };
    expect(campaign.experiment).toEqual(whole);
    const copy = await shop.call('POST', `/campaigns/${campaign.id}/duplicate`);
    expect(copy.body.data.experiment).toEqual(whole);
    const same = await change(campaign.id, campaign);
    expect(same.body.data.experiment).toEqual(whole);
  });

  it('can be changed and removed while the campaign is a draft or scheduled', async () => {
    const { id } = await made();
    const added = await change(id, { experiment: settings });
    expect(added.body.data.experiment.testPercent).toBe(20);
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    await shop.call('POST', `/campaigns/${id}/send`, { scheduledFor });
    const changed = await change(id, { experiment: { ...settings, testPercent: 30 } });
    expect(changed.body.data.experiment.testPercent).toBe(30);
    const removed = await change(id, { experiment: null });
    expect(removed.body.data).not.toHaveProperty('experiment');
    const paused = await inState('PAUSED');
    expect(refusal(await change(paused.id, { experiment: settings }))).toEqual([
      400,
      'CAMPAIGN_NOT_EDITABLE',
    ]);
  });

  it('copies what an arm leaves out from its template', async () => {
    const templateId = await shop.createTemplate({ subject: 'Of the template', body: 'T' });
    const arms = [{ id: 'a' }, { id: 'b', templateId, body: 'Own' }];
    const campaign = await made({ experiment: { ...settings, arms } });
    expect(campaign.experiment.arms[1]).toMatchObject({
      templateId,
      subject: 'Of the template',
      body: 'Own',
    });
    const unknown = [{ id: 'a' }, { id: 'b', templateId: randomUUID() }];
    const refused = await create({ experiment: { ...settings, arms: unknown } });
    expect(refusal(refused)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
  });

  it('keeps the templates of its arms from being deleted until its campaign has ended', async () => {
    const templateId = await shop.createTemplate({});
    const arms = [{ id: 'a' }, { id: 'b', templateId }];
    const { id, name, status } = await made({ experiment: { ...settings, arms } });
    const usage = await shop.call('GET', `/templates/${templateId}/usage`);
    expect(usage.body.campaigns).toEqual([{ id, name, status }]);
    const refused = await shop.call('DELETE', `/templates/${templateId}`);
    expect(refusal(refused)).toEqual([409, 'TEMPLATE_IN_USE']);
    expect(refused.body.error.details).toMatchObject({ campaigns: [{ id }], workflowSteps: [] });
    await shop.call('DELETE', `/campaigns/${id}`);
    expect((await shop.call('DELETE', `/templates/${templateId}`)).status).toBe(204);
  });

  it('is refused with all its problems, each with its field', async () => {
    const arms = [
      { id: 'a', subject: 'Hello {{name' },
      { id: 'A!', replyTo: 'nobody' },
      { id: 'a', body: '{% if %}' },
    ];
    const refused = await create({
      experiment: { ...settings, arms, testPercent: 0, decideAfterSeconds: 1_209_601 },
    });
    expect(refusal(refused).slice(0, 2)).toEqual([422, 'VALIDATION_ERROR']);
    expect(refusal(refused).slice(2).sort()).toEqual([
      'experiment.arms.0.subject invalid_template',
      'experiment.arms.1.id invalid_string',
      'experiment.arms.1.replyTo invalid_string',
      'experiment.arms.2.body invalid_template',
      'experiment.decideAfterSeconds too_big',
      'experiment.testPercent too_small',
    ]);
  });

  it.each([
    [{ arms: [{ id: 'a' }] }, 'experiment.arms too_small'],
    [{ arms: [{ id: 'a' }, { id: 'b' }, { id: 'a' }] }, 'experiment.arms.2.id custom'],
    [{ metric: 'event' }, 'experiment.eventName required'],
    [{ eventName: 'ordered' }, 'experiment.eventName not_allowed'],
    [{ metric: 'opens' }, 'experiment.metric invalid_enum_value'],
    [{ minProbability: 49 }, 'experiment.minProbability too_small'],
    [{ onTie: 'last' }, 'experiment.onTie invalid_enum_value'],
  ])('is refused with %o', async (given, problem) => {
    const refused = await create({ experiment: { ...settings, ...given } });
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', problem]);
  });

  it('sends no arm from a domain of others', async () => {
    const arms = [{ id: 'a' }, { id: 'b', from: 'news@unknown.test' }];
    const refused = await create({ experiment: { ...settings, arms } });
    expect(refusal(refused)).toEqual([403, 'DOMAIN_NOT_REGISTERED']);
  });

  it('is refused at a local time, in both orders', async () => {
    const localTime = new Date(Date.now() + 86_400_000).toISOString().slice(0, 19);
    const tested = await made({ experiment: settings });
    const sent = await shop.call('POST', `/campaigns/${tested.id}/send`, { localTime });
    expect(refusal(sent)).toEqual([422, 'VALIDATION_ERROR', 'localTime custom']);
    const { id } = await made();
    await shop.call('POST', `/campaigns/${id}/send`, { localTime });
    const added = await change(id, { experiment: settings });
    expect(refusal(added)).toEqual([422, 'VALIDATION_ERROR', 'experiment custom']);
  });
});

describe('GET /campaigns/{id}/experiment', () => {
  it('shows a draft without numbers', async () => {
    const { id } = await made({ experiment: settings });
    const { body } = await shop.call('GET', `/campaigns/${id}/experiment`);
    expect(body.data).toMatchObject({
      state: 'DRAFT',
      decideAt: null,
      testRecipients: 0,
      restRecipients: 0,
      arms: [
        { id: 'a', name: null, sent: 0, rate: 0 },
        { id: 'b', name: 'Short', sent: 0, rate: 0 },
      ],
      decision: null,
    });
  });

  it('returns 404 without an experiment, and for a campaign of others', async () => {
    const { id } = await made();
    const none = await shop.call('GET', `/campaigns/${id}/experiment`);
    expect(refusal(none)).toEqual([404, 'EXPERIMENT_NOT_FOUND']);
    const tested = await made({ experiment: settings });
    for (const [method, path] of [
      ['GET', 'experiment'],
      ['POST', 'experiment/decide'],
    ] as const) {
      const foreign = await shop.api.request(method, `/campaigns/${tested.id}/${path}`, {
        key: shop.other.secretKey,
        ...(method === 'POST' && { body: { arm: 'a' } }),
      });
      expect(refusal(foreign)).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
      const open = await shop.api.request(method, `/campaigns/${tested.id}/${path}`, {
        key: shop.project.publicKey,
        ...(method === 'POST' && { body: { arm: 'a' } }),
      });
      expect(open.status).toBe(401);
    }
  });
});

it('refuses a decision before the start, and for an unknown arm', async () => {
  const { id } = await made({ experiment: settings });
  const path = `/campaigns/${id}/experiment/decide`;
  const early = await shop.call('POST', path, { arm: 'a' });
  expect(refusal(early)).toEqual([400, 'EXPERIMENT_NOT_RUNNING']);
  expect(early.body.error.details).toEqual({ state: 'DRAFT' });
  const unknown = await shop.call('POST', path, { arm: 'c' });
  expect(refusal(unknown)).toEqual([422, 'VALIDATION_ERROR', 'arm invalid_enum_value']);
});

it('refuses a decision until the whole audience is fixed, also while that commits', async () => {
  const contacts = 6_000;
  const { db } = shop.api;
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${shop.project.id}, ${randomUUID()}::text || n || '@people.test', true,
          '{"plan": "large"}' from generate_series(1, ${contacts}::int) n`.execute(db);
  const condition = { field: 'data.plan', operator: 'equals', value: 'large' };
  const audienceFilter = { operator: 'AND', conditions: [condition] };
  const { id } = await made({ audienceType: 'FILTERED', audienceFilter, experiment: settings });
  await shop.call('POST', `/campaigns/${id}/send`);
  const decide = () => shop.call('POST', `/campaigns/${id}/experiment/decide`, { arm: 'b' });
  const expectRefused = async () => {
    const early = await decide();
    expect(refusal(early)).toEqual([400, 'EXPERIMENT_NOT_RUNNING']);
    expect(early.body.error.details).toEqual({ state: 'TESTING' });
    expect(early.body.error.suggestion).toBe('Try again in a few seconds.');
  };
  await expectRefused();
  const page = () => freezeCampaign(db, { projectId: shop.project.id, campaignId: id });
  expect(await page()).toEqual({ isMore: true });
  await expectRefused();
  const held = await holdBackAt(
    db,
    sql`update on campaign for each row when (new.audience_fixed and not old.audience_fixed)`,
  );
  const last = page();
  await held.isReached();
  await expectRefused();
  await held.release();
  expect(await last).toEqual({ isMore: false });
  const { status, body } = await decide();
  const { testRecipients, restRecipients, decision } = body.data;
  expect([status, decision.arm, testRecipients + restRecipients]).toEqual([200, 'b', contacts]);
  // Four standard deviations of the share of 20 percent.
  expect(Math.abs(testRecipients - 1_200)).toBeLessThan(4 * Math.sqrt(960));
});

it('uses its event, so that the event is not deleted', async () => {
  const eventName = `ordered-${randomUUID()}`;
  await shop.call('POST', '/v1/track', { email: `${randomUUID()}@people.test`, event: eventName });
  const { id } = await made({ experiment: { ...settings, metric: 'event', eventName } });
  const { body } = await shop.call('GET', `/events/${eventName}/usage`);
  expect(body.usedInCampaigns).toMatchObject([{ id }]);
});

it('sends a test of an arm', async () => {
  const { id } = await made({ experiment: settings });
  const email = `${randomUUID()}@people.test`;
  const sent = await shop.call('POST', `/campaigns/${id}/test`, { email, arm: 'b' });
  expect(sent.status).toBe(200);
  const mail = await shop.api.db
    .selectFrom('system_mail')
    .select(['subject', 'html'])
    .where('to_email', '=', email)
    .executeTakeFirst();
  expect(mail).toEqual({ subject: '[TEST] Today', html: '<p>Today</p>' });
  const unknown = await shop.call('POST', `/campaigns/${id}/test`, { email, arm: 'c' });
  expect(refusal(unknown)).toEqual([422, 'VALIDATION_ERROR', 'arm invalid_enum_value']);
});
