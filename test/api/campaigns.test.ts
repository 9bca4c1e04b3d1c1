import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi } from '../support/api.ts';
import { newAddress, refusal, type Shop, startShop } from '../support/shop.ts';

let shop: Shop;
beforeAll(async () => {
  shop = await startShop();
  for (const plan of ['pro', 'pro', 'free']) {
    await shop.call('POST', '/contacts', { email: newAddress(), data: { plan } });
  }
});
afterAll(() => shop.close());

const draft = (given: object = {}) => ({
  name: 'Spring sale',
  subject: 'Hello {{name ?? you}}',
  body: '<p>20% off</p>',
  from: `news@${shop.domain}`,
  audienceType: 'ALL',
  ...given,
});
const create = (given: object = {}) => shop.call('POST', '/campaigns', draft(given));

async function made(given: object = {}) {
  const { status, body } = await create(given);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data;
}

/** Puts a campaign into a state its run would have brought it to. */
async function inState(status: string, given: object = {}) {
  const campaign = await made(given);
  const paused_reason = status === 'PAUSED' ? 'requested' : null;
  await shop.api.db
    .updateTable('campaign')
    .set({ status, paused_reason, sent_at: status === 'SENT' ? new Date() : null })
    .where('id', '=', campaign.id)
    .execute();
  return campaign;
}

const pro = {
  operator: 'AND',
  conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
};

describe('POST /campaigns', () => {
  it('makes a draft, and answers the whole record', async () => {
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toEqual({
      success: true,
      data: {
        id: expect.any(String),
        name: 'Spring sale',
        description: null,
        subject: 'Hello {{name ?? you}}',
        body: '<p>20% off</p>',
        from: `news@${shop.domain}`,
        fromName: null,
        replyTo: null,
        templateId: null,
        type: 'ALL',
        audienceType: 'ALL',
        segmentId: null,
        segment: null,
        audienceCondition: null,
        audienceFilter: null,
        messageType: 'MARKETING',
        status: 'DRAFT',
        scheduledFor: null,
        scheduledAt: null,
        sentAt: null,
        pausedReason: null,
        archived: false,
        totalRecipients: 3,
        sentCount: 0,
        deliveredCount: 0,
        openedCount: 0,
        clickedCount: 0,
        bouncedCount: 0,
        complainedCount: 0,
        unsubscribedCount: 0,
        projectId: shop.project.id,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
  });

  it('refuses an audience without what its type needs', async () => {
    const missing = {
      segmentId: 'segmentId invalid_type',
      audienceFilter: 'audienceFilter invalid_type',
    };
    expect(refusal(await create({ audienceType: 'SEGMENT' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      missing.segmentId,
    ]);
    expect(refusal(await create({ audienceType: 'SEGMENT', segmentId: null }))).toEqual([
      422,
      'VALIDATION_ERROR',
      missing.segmentId,
    ]);
    expect(refusal(await create({ audienceType: 'FILTERED', audienceFilter: null }))).toEqual([
      422,
      'VALIDATION_ERROR',
      missing.audienceFilter,
    ]);
    expect(refusal(await create({ audienceType: 'SOME' }))[0]).toBe(422);
    expect(refusal(await create({ audienceType: undefined }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'audienceType invalid_type',
    ]);
    const unknown = await create({ audienceType: 'SEGMENT', segmentId: shop.project.id });
    expect(refusal(unknown)).toEqual([404, 'SEGMENT_NOT_FOUND']);
  });

  it('takes a condition in both forms and under both names, and ignores it for other types', async () => {
    const flat = await made({ audienceType: 'FILTERED', audienceFilter: pro });
    expect(flat).toMatchObject({ audienceFilter: pro, totalRecipients: 2 });
    const condition = { logic: 'AND', groups: [{ filters: pro.conditions }] };
    expect(flat.audienceCondition).toEqual(condition);
    const grouped = await made({ audienceType: 'FILTERED', audienceCondition: condition });
    expect(grouped).toMatchObject({ audienceFilter: pro, audienceCondition: condition });
    const other = {
      operator: 'AND',
      conditions: [{ field: 'email', operator: 'contains', value: 'x' }],
    };
    const both = { audienceType: 'FILTERED', audienceFilter: other, audienceCondition: condition };
    expect(refusal(await create(both))).toEqual([422, 'VALIDATION_ERROR', 'audienceFilter custom']);
    expect(await made({ audienceFilter: pro })).toMatchObject({
      audienceFilter: null,
      audienceCondition: null,
    });
    const nowhere = { field: `segment.${shop.project.id}`, operator: 'memberOfSegment' };
    const bad = await create({
      audienceType: 'FILTERED',
      audienceFilter: { operator: 'AND', conditions: [nowhere] },
    });
    expect(bad.status).toBe(422);
  });

  it('counts a segment and names it', async () => {
    const { body: segment } = await shop.call('POST', '/segments', {
      name: 'Pro users',
      filters: pro,
    });
    const campaign = await made({ audienceType: 'SEGMENT', segmentId: segment.id });
    expect(campaign).toMatchObject({
      segment: { id: segment.id, name: 'Pro users' },
      segmentId: segment.id,
      totalRecipients: 2,
    });
    expect(refusal(await shop.call('DELETE', `/segments/${segment.id}`))).toEqual([
      409,
      'SEGMENT_IN_USE',
    ]);
    expect(await made({ segmentId: segment.id })).toMatchObject({ segmentId: null, segment: null });
  });

  it('reads type as the field it is a word of', async () => {
    expect(await made({ type: 'TRANSACTIONAL' })).toMatchObject({
      messageType: 'TRANSACTIONAL',
      type: 'ALL',
    });
    expect(await made({ audienceType: undefined, type: 'ALL' })).toMatchObject({
      audienceType: 'ALL',
    });
    const contradiction = await create({ type: 'HEADLESS', messageType: 'MARKETING' });
    expect(refusal(contradiction)).toEqual([422, 'VALIDATION_ERROR', 'type custom']);
    expect(refusal(await create({ type: 'SEGMENT' }))[0]).toBe(422);
  });

  it('sends only from a verified domain', async () => {
    const { total } = (await shop.call('GET', '/campaigns')).body;
    expect(refusal(await create({ from: 'a@unknown.test' }))).toEqual([
      403,
      'DOMAIN_NOT_REGISTERED',
    ]);
    await shop.call('POST', '/domains', { domain: 'pending.dev' });
    expect(refusal(await create({ from: 'a@pending.dev' }))).toEqual([403, 'DOMAIN_NOT_VERIFIED']);
    expect((await shop.call('GET', '/campaigns')).body.total).toBe(total);
  });

  it('refuses content that is no template', async () => {
    const bad = await create({ subject: '{% if x %}', body: '{{ x | nothing }}' });
    expect(refusal(bad)).toEqual([
      422,
      'VALIDATION_ERROR',
      'subject invalid_template',
      'body invalid_template',
    ]);
  });

  it('copies what is left out from a template, once', async () => {
    const templateId = await shop.createTemplate({
      fromName: 'The Shop',
      replyTo: 'r@people.test',
    });
    const { subject: _s, body: _b, from: _f, ...rest } = draft({ templateId });
    const { body } = await shop.call('POST', '/campaigns', rest);
    expect(body.data).toMatchObject({
      templateId,
      subject: 'Template subject',
      body: '<p>Template body</p>',
      from: `template@${shop.domain}`,
      fromName: 'The Shop',
      replyTo: 'r@people.test',
      messageType: 'MARKETING',
    });
    const { body: usage } = await shop.call('GET', `/templates/${templateId}/usage`);
    expect(usage.campaigns).toEqual([{ id: body.data.id, name: 'Spring sale', status: 'DRAFT' }]);
    await shop.call('PATCH', `/templates/${templateId}`, { subject: 'Another' });
    await shop.call('DELETE', `/templates/${templateId}`);
    const after = await shop.call('GET', `/campaigns/${body.data.id}`);
    expect(after.body.data).toMatchObject({ subject: 'Template subject', templateId: null });
    const without = await shop.createTemplate({ from: undefined });
    expect(
      refusal(await shop.call('POST', '/campaigns', { ...rest, templateId: without })),
    ).toEqual([422, 'VALIDATION_ERROR', 'from required']);
    expect(refusal(await create({ templateId: shop.project.id }))).toEqual([
      404,
      'TEMPLATE_NOT_FOUND',
    ]);
    expect(refusal(await create({ subject: undefined }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'subject invalid_type',
    ]);
  });
});

describe('GET /campaigns', () => {
  it('answers a page that is not wrapped, and one campaign wrapped', async () => {
    const campaign = await made();
    const { body: page } = await shop.call('GET', '/campaigns?pageSize=1');
    expect(page).toMatchObject({
      data: [{ id: campaign.id }],
      page: 1,
      pageSize: 1,
      total: expect.any(Number),
    });
    expect(page.success).toBeUndefined();
    const { body: one } = await shop.call('GET', `/campaigns/${campaign.id}`);
    expect(one).toEqual({ success: true, data: campaign });
  });

  it('finds by status, by words and what is archived', async () => {
    const campaign = await made({ name: 'Autumn Leaves' });
    const found = async (query: string) =>
      (await shop.call('GET', `/campaigns?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await found('search=autumn%20leaves')).toEqual([campaign.id]);
    expect(await found('search=autumn&status=SENT')).toEqual([]);
    const archived = await shop.call('POST', `/campaigns/${campaign.id}/archive`);
    expect(archived.body).toMatchObject({ success: true, data: { archived: true } });
    expect(await found('search=autumn')).toEqual([]);
    expect(await found('search=autumn&archived=true')).toEqual([campaign.id]);
    const back = await shop.call('POST', `/campaigns/${campaign.id}/unarchive`);
    expect(back.body.data.archived).toBe(false);
    expect(refusal(await shop.call('GET', '/campaigns?status=FOO'))[0]).toBe(422);
    expect(refusal(await shop.call('GET', '/campaigns?archived=maybe'))[0]).toBe(422);
  });

  it('knows no campaign of another project', async () => {
    const campaign = await made();
    const foreign = await shop.api.request('GET', `/campaigns/${campaign.id}`, {
      key: shop.other.secretKey,
    });
    expect(refusal(foreign)).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
  });
});

describe('PUT /campaigns/{id}', () => {
  const put = (id: string, body: object) => shop.call('PUT', `/campaigns/${id}`, body);

  it('changes what is named and nothing else', async () => {
    const campaign = await made();
    const { status, body } = await put(campaign.id, { subject: 'x' });
    expect(status).toBe(200);
    expect(body.data).toEqual({ ...campaign, subject: 'x', updatedAt: expect.any(String) });
  });

  it.each(['DRAFT', 'SCHEDULED', 'PAUSED'])(
    'takes the whole answer of a %s campaign',
    async (state) => {
      for (const given of [{}, { audienceType: 'FILTERED', audienceFilter: pro }]) {
        const { id } = await inState(state, given);
        const { body: before } = await shop.call('GET', `/campaigns/${id}`);
        const after = await put(id, before.data);
        expect(after.status).toBe(200);
        expect(after.body).toEqual(before);
      }
    },
  );

  it('counts again when the audience changes', async () => {
    const campaign = await made();
    const filtered = await put(campaign.id, { audienceType: 'FILTERED', audienceFilter: pro });
    expect(filtered.body.data).toMatchObject({ audienceType: 'FILTERED', totalRecipients: 2 });
    const all = await put(campaign.id, { type: 'ALL' });
    expect(all.body.data).toMatchObject({
      audienceType: 'ALL',
      audienceFilter: null,
      totalRecipients: 3,
    });
    expect(refusal(await put(campaign.id, { audienceType: 'FILTERED' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'audienceFilter invalid_type',
    ]);
    expect(refusal(await put(campaign.id, { audienceType: 'SEGMENT' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'segmentId invalid_type',
    ]);
  });

  it('refuses what a state does not allow', async () => {
    const { body: segment } = await shop.call('POST', '/segments', { name: 'Pro', filters: pro });
    const toSegment = { audienceType: 'SEGMENT', segmentId: segment.id };
    for (const state of ['SENT', 'SENDING', 'CANCELLED']) {
      const { id } = await inState(state);
      expect(refusal(await put(id, { subject: 'x' }))).toEqual([400, 'CAMPAIGN_NOT_EDITABLE']);
      await shop.api.db
        .updateTable('campaign')
        .set({ status: 'SENT' })
        .where('id', '=', id)
        .execute();
    }
    const scheduled = await inState('SCHEDULED');
    expect(refusal(await put(scheduled.id, toSegment))).toEqual([400, 'CAMPAIGN_SEGMENT_LOCKED']);
    expect((await put(scheduled.id, { name: 'Other', subject: 'x' })).status).toBe(200);
    const paused = await inState('PAUSED');
    expect(refusal(await put(paused.id, { name: 'Other' }))).toEqual([
      400,
      'CAMPAIGN_NOT_EDITABLE',
    ]);
    expect(refusal(await put(paused.id, toSegment))).toEqual([400, 'CAMPAIGN_NOT_EDITABLE']);
    const content = { subject: 'x', body: 'y', fromName: 'z', replyTo: 'r@people.test' };
    expect((await put(paused.id, content)).body.data).toMatchObject(content);
    await shop.api.db
      .deleteFrom('campaign')
      .where('status', 'in', ['SCHEDULED', 'PAUSED'])
      .execute();
  });

  it('refuses an unknown campaign, template, segment and sender', async () => {
    const { id } = await made();
    const none = shop.project.id;
    expect(refusal(await put(none, { name: 'x' }))).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
    expect(refusal(await put(id, { templateId: none }))).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    expect(refusal(await put(id, { type: 'SEGMENT', segmentId: none }))).toEqual([
      404,
      'SEGMENT_NOT_FOUND',
    ]);
    expect(refusal(await put(id, { from: 'a@unknown.test' }))).toEqual([
      403,
      'DOMAIN_NOT_REGISTERED',
    ]);
  });
});

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
    const { id } = await inState('SENT', { audienceType: 'FILTERED', audienceFilter: pro });
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
      },
    });
    expect(body.data.id).not.toBe(id);
    expect(refusal(await shop.call('POST', `/campaigns/${shop.project.id}/duplicate`))).toEqual([
      404,
      'CAMPAIGN_NOT_FOUND',
    ]);
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
    expect(shop.api.dispatched.at(-1)).toEqual({ runs: [`campaign-${id}`] });
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

  it('refuse to send to nobody, and from a domain that is no longer verified', async () => {
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
        uncertainCount: 0,
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

describe('POST /campaigns/{id}/test', () => {
  it('goes to members of the project alone where mail leaves the machine', async () => {
    const api = await startTestApi({
      AWS_SES_REGION: 'eu-west-1',
      AWS_SES_ACCESS_KEY_ID: 'id',
      AWS_SES_SECRET_ACCESS_KEY: 'secret',
    });
    try {
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
      expect(refusal(await test('stranger@people.test'))).toEqual([
        403,
        'TEST_RECIPIENT_NOT_ALLOWED',
      ]);
      expect((await test(email)).status).toBe(200);
      expect(refusal(await test('nobody'))).toEqual([
        422,
        'VALIDATION_ERROR',
        'email invalid_string',
      ]);
      const [mail] = await api.db.selectFrom('single_mail').selectAll().execute();
      expect(mail).toMatchObject({ to_email: email, subject: '[TEST] Hello {{name ?? you}}' });
      expect(api.dispatched.at(-1)).toEqual({ runs: [`campaign-test-${mail!.id}`] });
    } finally {
      await api.close();
    }
  });
});
