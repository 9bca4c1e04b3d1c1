import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createTemplate, createWorkflow } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Topics decide when the mail is due, not when it is requested. */

const engine = await useEngine();
const { call } = engine;

const createTopic = async (byDefault: 'subscribed' | 'unsubscribed') => {
  const key = `t${randomUUID()}`.replaceAll('-', '').slice(0, 40);
  const topic = { key, name: 'News', default: byDefault, visibility: 'public' };
  return (await call('POST', '/topics', topic)).body as { id: string; key: string };
};
const createContact = async (more: object = {}) => {
  const email = newAddress();
  const { body } = await call('POST', '/contacts', { email, ...more });
  return { id: body.id as string, email };
};
const choose = (id: string, topics: object) => call('PUT', `/contacts/${id}/topics`, { topics });
const ended = (id: string) =>
  waitFor('the end of the mail', async () => {
    const { body } = await call('GET', `/emails/${id}`);
    return ['PENDING', 'SENDING'].includes(body.status) ? null : body;
  });

const optOutOf = ({ headers }: { headers: { name: string; value: string }[] }): string =>
  headers.find(({ name }) => name === 'List-Unsubscribe')?.value ?? '';

describe('mail of a topic', () => {
  it('of /v1/send fails for a contact that has not joined it, and arrives after that', async () => {
    const { id: topicId, key } = await createTopic('unsubscribed');
    const template = await createTemplate(engine, { type: 'MARKETING' });
    await call('PATCH', `/templates/${template}`, { topicId });
    const { id, email } = await createContact();
    const send = (to: string) => call('POST', '/v1/send', { to, template });
    const first = await send(email);
    expect(first.status).toBe(200);
    const failed = await ended(first.body.data.emails[0].email);
    expect(failed).toMatchObject({ status: 'FAILED', error: 'topic_unsubscribed', topicId });
    const last = failed.trace.at(-1);
    expect([last.state, last.detail]).toEqual(['withheld', { reason: 'topic_unsubscribed' }]);
    await choose(id, { [key]: true });
    const second = await ended((await send(email)).body.data.emails[0].email);
    expect(second).toMatchObject({ error: null, topicId });
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
    const link = `/unsubscribe/${id}?e=${second.id}`;
    expect(optOutOf(second).endsWith(`${link}&t=${key}>`)).toBe(true);
    expect(second.body).toContain(`${link}&amp;t=${key}"`);

    const out = await createContact({ subscribed: false });
    await choose(out.id, { [key]: true });
    const refused = await send(out.email);
    expect([refused.status, refused.body.error.code]).toEqual([400, 'CONTACT_UNSUBSCRIBED']);
  });

  it('of a campaign is for those who are subscribed to both, and says who is not', async () => {
    const { id: topicId, key } = await createTopic('unsubscribed');
    const [on, left, off] = [
      await createContact({ topics: [key] }),
      await createContact({ topics: [key] }),
      await createContact({ topics: [key], subscribed: false }),
    ];
    await choose(left.id, { [key]: false });
    const { body } = await call('POST', '/campaigns', {
      name: 'News',
      subject: 'News',
      body: '<p>News <a href="{{manageUrl}}">x</a></p>',
      from: `team@${engine.domain}`,
      audienceType: 'ALL',
      topicId,
    });
    const { id, totalRecipients } = body.data;
    expect(totalRecipients).toBe(1);
    await call('POST', `/campaigns/${id}/send`, {});
    await waitFor('the campaign', async () => {
      const { body: now } = await call('GET', `/campaigns/${id}`);
      return now.data.status === 'SENT';
    });
    expect(await engine.mailsTo(on.email, 1)).toHaveLength(1);
    expect((await call('GET', `/campaigns/${id}`)).body.data.totalRecipients).toBe(1);
    const reasonOf = async ({ id: contact }: { id: string }) =>
      (await call('GET', `/campaigns/${id}/recipients/${contact}`)).body.reason;
    // A choice after the freeze does not change the reasons.
    await choose(left.id, { [key]: true });
    expect([await reasonOf(on), await reasonOf(left), await reasonOf(off)]).toEqual([
      'sent',
      'topic_unsubscribed_at_freeze',
      'unsubscribed_at_freeze',
    ]);
    expect((await call('DELETE', `/topics/${topicId}`)).status).toBe(204);
  });

  it('of a step fails likewise, and the flow goes on', async () => {
    const [{ id: ofTemplate, key: ofKey }, { id: topicId, key }] = [
      await createTopic('subscribed'),
      await createTopic('subscribed'),
    ];
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    await call('PATCH', `/templates/${templateId}`, { topicId: ofTemplate });
    const eventName = randomUUID();
    const custom = newAddress();
    const { id: workflowId } = await createWorkflow(engine, {
      eventName,
      steps: [
        { type: 'SEND_EMAIL', name: 'News', config: { topicId }, templateId },
        { type: 'SEND_EMAIL', name: 'Other', templateId },
        {
          type: 'SEND_EMAIL',
          name: 'Copy',
          config: { topicId, recipient: { type: 'CUSTOM', customEmail: custom } },
          templateId,
        },
      ],
    });
    const { id, email } = await createContact();
    await choose(id, { [key]: false });
    await call('POST', '/v1/track', { email, event: eventName });
    await waitFor('the execution', async () => {
      const { body } = await call('GET', `/workflows/${workflowId}/executions`);
      return body.executions[0]?.status === 'COMPLETED';
    });
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
    expect(await engine.mailsTo(custom, 1)).toHaveLength(1);
    const mails = await waitFor('the mails', async () => {
      const { body } = await call('GET', `/emails?contactId=${id}`);
      const { data } = body as { data: Record<string, unknown>[] };
      return data.some(({ status }) => status === 'PENDING' || status === 'SENDING') ? null : data;
    });
    const told = mails.map(({ toEmail, error, topicId: topic }) => [toEmail, error, topic]);
    const keys = mails.map((mail) => /&t=(\w+)>$/.exec(optOutOf(mail as never))?.[1]);
    expect(keys.toSorted()).toEqual([key, ofKey, undefined].toSorted());
    expect(told.toSorted()).toEqual(
      [
        [email, 'topic_unsubscribed', topicId],
        [email, null, ofTemplate],
        [custom, null, undefined],
      ].toSorted(),
    );
  });

  it.each([
    ['of plain placeholders', '<a href="{{manageUrl}}">Choose</a>'],
    ['with Liquid', '{% if true %}<a href="{{manageUrl}}">Choose</a>{% endif %}'],
  ])('of a campaign %s has its key in its links', async (_, content) => {
    const { id: topicId, key } = await createTopic('unsubscribed');
    const { id, email } = await createContact({ topics: [key] });
    const { body } = await call('POST', '/campaigns', {
      name: 'News',
      subject: 'News',
      body: `${content}<p>{{email}}</p>`,
      from: `team@${engine.domain}`,
      audienceType: 'ALL',
      topicId,
    });
    await call('POST', `/campaigns/${body.data.id}/send`, {});
    const [mail] = await engine.mailsTo(email, 1);
    const { html, text, headers } = (await engine.api.request('GET', `/local/mailbox/${mail!.id}`))
      .body;
    const { body: emails } = await call('GET', `/emails?campaignId=${body.data.id}`);
    const stored = await ended(emails.data[0].id);
    const link = (page: string) => `/${page}/${id}?e=${stored.id}`;
    expect(html).toContain(`${link('manage')}&amp;t=${key}"`);
    expect(html).toContain(`${link('unsubscribe')}&amp;t=${key}"`);
    expect(text).toContain(`${link('manage')}&t=${key}`);
    expect(headers['list-unsubscribe'].endsWith(`${link('unsubscribe')}&t=${key}>`)).toBe(true);
    expect(optOutOf(stored).endsWith(`${link('unsubscribe')}&t=${key}>`)).toBe(true);
  });
});
