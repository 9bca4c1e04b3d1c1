import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { db } = shop.api;
const projectId = shop.project.id;
const list = async (path: string) => (await shop.call('GET', path)).body;

interface Item {
  contact: { id: string; email: string };
  emailId: string | null;
  outcome: string | null;
  reasonCode: string | null;
}
const idsOf = (page: { data: Item[] }) => page.data.map(({ emailId }) => emailId);

async function contact(given: object = {}): Promise<{ id: string; email: string }> {
  const { body } = await shop.call('POST', '/contacts', { email: newAddress(), ...given });
  return { id: body.id, email: body.email };
}

const at = new Date();
const later = new Date(Date.now() + 3_600_000);
const past = new Date(Date.now() - 3_600_000);
const waiting = { status: 'PENDING', sent_at: null, message_id: null };
const failed = (fields: object) => ({
  status: 'FAILED',
  sent_at: null,
  message_id: null,
  ...fields,
});

/** One message for each outcome, reason and event. */
const kinds: Readonly<Record<string, Parameters<typeof insertTestEmail>[2]>> = {
  sent: {},
  delivered: { status: 'DELIVERED', delivered_at: at },
  opened: { status: 'OPENED', delivered_at: at, opened_at: at, human_opened_at: at, opens: 2 },
  clicked: {
    status: 'CLICKED',
    delivered_at: at,
    clicked_at: at,
    clicked_by_machines: true,
    clicks: 1,
  },
  bounced: { status: 'BOUNCED', bounced_at: at },
  complained: { status: 'COMPLAINED', delivered_at: at, complained_at: at },
  unsubscribed: { status: 'DELIVERED', delivered_at: at, unsubscribed_at: at },
  refused: failed({ error: '550 5.1.1 No such user', refusal: 'recipient_refused' }),
  spam: failed({ error: 'x'.repeat(400), refusal: 'provider_refused' }),
  capped: failed({ error: 'frequency_cap' }),
  suppressed: failed({ error: 'suppressed' }),
  unknown: failed({ error: 'delivery_unknown' }),
  unsettled: { ...waiting, status: 'SENDING', lease_until: past, error: 'It hung up.' },
  sending: { ...waiting, status: 'SENDING', lease_until: later },
  queued: waiting,
  scheduled: { ...waiting, due_at: later, scheduled_for: later },
  retried: { ...waiting, due_at: later, retry_at: later, error: '450 Busy' },
  quiet: { ...waiting, due_at: later, held_until: later, hold_reason: 'quiet_hours' },
  delayed: { ...waiting, due_at: later, held_until: later, hold_reason: 'frequency_cap' },
};

/** Inserts a message of each kind, the first the newest. Returns their ids by kind. */
async function oneOfEach(
  campaignId: string | undefined,
  given: object = {},
): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const newestAt = Date.now();
  for (const [index, [kind, fields]] of Object.entries(kinds).entries()) {
    const { id: contactId } = await contact();
    const created_at = new Date(newestAt - index * 1000);
    ids[kind] = await insertTestEmail(
      db,
      { projectId, contactId, ...(campaignId && { campaignId }) },
      { created_at, ...fields, ...given },
    );
  }
  return ids;
}

/** The messages that each filter finds. */
const found: Readonly<Record<string, string[]>> = {
  'outcome=sent': [
    'sent',
    'delivered',
    'opened',
    'clicked',
    'bounced',
    'complained',
    'unsubscribed',
  ],
  'outcome=failed': ['refused', 'spam'],
  'outcome=withheld': ['capped', 'suppressed'],
  'outcome=held': ['quiet', 'delayed'],
  'outcome=pending': ['sending', 'queued', 'scheduled', 'retried'],
  'outcome=unknown': ['unknown', 'unsettled'],
  'outcome=delivered': ['delivered', 'opened', 'clicked', 'complained', 'unsubscribed'],
  'outcome=opened': ['opened'],
  'outcome=clicked': ['clicked'],
  'outcome=bounced': ['bounced'],
  'outcome=complained': ['complained'],
  'outcome=unsubscribed': ['unsubscribed'],
  'reason=recipient_refused': ['refused'],
  'reason=provider_refused': ['spam'],
  'reason=provider_unavailable': [],
  'reason=frequency_cap': ['capped', 'delayed'],
  'reason=suppressed': ['suppressed'],
  'reason=delivery_unknown': ['unknown'],
  'reason=delivery_unsettled': ['unsettled'],
  'reason=queued': ['sending', 'queued'],
  'reason=schedule': ['scheduled'],
  'reason=retry': ['retried'],
  'reason=quiet_hours': ['quiet'],
  'reason=awaiting_start': [],
  'outcome=held&reason=frequency_cap': ['delayed'],
  'outcome=withheld&reason=frequency_cap': ['capped'],
  'outcome=sent&reason=queued': [],
  'outcome=bounced&reason=queued': [],
};

/** Checks every filter, on one page and on pages of one. */
async function finds(path: string, ids: Record<string, string>): Promise<void> {
  const all = await list(`${path}?limit=100`);
  expect(idsOf(all)).toEqual(Object.values(ids));
  expect([all.total, all.hasMore]).toEqual([Object.keys(kinds).length, false]);
  for (const [query, expected] of Object.entries(found)) {
    const wanted = expected.map((kind) => ids[kind]!);
    const page = await list(`${path}?${query}`);
    expect([query, ...idsOf(page)]).toEqual([query, ...wanted]);
    expect([query, page.total, page.hasMore]).toEqual([query, wanted.length, false]);
    const paged: (string | null)[] = [];
    for (let cursor: string | undefined, first = true; first || cursor; first = false) {
      const one = await list(`${path}?limit=1&${query}${cursor ? `&cursor=${cursor}` : ''}`);
      expect([query, one.total]).toEqual([query, first ? wanted.length : 0]);
      paged.push(...idsOf(one));
      cursor = one.cursor;
    }
    expect([query, ...paged]).toEqual([query, ...wanted]);
  }
  for (const item of all.data as Item[]) {
    const { body } = await shop.call('GET', `/emails/${item.emailId}`);
    const { outcome, reasonCode } = body;
    expect(item).toMatchObject({ outcome, reasonCode });
  }
}

describe('GET /campaigns/{id}/recipients', { timeout: 60_000 }, () => {
  it('lists every recipient with its outcome, and finds them by each filter', async () => {
    const id = await insertTestCampaign(db, projectId, { frozen_at: at, audience_fixed: true });
    const ids = await oneOfEach(id);
    await finds(`/campaigns/${id}/recipients`, ids);
    const { data } = await list(`/campaigns/${id}/recipients?reason=recipient_refused`);
    expect(data).toEqual([
      {
        contact: { id: expect.any(String), email: expect.stringMatching(/@people\.test$/) },
        emailId: ids['refused'],
        executionId: null,
        outcome: 'failed',
        reasonCode: 'recipient_refused',
        error: '550 5.1.1 No such user',
        arm: null,
        inTest: false,
        opens: 0,
        clicks: 0,
        sentAt: null,
        deliveredAt: null,
        bouncedAt: null,
        openedAt: null,
        clickedAt: null,
        humanOpenedAt: null,
        humanClickedAt: null,
        convertedAt: null,
      },
    ]);
    const errors = Object.fromEntries(
      (await list(`/campaigns/${id}/recipients?limit=100`)).data.map(
        ({ emailId, error }: { emailId: string; error: string | null }) => [emailId, error],
      ),
    );
    const texts = ['suppressed', 'unknown', 'unsettled', 'retried'].map(
      (kind) => errors[ids[kind]!],
    );
    expect(texts).toEqual([null, null, 'It hung up.', null]);
  });

  it('shows waiting mail of a paused campaign as campaign_paused', async () => {
    const id = await insertTestCampaign(db, projectId, {
      frozen_at: at,
      status: 'PAUSED',
      paused_reason: 'requested',
    });
    const ids = await oneOfEach(id);
    const page = await list(`/campaigns/${id}/recipients?reason=campaign_paused`);
    const stopped = ['sending', 'queued', 'scheduled', 'retried', 'quiet', 'delayed'];
    expect(idsOf(page)).toEqual(stopped.map((kind) => ids[kind]));
    expect((await list(`/campaigns/${id}/recipients?outcome=held`)).data).toEqual([]);
  });

  it('finds contacts by a part of their present address, with the other filters', async () => {
    const id = await insertTestCampaign(db, projectId, { frozen_at: at });
    const mark = randomUUID().slice(0, 8);
    const ada = await contact({ email: `ada-${mark}@people.test` });
    const bo = await contact({ email: `bo-${mark}@people.test` });
    const ofAda = await insertTestEmail(db, { projectId, contactId: ada.id, campaignId: id });
    await insertTestEmail(db, { projectId, contactId: bo.id, campaignId: id }, kinds['capped']);
    await shop.call('PATCH', `/contacts/${ada.id}`, { email: `eve-${mark}@people.test` });
    const path = `/campaigns/${id}/recipients`;
    expect(await list(`${path}?search=EVE-${mark}`)).toMatchObject({
      data: [{ emailId: ofAda, contact: { id: ada.id, email: `eve-${mark}@people.test` } }],
      total: 1,
    });
    expect(await list(`${path}?search=ada-${mark}`)).toMatchObject({ data: [], total: 0 });
    expect((await list(`${path}?search=${mark}`)).total).toBe(2);
    expect(await list(`${path}?search=${mark}&outcome=withheld`)).toMatchObject({
      data: [{ contact: { id: bo.id } }],
      total: 1,
    });
    expect(await list(`${path}?search=${mark}&outcome=bounced`)).toMatchObject({ total: 0 });
  });

  it('lists who was left out when the audience was fixed, only if asked for', async () => {
    const topic = { key: `t-${randomUUID().slice(0, 8)}`, name: 'T', default: 'subscribed' };
    const { body } = await shop.call('POST', '/topics', topic);
    const mark = randomUUID().slice(0, 8);
    const named = (name: string, given: object = {}) =>
      contact({ email: `${name}-${mark}@people.test`, ...given });
    const out = await named('out', { subscribed: false });
    const both = await named('both', { subscribed: false });
    const left = await named('left');
    const back = await named('back', { subscribed: false });
    const mailed = await named('mailed');
    const leave = (id: string) =>
      shop.call('PUT', `/contacts/${id}/topics`, { topics: { [topic.key]: false } });
    await leave(left.id);
    await leave(both.id);
    const condition = {
      logic: 'AND',
      groups: [{ filters: [{ field: 'email', operator: 'contains', value: mark }] }],
    };
    const id = await insertTestCampaign(db, projectId, {
      audience_type: 'FILTERED',
      audience_condition: JSON.stringify(condition),
      topic_id: body.id,
    });
    const path = `/campaigns/${id}/recipients`;
    expect(await list(`${path}?reason=unsubscribed_at_freeze`)).toEqual({
      data: [],
      hasMore: false,
      total: 0,
    });
    await sql`update campaign set frozen_at = clock_timestamp(), audience_fixed = true
      where id = ${id}`.execute(db);
    await insertTestEmail(db, { projectId, contactId: mailed.id, campaignId: id });
    // Later changes, and later contacts, change nothing.
    await shop.call('PATCH', `/contacts/${back.id}`, { subscribed: true });
    await shop.call('PATCH', `/contacts/${mailed.id}`, { subscribed: false });
    await named('new', { subscribed: false });
    expect((await list(path)).total).toBe(1);
    const unsubscribed = await list(`${path}?reason=unsubscribed_at_freeze`);
    expect(unsubscribed).toMatchObject({ total: 3, hasMore: false });
    expect(unsubscribed.data[0]).toEqual({
      contact: { id: back.id, email: back.email },
      emailId: null,
      executionId: null,
      outcome: null,
      reasonCode: 'unsubscribed_at_freeze',
      error: null,
      arm: null,
      inTest: false,
      opens: 0,
      clicks: 0,
      sentAt: null,
      deliveredAt: null,
      bouncedAt: null,
      openedAt: null,
      clickedAt: null,
      humanOpenedAt: null,
      humanClickedAt: null,
      convertedAt: null,
    });
    const contacts = (page: { data: Item[] }) => page.data.map((item) => item.contact.id);
    expect(contacts(unsubscribed)).toEqual([back.id, both.id, out.id]);
    const ofTopic = await list(`${path}?reason=topic_unsubscribed_at_freeze`);
    expect([contacts(ofTopic), ofTopic.total]).toEqual([[left.id], 1]);
    const first = await list(`${path}?reason=unsubscribed_at_freeze&limit=2`);
    const second = await list(
      `${path}?reason=unsubscribed_at_freeze&limit=2&cursor=${first.cursor}`,
    );
    expect([...contacts(first), ...contacts(second)]).toEqual(contacts(unsubscribed));
    expect(second).toMatchObject({ hasMore: false, total: 0 });
    const searched = await list(`${path}?reason=unsubscribed_at_freeze&search=OUT-`);
    expect([contacts(searched), searched.total]).toEqual([[out.id], 1]);
    expect((await list(`${path}?reason=unsubscribed_at_freeze&outcome=sent`)).data).toEqual([]);
    for (const [contactId, reasonCode] of [
      [back.id, 'unsubscribed_at_freeze'],
      [left.id, 'topic_unsubscribed_at_freeze'],
    ]) {
      expect(await list(`${path}/${contactId}`)).toMatchObject({ outcome: null, reasonCode });
    }
  });

  it('refuses unknown outcomes, reasons and cursors', async () => {
    const id = await insertTestCampaign(db, projectId);
    const path = `/campaigns/${id}/recipients`;
    const asked = await shop.call('GET', `${path}?outcome=nope&reason=nope&cursor=zz`);
    expect(refusal(asked)).toEqual([
      422,
      'VALIDATION_ERROR',
      'cursor invalid_string',
      'outcome invalid_enum_value',
      'reason invalid_enum_value',
    ]);
    const { cursor } = await list('/emails?limit=1');
    expect(refusal(await shop.call('GET', `${path}?cursor=${cursor}`))).toContain(
      'cursor invalid_string',
    );
  });

  it('shows nothing to other projects', async () => {
    const id = await insertTestCampaign(db, projectId, { frozen_at: at });
    const { id: contactId } = await contact();
    await insertTestEmail(db, { projectId, contactId, campaignId: id });
    const asked = await shop.api.request('GET', `/campaigns/${id}/recipients`, {
      key: shop.other.secretKey,
    });
    expect(refusal(asked)).toEqual([404, 'CAMPAIGN_NOT_FOUND']);
  });
});

describe('GET /templates/{id}/recipients and /templates/{id}/stats', { timeout: 60_000 }, () => {
  it('lists and counts the mail that was made from a template', async () => {
    const id = await shop.createTemplate();
    const ids = await oneOfEach(undefined, { template_id: id });
    await finds(`/templates/${id}/recipients`, ids);
    const { body } = await shop.call('GET', `/templates/${id}/stats`);
    expect(body).toEqual({
      success: true,
      data: {
        total: 19,
        sentCount: 7,
        deliveredCount: 5,
        openedCount: 1,
        clickedCount: 1,
        bouncedCount: 1,
        complainedCount: 1,
        unsubscribedCount: 1,
        heldCount: 2,
        renderedPlainlyCount: 0,
        uncertainCount: 2,
        outcomes: { sent: 7, failed: 2, withheld: 2, held: 2, pending: 4, unknown: 2 },
        reasons: {
          recipient_refused: 1,
          provider_refused: 1,
          frequency_cap: 2,
          suppressed: 1,
          delivery_unknown: 1,
          delivery_unsettled: 1,
          queued: 2,
          schedule: 1,
          retry: 1,
          quiet_hours: 1,
        },
        reachRate: (5 / 19) * 100,
        humanOpenedCount: 1,
        machineOpenedCount: 0,
        humanClickedCount: 0,
        machineClickedCount: 1,
        humanOpenRate: (1 / 7) * 100,
        humanClickRate: 0,
        deliveryRate: (5 / 7) * 100,
        openRate: (1 / 7) * 100,
        clickRate: (1 / 7) * 100,
        bounceRate: (1 / 7) * 100,
        complaintRate: (1 / 7) * 100,
        unsubscribeRate: (1 / 7) * 100,
      },
    });
    expect((await list(`/templates/${id}/recipients?reason=unsubscribed_at_freeze`)).data).toEqual(
      [],
    );
  });

  it('counts the mail of a period, both ends included, and its sources together', async () => {
    const id = await shop.createTemplate();
    const { id: contactId, email } = await contact();
    await shop.send({ to: email, template: id });
    const campaignId = await insertTestCampaign(db, projectId, { template_id: id });
    const january = new Date('2026-01-15T12:00:00.000Z');
    const unsubscribed = { unsubscribed_at: january, created_at: january, template_id: id };
    await insertTestEmail(db, { projectId, contactId, campaignId }, unsubscribed);
    await insertTestEmail(db, { projectId, contactId }, unsubscribed);
    const statsOf = async (query: string) => (await list(`/templates/${id}/stats?${query}`)).data;
    expect(await statsOf('')).toMatchObject({
      total: 3,
      outcomes: { sent: 2, pending: 1 },
      unsubscribedCount: 1,
    });
    const at = january.toISOString();
    expect(await statsOf(`startDate=${at}&endDate=${at}`)).toMatchObject({ total: 2, reasons: {} });
    expect(await statsOf('endDate=2026-01-15')).toMatchObject({ total: 0, reachRate: 0 });
    const asked = await shop.call('GET', `/templates/${id}/stats?startDate=2026-02-30`);
    expect(refusal(asked)).toEqual([422, 'VALIDATION_ERROR', 'startDate invalid_date']);
  });

  it.each(['recipients', 'stats'])('answers 404 to %s of a template elsewhere', async (path) => {
    const id = await shop.createTemplate();
    const asked = await shop.api.request('GET', `/templates/${id}/${path}`, {
      key: shop.other.secretKey,
    });
    expect(refusal(asked)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    const none = await shop.call('GET', `/templates/${randomUUID()}/${path}`);
    expect(refusal(none)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
  });
});
