import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../db/database.ts';
import { useApi } from '../../support/api.ts';
import { overtaken } from '../../support/overtaken.ts';
import { pro, useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

const { shop, draft, made, inState } = await useCampaignShop();

describe('removing campaigns', () => {
  it.each(['SCHEDULED', 'SENDING', 'PAUSED'])(
    'refuses a %s one with 409 CAMPAIGN_ACTIVE',
    async (state) => {
      const { id } = await inState(state);
      expect(refusal(await shop.call('DELETE', `/campaigns/${id}`))).toEqual([
        409,
        'CAMPAIGN_ACTIVE',
      ]);
      const other = await made();
      const many = await shop.call('POST', '/campaigns/bulk-update', {
        ids: [other.id, id],
        delete: true,
      });
      expect(refusal(many)).toEqual([409, 'CAMPAIGN_ACTIVE']);
      expect((await shop.call('GET', `/campaigns/${other.id}`)).status).toBe(200);
      await shop.api.db.deleteFrom('campaign').where('id', '=', id).execute();
    },
  );

  it.each(['DRAFT', 'SENT', 'CANCELLED'])('deletes a %s one', async (state) => {
    const { id } = await inState(state);
    const { status, body } = await shop.call('DELETE', `/campaigns/${id}`);
    expect([status, body.success, typeof body.message]).toEqual([200, true, 'string']);
    expect(refusal(await shop.call('GET', `/campaigns/${id}`))).toEqual([
      404,
      'CAMPAIGN_NOT_FOUND',
    ]);
  });

  it('deletes many or none, and nothing without delete', async () => {
    const ids = [(await made()).id, (await made()).id];
    const bulk = (body: object) => shop.call('POST', '/campaigns/bulk-update', body);
    expect((await bulk({ ids })).body).toEqual({ updated: 0 });
    expect(refusal(await bulk({ ids: [...ids, shop.project.id], delete: true }))).toEqual([
      404,
      'CAMPAIGN_NOT_FOUND',
    ]);
    expect((await bulk({ ids, delete: true })).body).toEqual({ deleted: 2 });
    expect((await shop.call('GET', `/campaigns/${ids[0]}`)).status).toBe(404);
  });
});

describe('POST /campaigns/{id}/duplicate', () => {
  it('copies a sent campaign into a draft', async () => {
    const { id } = await inState('SENT', {
      audienceType: 'FILTERED',
      audienceFilter: pro,
      maxPerMinute: 30,
    });
    await shop.api.db
      .updateTable('campaign')
      .set({ sent_count: 2, archived: true, scheduled_for: new Date() })
      .where('id', '=', id)
      .execute();
    const { status, body } = await shop.call('POST', `/campaigns/${id}/duplicate`);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      success: true,
      message: expect.any(String),
      data: {
        name: 'Spring sale (Copy)',
        status: 'DRAFT',
        sentCount: 0,
        sentAt: null,
        scheduledFor: null,
        archived: false,
        totalRecipients: 2,
        audienceFilter: pro,
        maxPerMinute: 30,
      },
    });
    expect(body.data.id).not.toBe(id);
    expect(refusal(await shop.call('POST', `/campaigns/${shop.project.id}/duplicate`))).toEqual([
      404,
      'CAMPAIGN_NOT_FOUND',
    ]);
  });
});

describe('a campaign whose text was stored with broken syntax', () => {
  it('is not sent: 422 invalid_template with the line', async () => {
    const { id } = await made();
    const store = (texts: object) =>
      shop.api.db.updateTable('campaign').set(texts).where('id', '=', id).execute();
    await store({ body: '<p>\n {% if' });
    const refused = await shop.call('POST', `/campaigns/${id}/send`);
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'body invalid_template']);
    expect(refused.body.error.errors[0].message).toContain('(line 2, column 2)');
    await store({ body: 'x', subject: '{% nope %}' });
    expect(refusal(await shop.call('POST', `/campaigns/${id}/send`))).toEqual([
      422,
      'VALIDATION_ERROR',
      'subject invalid_template',
    ]);
    expect((await shop.call('GET', `/campaigns/${id}`)).body.data.status).toBe('DRAFT');
    await store({ subject: '{{ name | shout }}' });
    expect((await shop.call('POST', `/campaigns/${id}/send`)).status).toBe(200);
  });
});

describe('actions', () => {
  const act = (id: string, action: string, body?: object) =>
    shop.call('POST', `/campaigns/${id}/${action}`, body);

  it.each([
    ['SENT', 'send', 'CAMPAIGN_NOT_SENDABLE'],
    ['PAUSED', 'send', 'CAMPAIGN_NOT_SENDABLE'],
    ['SENDING', 'send', 'CAMPAIGN_NOT_SENDABLE'],
    ['DRAFT', 'cancel', 'CAMPAIGN_NOT_CANCELLABLE'],
    ['SENT', 'cancel', 'CAMPAIGN_NOT_CANCELLABLE'],
    ['DRAFT', 'pause', 'CAMPAIGN_NOT_PAUSABLE'],
    ['PAUSED', 'pause', 'CAMPAIGN_NOT_PAUSABLE'],
    ['SENDING', 'resume', 'CAMPAIGN_NOT_RESUMABLE'],
    ['PAUSED', 'archive', 'CAMPAIGN_NOT_ARCHIVABLE'],
    ['SCHEDULED', 'archive', 'CAMPAIGN_NOT_ARCHIVABLE'],
    ['SENDING', 'unarchive', 'CAMPAIGN_NOT_ARCHIVABLE'],
  ])('a %s campaign refuses %s with 400 %s', async (state, action, code) => {
    const { id } = await inState(state);
    const refused = await act(id, action);
    expect(refusal(refused)).toEqual([400, code]);
    expect(refused.body.error.details).toEqual({ status: state });
    await shop.api.db.deleteFrom('campaign').where('id', '=', id).execute();
  });

  it('say that a paused campaign can be archived once it is resumed and SENT, or cancelled', async () => {
    const { id } = await inState('PAUSED');
    const { suggestion } = (await act(id, 'archive')).body.error;
    expect(suggestion).toMatch(/resume it first if it is PAUSED.*cancel/);
    await shop.api.db.deleteFrom('campaign').where('id', '=', id).execute();
  });

  it('are unknown for an unknown campaign', async () => {
    for (const action of ['send', 'cancel', 'pause', 'resume', 'archive', 'unarchive']) {
      expect(refusal(await act(shop.project.id, action))).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
    }
  });

  it('schedule for a time to come, given as text or number under both names', async () => {
    const { id } = await made();
    const at = new Date(Date.now() + 3_600_000);
    for (const body of [
      { scheduledFor: at.toISOString() },
      { scheduledAt: at.getTime() },
      { scheduledFor: at.toISOString(), scheduledAt: at.getTime() },
    ]) {
      const { status, body: answer } = await act(id, 'send', body);
      expect([status, answer.message]).toEqual([200, 'The campaign is scheduled.']);
      expect(answer.data).toMatchObject({
        status: 'SCHEDULED',
        scheduledFor: at.toISOString(),
        scheduledAt: at.toISOString(),
      });
    }
    expect(shop.api.dispatched.at(-1)).toBe(`campaign-${id}`);
    expect(refusal(await act(id, 'send', { scheduledFor: Date.now() - 86_400_000 }))).toEqual([
      400,
      'SCHEDULE_IN_PAST',
    ]);
    for (const scheduledFor of ['soon', '2026-02-30', 1e300, 0.5, true]) {
      expect(refusal(await act(id, 'send', { scheduledFor }))).toEqual([
        422,
        'VALIDATION_ERROR',
        'scheduledFor invalid_date',
      ]);
    }
    const twice = { scheduledFor: at.toISOString(), scheduledAt: at.getTime() + 1 };
    expect(refusal(await act(id, 'send', twice))).toEqual([
      422,
      'VALIDATION_ERROR',
      'scheduledAt custom',
    ]);
    expect((await act(id, 'cancel')).body.data).toMatchObject({ status: 'CANCELLED' });
  });

  it('refuse to send without recipients, and from a domain that is no longer verified', async () => {
    const nobody = {
      operator: 'AND',
      conditions: [{ field: 'data.plan', operator: 'equals', value: 'none' }],
    };
    const empty = await made({ audienceType: 'FILTERED', audienceFilter: nobody });
    expect(refusal(await act(empty.id, 'send'))).toEqual([400, 'CAMPAIGN_NO_RECIPIENTS']);
    const later = { scheduledFor: Date.now() + 60_000 };
    expect(refusal(await act(empty.id, 'send', later))).toEqual([400, 'CAMPAIGN_NO_RECIPIENTS']);
    const { id } = await made();
    const set = (status: string) =>
      shop.api.db.updateTable('domain').set({ status }).where('name', '=', shop.domain).execute();
    await set('failed');
    expect(refusal(await act(id, 'send'))).toEqual([403, 'DOMAIN_NOT_VERIFIED']);
    await set('verified');
  });

  it('of two sends at once let one win', async () => {
    const { id } = await made();
    const answers = await Promise.all([act(id, 'send'), act(id, 'send'), act(id, 'send')]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    expect(answers.flatMap(({ body }) => body.error?.code ?? [])).toEqual([
      'CAMPAIGN_NOT_SENDABLE',
      'CAMPAIGN_NOT_SENDABLE',
    ]);
    expect((await act(id, 'pause')).body.data).toMatchObject({
      status: 'PAUSED',
      pausedReason: 'requested',
    });
    expect((await act(id, 'resume')).body.data).toMatchObject({
      status: 'SENDING',
      pausedReason: null,
    });
    expect((await act(id, 'cancel')).body.data).toMatchObject({
      status: 'CANCELLED',
      pausedReason: null,
    });
  });

  it('repeated with one key are replayed', async () => {
    const { id } = await inState('SENDING');
    const headers = { 'Idempotency-Key': `cancel ${id}` };
    const first = await shop.call('POST', `/campaigns/${id}/cancel`, undefined, headers);
    const second = await shop.call('POST', `/campaigns/${id}/cancel`, undefined, headers);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });
});

describe('GET /campaigns/{id}/stats', () => {
  it('counts and gives percent of what was sent', async () => {
    const { id } = await inState('SENT');
    const stats = async () => (await shop.call('GET', `/campaigns/${id}/stats`)).body;
    expect((await stats()).data).toMatchObject({ sentCount: 0, openRate: 0, uncertainCount: 0 });
    await shop.api.db
      .updateTable('campaign')
      .set({
        total_recipients: 4,
        frozen_count: 4,
        sent_count: 4,
        delivered_count: 3,
        opened_count: 2,
        clicked_count: 1,
        bounced_count: 1,
      })
      .where('id', '=', id)
      .execute();
    expect(await stats()).toEqual({
      success: true,
      data: {
        totalRecipients: 4,
        sentCount: 4,
        deliveredCount: 3,
        openedCount: 2,
        clickedCount: 1,
        bouncedCount: 1,
        complainedCount: 0,
        unsubscribedCount: 0,
        renderedPlainlyCount: 0,
        heldCount: 0,
        progress: null,
        uncertainCount: 0,
        outcomes: { sent: 4, failed: 0, withheld: 0, held: 0, pending: 0, unknown: 0 },
        reasons: {},
        leftOut: null,
        reachRate: 75,
        humanOpenedCount: 0,
        machineOpenedCount: 0,
        humanClickedCount: 0,
        machineClickedCount: 0,
        humanOpenRate: 0,
        humanClickRate: 0,
        deliveryRate: 75,
        openRate: 50,
        clickRate: 25,
        bounceRate: 25,
        complaintRate: 0,
        unsubscribeRate: 0,
      },
    });
  });
});

describe('an audience that is changed while it is counted', () => {
  const onPlan = (value: string) => ({
    logic: 'AND',
    groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value }] }],
  });
  const change = (id: string, plan: string) => (tx: Database) =>
    tx
      .updateTable('campaign')
      .set({ audience_type: 'FILTERED', audience_condition: JSON.stringify(onPlan(plan)) })
      .where('id', '=', id)
      .execute();
  const after = async (id: string) => (await shop.call('GET', `/campaigns/${id}`)).body.data;

  it('is counted anew by a send, which the change has overtaken', async () => {
    const { id } = await made();
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const send = () => shop.call('POST', `/campaigns/${id}/send`, { scheduledFor: at });
    expect(await overtaken(shop.api, change(id, 'free'), send)).toEqual([200, undefined]);
    expect(await after(id)).toMatchObject({ status: 'SCHEDULED', totalRecipients: 1 });
    await shop.call('POST', `/campaigns/${id}/cancel`);
  });

  it('refuses a send when it is empty by then', async () => {
    const { id } = await made();
    const send = () => shop.call('POST', `/campaigns/${id}/send`);
    expect(await overtaken(shop.api, change(id, 'none'), send)).toEqual([
      400,
      'CAMPAIGN_NO_RECIPIENTS',
    ]);
    expect(await after(id)).toMatchObject({ status: 'DRAFT' });
  });

  it('is counted anew by a change of the type of its mail', async () => {
    const { id } = await made();
    const put = () => shop.call('PUT', `/campaigns/${id}`, { messageType: 'TRANSACTIONAL' });
    expect(await overtaken(shop.api, change(id, 'free'), put)).toEqual([200, undefined]);
    expect(await after(id)).toMatchObject({ messageType: 'TRANSACTIONAL', totalRecipients: 1 });
  });
});

describe('POST /campaigns/{id}/test', () => {
  it('goes to members of the project alone where mail leaves the machine', async () => {
    const api = await useApi({
      AWS_SES_REGION: 'eu-west-1',
      AWS_SES_ACCESS_KEY_ID: 'id',
      AWS_SES_SECRET_ACCESS_KEY: 'secret',
    });
    const { cookie, email } = await api.signUp();
    const project = await api.createProject(cookie);
    const domain = { project_id: project.id, name: 'shop.dev', status: 'verified' };
    await api.db
      .insertInto('domain')
      .values({ ...domain, dkim_tokens: ['a', 'b', 'c'] })
      .execute();
    const key = project.secretKey;
    const body = { ...draft(), from: 'news@shop.dev' };
    const made = await api.request('POST', '/campaigns', { key, body });
    const path = `/campaigns/${made.body.data.id}/test`;
    const test = (to: string) => api.request('POST', path, { key, body: { email: to } });
    const invited = await api.signUp();
    await api.db
      .insertInto('invitation')
      .values({ project_id: project.id, user_id: invited.userId, role: 'ADMIN' })
      .execute();
    for (const to of ['stranger@people.test', invited.email]) {
      expect(refusal(await test(to))).toEqual([403, 'TEST_RECIPIENT_NOT_ALLOWED']);
    }
    expect((await test(email)).status).toBe(200);
    expect(refusal(await test('nobody'))).toEqual([
      422,
      'VALIDATION_ERROR',
      'email invalid_string',
    ]);
    const [mail] = await api.db.selectFrom('system_mail').selectAll().execute();
    expect(mail).toMatchObject({ to_email: email, subject: '[TEST] Hello {{name ?? you}}' });
    expect(api.dispatched.at(-1)).toBe(`campaign-test-${mail!.id}`);
  });

  it('refuses a sender whose domain is not verified any more, as sending does', async () => {
    const { id } = await made();
    const verify = (status: string) =>
      shop.api.db
        .updateTable('domain')
        .set({ status })
        .where('project_id', '=', shop.project.id)
        .execute();
    await verify('failed');
    const test = () => shop.call('POST', `/campaigns/${id}/test`, { email: 'a@people.test' });
    expect(refusal(await test())).toEqual([403, 'DOMAIN_NOT_VERIFIED']);
    expect(refusal(await shop.call('POST', `/campaigns/${id}/send`))).toEqual([
      403,
      'DOMAIN_NOT_VERIFIED',
    ]);
    await verify('verified');
  });

  it('keeps the answer in the transaction of the mail: a repeat never sends a second one', async () => {
    const { api, project, call } = shop;
    const made = await call('POST', '/campaigns', draft());
    const path = `/campaigns/${made.body.data.id}/test`;
    const key = { 'Idempotency-Key': 'a-test' };
    const first = await call('POST', path, { email: 'a@people.test' }, key);
    const again = await call('POST', path, { email: 'a@people.test' }, key);
    expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
    const { rows } = await sql`
      select mail.xmin = kept.xmin as together
        from system_mail mail, idempotency kept
        where mail.project_id = ${project.id} and kept.key = 'a-test'`.execute(api.db);
    expect(rows).toEqual([{ together: true }]);
  });
});
