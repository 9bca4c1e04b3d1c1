import { describe, expect, it } from 'vitest';
import { pro, useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { refusal } from '../../support/projects/shop.ts';

const { shop, draft, create, made, inState } = await useCampaignShop();

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
        localTime: null,
        late: null,
        maxPerMinute: null,
        status: 'DRAFT',
        scheduledFor: null,
        scheduledAt: null,
        sentAt: null,
        createdBy: { type: 'key', id: 'secret', name: 'Secret key' },
        sentBy: null,
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
    for (const maxPerMinute of [0, 1_000_001, 1.5, '60']) {
      expect(refusal(await create({ maxPerMinute }))[0]).toBe(422);
    }
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
    const content = {
      subject: 'x',
      body: 'y',
      fromName: 'z',
      replyTo: 'r@people.test',
      maxPerMinute: 60,
    };
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
