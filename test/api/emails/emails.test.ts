import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();

async function contact(): Promise<{ id: string; email: string }> {
  const email = newAddress();
  const { body } = await shop.call('POST', '/contacts', { email });
  return { id: body.id, email };
}

async function mail(contactId: string, given: object = {}): Promise<string> {
  const { id } = await writeMail(shop.api.db, (tx) =>
    tx
      .insertInto('email')
      .values({
        project_id: shop.project.id,
        contact_id: contactId,
        to_email: 'ada@people.test',
        subject: 'Hi',
        body: '<p>Hi</p>',
        from_email: `team@${shop.domain}`,
        message_class: 'TRANSACTIONAL',
        source_type: 'TRANSACTIONAL',
        ...given,
      })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return id;
}

const list = async (query: string) => (await shop.call('GET', `/emails?${query}`)).body;
const ids = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);

describe('GET /emails', () => {
  it('lists what was sent to a contact, without bodies', async () => {
    const { id: contactId, email } = await contact();
    const { body: sent } = await shop.send({
      to: email,
      subject: 'Hello',
      headers: { 'X-Order': '7' },
      attachments: [{ filename: 'a.txt', content: 'aGk=', contentType: 'text/plain' }],
    });
    const emailId = sent.data.emails[0].email;
    const page = await list(`contactId=${contactId}`);
    expect(page).toEqual({
      hasMore: false,
      total: 1,
      data: [
        {
          id: emailId,
          projectId: shop.project.id,
          contactId,
          toName: null,
          toEmail: email,
          subject: 'Hello',
          from: `team@${shop.domain}`,
          fromName: 'My shop',
          replyTo: null,
          causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
          headers: [{ name: 'X-Order', value: '7' }],
          attachments: [
            {
              filename: 'a.txt',
              contentType: 'text/plain',
              disposition: 'attachment',
              contentId: null,
              bytes: 2,
            },
          ],
          messageId: null,
          sourceType: 'TRANSACTIONAL',
          templateId: null,
          campaignId: null,
          workflowExecutionId: null,
          workflowStepExecutionId: null,
          scheduledFor: null,
          hold: null,
          status: 'PENDING',
          outcome: 'pending',
          reasonCode: 'queued',
          sentAt: null,
          deliveredAt: null,
          openedAt: null,
          clickedAt: null,
          bouncedAt: null,
          complainedAt: null,
          opens: 0,
          clicks: 0,
          error: null,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
      ],
    });
  });

  it('pages from the newest to the oldest, whatever is deleted meanwhile', async () => {
    const { id: contactId } = await contact();
    const made: string[] = [];
    for (let n = 0; n < 5; n++)
      made.push(await mail(contactId, { created_at: new Date(2026, 1, 1, n) }));
    const first = await list(`contactId=${contactId}&limit=2`);
    expect(first).toMatchObject({ total: 5, hasMore: true });
    expect(ids(first)).toEqual([made[4], made[3]]);
    await writeMail(shop.api.db, (tx) =>
      tx.deleteFrom('email').where('id', '=', made[3]!).execute(),
    );
    const second = await list(`contactId=${contactId}&limit=2&cursor=${first.cursor}`);
    expect(ids(second)).toEqual([made[2], made[1]]);
    expect(second).toMatchObject({ total: 0, hasMore: true });
    const third = await list(`contactId=${contactId}&limit=2&cursor=${second.cursor}`);
    expect(third).toEqual({
      data: [expect.objectContaining({ id: made[0] })],
      hasMore: false,
      total: 0,
    });
  });

  it('never shows another project’s mail, wherever the cursor comes from', async () => {
    const { id: contactId } = await contact();
    await mail(contactId);
    await mail(contactId);
    const { cursor } = await list(`contactId=${contactId}&limit=1`);
    for (const query of [`cursor=${cursor}`, `cursor=${cursor}&contactId=${contactId}`]) {
      const { body } = await shop.api.request('GET', `/emails?${query}`, {
        key: shop.other.secretKey,
      });
      expect(body).toEqual({ data: [], hasMore: false, total: 0 });
    }
  });

  it('finds by status, source, campaign and execution, and counts what it finds', async () => {
    const { id: contactId } = await contact();
    const [campaignId, executionId] = [randomUUID(), randomUUID()];
    const at = new Date();
    const bounced = await mail(contactId, {
      campaign_id: campaignId,
      source_type: 'CAMPAIGN',
      status: 'BOUNCED',
      bounced_at: at,
    });
    const { id: other } = await contact();
    await mail(other, { campaign_id: campaignId, source_type: 'CAMPAIGN', status: 'SENT' });
    const third = await contact();
    await mail(third.id, { campaign_id: campaignId, source_type: 'CAMPAIGN', status: 'SENT' });
    const step = await mail(contactId, {
      workflow_execution_id: executionId,
      source_type: 'WORKFLOW',
    });
    const found = await list(`campaignId=${campaignId}&status=BOUNCED`);
    expect([ids(found), found.total]).toEqual([[bounced], 1]);
    expect((await list('status=BOUNCED')).total).toBe(1);
    expect((await list(`campaignId=${campaignId}`)).total).toBe(3);
    expect(ids(await list(`executionId=${executionId}`))).toEqual([step]);
    expect(ids(await list('sourceType=WORKFLOW'))).toEqual([step]);
    expect((await list('status=COMPLAINED')).total).toBe(0);
  });

  it('finds mail by its address, a part of address or subject, its template, and its time', async () => {
    const { id: contactId } = await contact();
    const templateId = randomUUID();
    const at = (day: number) => new Date(Date.UTC(2025, 4, day));
    const given = {
      subject: 'Your Invoice_1',
      to_email: 'grace@navy.test',
      template_id: templateId,
    };
    const first = await mail(contactId, { ...given, created_at: at(1) });
    const second = await mail(contactId, { ...given, subject: 'Other', created_at: at(2) });
    const third = await mail(contactId, { to_email: 'x@invoice.test', created_at: at(3) });
    const own = `contactId=${contactId}`;
    const found = async (query: string) => ids(await list(`${own}&${query}`));
    expect(await found('email=GRACE@navy.test')).toEqual([second, first]);
    expect(await found('email=grace@navy.tes')).toEqual([]);
    expect(await found('search=INVOICE')).toEqual([third, first]);
    expect(await found('search=e%25_1')).toEqual([]);
    expect(await found('search=e_1')).toEqual([first]);
    expect(await found(`templateId=${templateId}&search=other`)).toEqual([second]);
    expect(await found('createdAfter=2025-05-02')).toEqual([third, second]);
    expect(await found('createdBefore=2025-05-02T00:00:00Z')).toEqual([first]);
    expect(await found('createdAfter=2025-05-02&createdBefore=2025-05-03')).toEqual([second]);
    expect(await list(`templateId=${templateId}`)).toMatchObject({ total: 2 });
    const foreign = await shop.api.request('GET', `/emails?templateId=${templateId}&search=other`, {
      key: shop.other.secretKey,
    });
    expect(foreign.body).toMatchObject({ data: [], total: 0 });
  });

  it.each([
    'status=FOO',
    'sourceType=x',
    'contactId=x',
    'cursor=zz',
    'limit=0',
    'limit=101',
    'email=x',
    'search=',
    'templateId=x',
    'createdAfter=yesterday',
    'createdBefore=2025-13-01',
  ])('refuses ?%s with 422', async (query) => {
    const refused = refusal(await shop.call('GET', `/emails?${query}`));
    expect(refused.slice(0, 2)).toEqual([422, 'VALIDATION_ERROR']);
  });
});

describe('GET /emails/{id}', () => {
  it('shows the body and the trace, from the moment it was queued', async () => {
    const { id: contactId } = await contact();
    const trace = [
      { at: '2026-11-21T08:30:00.000Z', state: 'withheld', detail: { reason: 'project_disabled' } },
    ];
    const id = await mail(contactId, {
      trace: JSON.stringify(trace),
      status: 'FAILED',
      error: 'project_disabled',
    });
    const { status, body } = await shop.call('GET', `/emails/${id}`);
    expect(status).toBe(200);
    expect(body.body).toBe('<p>Hi</p>');
    expect(body.trace).toEqual([{ at: body.createdAt, state: 'queued', detail: null }, ...trace]);
  });

  it('knows no mail of another project', async () => {
    const { id: contactId } = await contact();
    const id = await mail(contactId);
    const foreign = await shop.api.request('GET', `/emails/${id}`, { key: shop.other.secretKey });
    expect(refusal(foreign)).toEqual([404, 'EMAIL_NOT_FOUND']);
    expect(refusal(await shop.call('GET', `/emails/${randomUUID()}`))).toEqual([
      404,
      'EMAIL_NOT_FOUND',
    ]);
    const page = await shop.api.request('GET', `/emails?contactId=${contactId}`, {
      key: shop.other.secretKey,
    });
    expect(page.body).toMatchObject({ data: [], total: 0 });
  });
});

describe('GET /campaigns/{id}/recipients/{contactId}', () => {
  it('shows who would get a draft', async () => {
    const draft = {
      name: 'C',
      subject: 'S',
      body: 'B',
      from: `a@${shop.domain}`,
      audienceType: 'FILTERED',
    };
    const audienceFilter = {
      operator: 'AND',
      conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
    };
    const { body: made } = await shop.call('POST', '/campaigns', { ...draft, audienceFilter });
    const asked = async (given: object) => {
      const { body } = await shop.call('POST', '/contacts', { email: newAddress(), ...given });
      const answer = await shop.call('GET', `/campaigns/${made.data.id}/recipients/${body.id}`);
      return answer.body;
    };
    const nothing = { emailId: null, frozenAt: null };
    expect(await asked({ data: { plan: 'pro' } })).toEqual({
      included: true,
      reason: 'pending',
      outcome: 'pending',
      reasonCode: 'awaiting_start',
      ...nothing,
    });
    expect(await asked({})).toEqual({
      included: false,
      reason: 'not_in_audience',
      outcome: null,
      reasonCode: 'not_in_audience',
      ...nothing,
    });
    expect(await asked({ data: { plan: 'pro' }, subscribed: false })).toEqual({
      included: false,
      reason: 'unsubscribed_at_freeze',
      outcome: null,
      reasonCode: 'unsubscribed_at_freeze',
      ...nothing,
    });
    const path = `/campaigns/${made.data.id}/recipients`;
    expect(refusal(await shop.call('GET', `${path}/${randomUUID()}`))).toEqual([
      404,
      'CONTACT_NOT_FOUND',
    ]);
    const { id } = await contact();
    expect(refusal(await shop.call('GET', `/campaigns/${randomUUID()}/recipients/${id}`))).toEqual([
      404,
      'CAMPAIGN_NOT_FOUND',
    ]);
  });

  it.each([
    ['DELIVERED', null, 'sent', 'sent', null],
    ['BOUNCED', null, 'sent', 'sent', null],
    ['PENDING', null, 'pending', 'pending', 'queued'],
    ['FAILED', 'delivery_unknown', 'pending', 'unknown', 'delivery_unknown'],
    ['FAILED', 'billing_limit', 'withheld', 'withheld', 'billing_limit'],
    ['FAILED', '550 no', 'refused', 'failed', 'provider_refused'],
  ])('tells of a mail that is %s with error %s that it was %s', async (...given) => {
    const [status, error, reason, outcome, reasonCode] = given;
    const { id: contactId } = await contact();
    const draft = {
      name: 'C',
      subject: 'S',
      body: 'B',
      from: `a@${shop.domain}`,
      audienceType: 'ALL',
    };
    const { body: made } = await shop.call('POST', '/campaigns', draft);
    const emailId = await mail(contactId, { campaign_id: made.data.id, status, error });
    const { body } = await shop.call('GET', `/campaigns/${made.data.id}/recipients/${contactId}`);
    expect(body).toEqual({ included: true, reason, outcome, reasonCode, emailId, frozenAt: null });
  });
});
