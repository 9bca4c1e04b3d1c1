import { bySecretKey } from '../../support/actors.ts';
import { randomUUID } from 'node:crypto';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, it } from 'vitest';
import { ageEvents, pixelOf } from '../../support/pixel.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

const engine = await useEngine({
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});
afterEach(() => dropContacts(engine.api.db));

const contact = async (given: object = {}) => {
  const email = `${randomUUID()}@people.test`;
  const { body } = await engine.call('POST', '/contacts', { email, ...given });
  return { id: body.id as string, email };
};
const recipient = async (campaignId: string, contactId: string) =>
  (await engine.call('GET', `/campaigns/${campaignId}/recipients/${contactId}`)).body;
const emailOf = async (campaignId: string, contactId: string) => {
  const { body } = await engine.call(
    'GET',
    `/emails?campaignId=${campaignId}&contactId=${contactId}`,
  );
  return (await engine.call('GET', `/emails/${body.data[0].id}`)).body;
};
const raw = async (emailId: string) => {
  const row = await engine.api.db
    .selectFrom('mailbox_message')
    .select('raw')
    .where('id', '=', emailId)
    .executeTakeFirstOrThrow();
  return PostalMime.parse(row.raw);
};

describe('a campaign that is sent', () => {
  it('reaches those who are subscribed, and shows what each mail went through', async () => {
    const [ada, bob, eve] = [
      await contact({ data: { name: 'Ada & Bert' } }),
      await contact(),
      await contact({ subscribed: false }),
    ];
    const id = await createCampaign(engine);
    expect(await act(engine, id, 'send')).toMatchObject({ status: 'SENDING', totalRecipients: 2 });
    const sent = await campaignIn(engine, id, 'SENT');
    expect(sent).toMatchObject({ sentCount: 2, deliveredCount: 2, totalRecipients: 2 });
    expect(sent.sentAt).not.toBeNull();

    expect(await recipient(id, ada.id)).toMatchObject({ included: true, reason: 'sent' });
    expect(await recipient(id, eve.id)).toMatchObject({
      included: false,
      reason: 'unsubscribed_at_freeze',
      emailId: null,
      frozenAt: expect.any(String),
    });
    const later = await contact();
    expect(await recipient(id, later.id)).toMatchObject({
      included: false,
      reason: 'created_after_freeze',
    });

    const email = await emailOf(id, ada.id);
    expect(email).toMatchObject({
      subject: 'Hello Ada & Bert',
      status: 'DELIVERED',
      sourceType: 'CAMPAIGN',
      campaignId: id,
      toEmail: ada.email,
      fromName: 'My shop',
      body: expect.stringContaining('<p>20% off, Ada &amp; Bert. <a'),
    });
    expect(email.body).toContain(`/unsubscribe/${ada.id}?e=${email.id}`);
    expect(email.headers.map(({ name }: { name: string }) => name)).toEqual([
      'List-Unsubscribe',
      'List-Unsubscribe-Post',
      'Precedence',
      'Auto-Submitted',
      'X-Auto-Response-Suppress',
    ]);
    expect(email.trace).toEqual([
      { at: email.createdAt, state: 'queued', detail: { causedBy: bySecretKey } },
      { at: expect.any(String), state: 'handed_over', detail: { attempt: 1 } },
      { at: expect.any(String), state: 'accepted', detail: { messageId: `${email.id}@local` } },
      { at: expect.any(String), state: 'delivered', detail: null },
    ]);
    const mail = await raw(email.id);
    expect(mail.subject).toBe('Hello Ada & Bert');
    expect(mail.text).toContain('20% off, Ada & Bert. Shop (https://shop.test/)');
    expect(mail.html).toContain(pixelOf(engine.api, email.id));
    const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
    expect(header('precedence')).toBe('bulk');
    expect(header('list-unsubscribe')).toBe(
      `<${engine.api.url}/unsubscribe/${ada.id}?e=${email.id}>`,
    );
    expect(header('x-everpost-email')).toBe(email.id);

    const { body: history } = await engine.call('GET', `/events/contact/${bob.id}`);
    expect(history.events.map(({ name }: { name: string }) => name)).toEqual([
      'email.delivery',
      'email.sent',
    ]);
    const { body: stats } = await engine.call('GET', `/campaigns/${id}/stats`);
    expect(stats.data).toMatchObject({ sentCount: 2, deliveryRate: 100, uncertainCount: 0 });
  });

  it('says of a contact whose making was committed later that it came after', async () => {
    await contact();
    const id = await createCampaign(engine);
    const late = await engine.api.db.transaction().execute(async (tx) => {
      const row = await tx
        .insertInto('contact')
        .values({
          project_id: engine.project.id,
          email: `${randomUUID()}@people.test`,
          subscribed: true,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await act(engine, id, 'send');
      await campaignIn(engine, id, 'SENT');
      return row.id;
    });
    expect(await recipient(id, late)).toMatchObject({
      included: false,
      reason: 'created_after_freeze',
    });
  });

  it('as TRANSACTIONAL reaches everybody, without footer and opt-out headers', async () => {
    const contacts = [await contact(), await contact(), await contact({ subscribed: false })];
    const id = await createCampaign(engine, { messageType: 'TRANSACTIONAL' });
    await act(engine, id, 'send');
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 3 });
    const email = await emailOf(id, contacts[2]!.id);
    expect(email.body).not.toContain('/unsubscribe/');
    expect(email.headers.map(({ name }: { name: string }) => name)).not.toContain(
      'List-Unsubscribe',
    );
  });

  it('reaches the members of a segment and those a condition describes', async () => {
    await contact({ data: { plan: 'pro' } });
    await contact({ data: { plan: 'free' } });
    const filters = {
      operator: 'AND',
      conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
    };
    const { body: segment } = await engine.call('POST', '/segments', { name: 'Pro', filters });
    for (const audience of [
      { audienceType: 'FILTERED', audienceFilter: filters },
      { audienceType: 'SEGMENT', segmentId: segment.id },
    ]) {
      const id = await createCampaign(engine, audience);
      await act(engine, id, 'send');
      expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 1 });
    }
  });

  it('counts an email that is opened three times once', async () => {
    const [ada] = [await contact(), await contact()];
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    const { id: emailId } = await emailOf(id, ada.id);
    for (let n = 0; n < 3; n++) {
      const pixel = await engine.api.request('GET', pixelOf(engine.api, emailId));
      expect(pixel.status).toBe(200);
      await ageEvents(engine.api.db, emailId, 11);
    }
    const stats = await waitFor('the opens', async () => {
      const { opens } = await emailOf(id, ada.id);
      return opens === 3 && (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;
    });
    expect(stats).toMatchObject({ sentCount: 2, openedCount: 1, openRate: 50 });
  });

  it('shows its progress in its run, and continues when the run is terminated', async () => {
    await insertContacts(engine, 20);
    const id = await createCampaign(engine);
    const run = engine.temporal.client.workflow.getHandle(`campaign-${id}`);
    await engine.stopWorker();
    await act(engine, id, 'send');
    await waitFor('the run to be started', () => run.describe().catch(() => null));
    await run.terminate('Somebody has.');
    await engine.startWorker();
    await engine.api.db
      .updateTable('campaign')
      .set({ reconciled_at: new Date(Date.now() - 180_000) })
      .where('id', '=', id)
      .execute();
    await sweepNow(engine);
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 20 });
    await run.result();
  });
});

describe('a campaign with a time', () => {
  const soon = (ms: number) => ({ scheduledFor: new Date(Date.now() + ms).toISOString() });

  it('is sent at the time it was given last, once', async () => {
    const { email } = await contact();
    const id = await createCampaign(engine);
    expect(await act(engine, id, 'send', soon(700))).toMatchObject({ status: 'SCHEDULED' });
    const later = soon(2_500);
    expect(await act(engine, id, 'send', later)).toMatchObject({ status: 'SCHEDULED' });
    await engine.call('PUT', `/campaigns/${id}`, { subject: 'Edited' });
    const sent = await campaignIn(engine, id, 'SENT');
    expect(sent.sentAt >= later.scheduledFor).toBe(true);
    expect(sent.scheduledFor).toBe(later.scheduledFor);
    const mails = await engine.mailsTo(email, 1);
    expect(mails.map(({ subject }) => subject)).toEqual(['Edited']);
  });

  it('is sent now when that is asked for', async () => {
    await contact();
    const id = await createCampaign(engine);
    await act(engine, id, 'send', soon(3_600_000));
    expect(await act(engine, id, 'send')).toMatchObject({ status: 'SENDING', scheduledFor: null });
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 1 });
  });

  it('is not sent once it is cancelled', async () => {
    const { id: contactId } = await contact();
    const id = await createCampaign(engine);
    const time = soon(1_000);
    await act(engine, id, 'send', time);
    await act(engine, id, 'cancel');
    // The run is started after the response, so it may come a moment later.
    const run = engine.temporal.client.workflow.getHandle(`campaign-${id}`);
    await waitFor('its run', () => run.describe().catch(() => null));
    await run.result();
    await waitFor('its time', () => Date.now() > Date.parse(time.scheduledFor));
    await sweepNow(engine);
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'CANCELLED', sentCount: 0 });
    expect(await emailStatuses(engine, id)).toEqual({});
    expect(await recipient(id, contactId)).toMatchObject({ included: false, reason: 'withheld' });
  });

  it('is cancelled when its sender domain is no longer verified then', async () => {
    await contact();
    const id = await createCampaign(engine);
    await act(engine, id, 'send', soon(1_000));
    const verified = (status: string) =>
      engine.api.db
        .updateTable('domain')
        .set({ status })
        .where('name', '=', engine.domain)
        .execute();
    await verified('failed');
    await campaignIn(engine, id, 'CANCELLED');
    await verified('verified');
  });

  it('is SENT without recipients when its audience is empty then', async () => {
    const { id: contactId } = await contact();
    const id = await createCampaign(engine);
    await act(engine, id, 'send', soon(1_000));
    await engine.api.db
      .updateTable('contact')
      .set({ subscribed: false })
      .where('id', '=', contactId)
      .execute();
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({
      sentCount: 0,
      totalRecipients: 0,
    });
  });
});

describe('the test of a campaign', () => {
  it('goes to any address in local mode, unchanged and without a trace', async () => {
    const id = await createCampaign(engine);
    const to = `${randomUUID()}@elsewhere.test`;
    const { status, body } = await engine.call('POST', `/campaigns/${id}/test`, { email: to });
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    const [mail] = await engine.mailsTo(to, 1);
    expect(mail!.subject).toBe('[TEST] Hello {{name ?? you}}');
    const parsed = await raw(mail!.id);
    expect(parsed.html).toContain('20% off, {{name ?? you}}.');
    expect(parsed.html).not.toContain('/t/o/');
    expect(parsed.headers.find(({ key }) => key === 'x-everpost-test')?.value).toBe('true');
    expect(parsed.headers.find(({ key }) => key === 'list-unsubscribe')).toBeUndefined();
    expect(await emailStatuses(engine, id)).toEqual({});
    const run = engine.temporal.client.workflow.getHandle(`campaign-test-${mail!.id}`);
    await run.result();
    // The mail is deleted, and a second start finds none to send.
    const kept = await engine.api.db.selectFrom('system_mail').selectAll().execute();
    expect(kept).toEqual([]);
  });
});
