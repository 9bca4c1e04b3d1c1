import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
} from '../../support/histories/executions.ts';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

interface Entry {
  at: string;
  type: string;
  title: string;
  detail: Record<string, unknown>;
  links: Record<string, string>;
}

/** Returns all entries of a contact, newest first, read page by page. */
async function timelineOf(contactId: string, { limit = 100, types = '' } = {}): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let cursor = ''; ;) {
    const query = `limit=${limit}${types && `&types=${types}`}${cursor && `&cursor=${cursor}`}`;
    const { status, body } = await engine.call('GET', `/contacts/${contactId}/timeline?${query}`);
    expect(status).toBe(200);
    entries.push(...body.data);
    if (!body.hasMore) return entries;
    cursor = body.cursor;
  }
}

/**
 * Creates a contact with everything: events, a mail, an execution, and a campaign that did not
 * reach it.
 */
async function withHistory() {
  const email = newAddress();
  const contactId = await createContact(engine, email, { data: { plan: 'pro' } });
  const templateId = await createTemplate(engine);
  const workflow = await createWorkflow(engine, {
    eventName: `ordered-${contactId}`,
    steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
  });
  await engine.call('POST', '/v1/track', {
    email,
    event: `ordered-${contactId}`,
    data: { total: 42 },
  });
  const { body: executions } = await waitFor('the execution', async () => {
    const answer = await engine.call('GET', `/workflows/${workflow.id}/executions`);
    return answer.body.executions[0]?.status === 'COMPLETED' && answer;
  });
  const [mail] = await engine.mailsTo(email, 1);
  await waitFor('the mail to be delivered', async () => {
    const { body } = await engine.call('GET', `/emails/${mail!.id}`);
    return body.status === 'DELIVERED';
  });
  await engine.call('PATCH', `/contacts/${contactId}`, { subscribed: false });
  // A campaign needs at least one recipient to be sent.
  await createContact(engine, newAddress(), { data: { plan: 'pro' } });
  const campaignId = await createCampaign(engine, { name: `For ${contactId}` });
  await act(engine, campaignId, 'send');
  await campaignIn(engine, campaignId, 'SENT');
  const execution = executions.executions[0].id as string;
  return { email, contactId, workflow: workflow.id, execution, campaignId, mail: mail!.id };
}

describe('GET /contacts/{id}/timeline', () => {
  it('shows a campaign whose topic the contact had left', async () => {
    const contactId = await createContact(engine, newAddress());
    const topic = { key: 'offers', name: 'Offers', default: 'subscribed' };
    const { body } = await engine.call('POST', '/topics', topic);
    const choose = (offers: boolean) =>
      engine.call('PUT', `/contacts/${contactId}/topics`, { topics: { offers } });
    await choose(false);
    await createContact(engine, newAddress());
    const campaignId = await createCampaign(engine, { name: 'Offers', topicId: body.id });
    await act(engine, campaignId, 'send');
    await campaignIn(engine, campaignId, 'SENT');
    // A later choice does not change the reason.
    await choose(true);
    const [missed] = (await timelineOf(contactId)).filter(({ type }) => type === 'not_reached');
    expect(missed).toMatchObject({
      title: 'Offers',
      detail: { reason: 'topic_unsubscribed_at_freeze' },
      links: { campaign: campaignId },
    });
  });

  it('lists what happened and what did not reach the contact, newest first, with why', async () => {
    const known = await withHistory();
    const entries = await timelineOf(known.contactId);
    expect(entries.map(({ type }) => type)).toEqual([
      'not_reached',
      'consent',
      'email',
      'execution',
      'event',
    ]);
    const [missed, consent, mail, execution, event] = entries;
    expect(missed).toMatchObject({
      title: `For ${known.contactId}`,
      detail: { reason: 'unsubscribed_at_freeze' },
      links: { campaign: known.campaignId },
    });
    expect(consent).toMatchObject({ title: 'Unsubscribed', detail: { data: { source: 'api' } } });
    expect(mail).toMatchObject({
      detail: { status: 'DELIVERED', sourceType: 'WORKFLOW', error: null },
      links: { email: known.mail, execution: known.execution, workflow: known.workflow },
    });
    expect(execution).toMatchObject({
      title: 'Journey',
      detail: { status: 'COMPLETED' },
      links: { execution: known.execution, workflow: known.workflow },
    });
    expect(event).toMatchObject({
      title: `ordered-${known.contactId}`,
      detail: { data: { total: 42 } },
      links: {},
    });
    expect(entries.map(({ at }) => at)).toEqual(
      entries
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    expect(await timelineOf(known.contactId, { limit: 1 })).toEqual(entries);
    const { body } = await engine.call('GET', `/contacts/${known.contactId}/timeline?limit=2`);
    expect([body.total, body.data.length]).toEqual([5, 2]);
    const later = `/contacts/${known.contactId}/timeline?limit=2&cursor=${body.cursor}`;
    expect((await engine.call('GET', later)).body.total).toBe(0);
  });

  it('shows the types that are asked for', async () => {
    const { contactId } = await withHistory();
    for (const type of ['not_reached', 'consent', 'email', 'execution', 'event']) {
      const entries = await timelineOf(contactId, { types: type, limit: 1 });
      expect(entries.map((entry) => entry.type)).toEqual([type]);
    }
    expect(await timelineOf(contactId, { types: 'segment' })).toEqual([]);
    const two = await timelineOf(contactId, { types: 'event,not_reached' });
    expect(two.map(({ type }) => type)).toEqual(['not_reached', 'event']);
  });

  it('shows a mail of a workflow that was withheld, and the segments that were entered', async () => {
    const email = newAddress();
    const contactId = await createContact(engine, email, { subscribed: false });
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const eventName = `news-${contactId}`;
    await createWorkflow(engine, {
      eventName,
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    await engine.call('POST', '/v1/track', { email, event: eventName });
    const filters = [{ field: 'email', operator: 'equals', value: email }];
    const { body: segment } = await engine.call('POST', '/segments', {
      name: `Of ${contactId}`,
      condition: { logic: 'AND', groups: [{ filters }] },
      trackMembership: true,
    });
    await engine.call('POST', `/segments/${segment.id}/compute`);
    const [missed] = await waitFor('the mail', async () => {
      const entries = await timelineOf(contactId, { types: 'not_reached' });
      return entries.length > 0 && entries;
    });
    expect(missed).toMatchObject({
      detail: { reason: 'withheld', error: 'contact_unsubscribed', sourceType: 'WORKFLOW' },
    });
    const [entered] = await timelineOf(contactId, { types: 'segment' });
    expect(entered).toMatchObject({
      title: `Entered the segment Of ${contactId}`,
      detail: { data: { segmentId: segment.id } },
    });
  });

  it('leaves out campaigns that were not for the contact, or older, or reached it', async () => {
    const filter = (plan: string) => ({
      audienceType: 'FILTERED',
      audienceFilter: {
        operator: 'AND',
        conditions: [{ field: 'data.plan', operator: 'equals', value: plan }],
      },
    });
    await createContact(engine, newAddress(), { data: { plan: 'gold' } });
    const send = async (given: object) => {
      const id = await createCampaign(engine, given);
      await act(engine, id, 'send');
      await campaignIn(engine, id, 'SENT');
      return id;
    };
    await send({});
    const email = newAddress();
    const contactId = await createContact(engine, email, { data: { plan: 'gold' } });
    await send(filter('gold'));
    await engine.call('PATCH', `/contacts/${contactId}`, {
      subscribed: false,
      data: { plan: 'x' },
    });
    await createContact(engine, newAddress(), { data: { plan: 'x' } });
    await send(filter('gold'));
    await send({ type: 'TRANSACTIONAL' });
    const missed = await send(filter('x'));
    const entries = await timelineOf(contactId, { limit: 1 });
    expect(entries.map(({ type, links }) => [type, links['campaign']])).toEqual([
      ['not_reached', missed],
      ['email', expect.any(String)],
      ['consent', undefined],
      ['email', expect.any(String)],
    ]);
  });

  it('refuses an unknown type, a cursor of another list, and a foreign contact', async () => {
    const contactId = await createContact(engine, newAddress());
    const path = `/contacts/${contactId}/timeline`;
    expect(refusal(await engine.call('GET', `${path}?types=mail`))).toEqual([
      422,
      'VALIDATION_ERROR',
      'types invalid_enum_value',
    ]);
    expect(refusal(await engine.call('GET', `${path}?cursor=zz`))).toEqual([
      422,
      'VALIDATION_ERROR',
      'cursor invalid_string',
    ]);
    const other = await engine.api.createProject((await engine.api.signUp()).cookie);
    const foreign = await engine.api.request('GET', path, { key: other.secretKey });
    expect(refusal(foreign)).toEqual([404, 'CONTACT_NOT_FOUND']);
  });
});
