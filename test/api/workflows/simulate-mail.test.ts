import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { days, graphOf, type Step } from '../../support/projects/simulated-graph.ts';

/** Mails and webhooks of a simulated execution. */

const shop = await useShop();
const { body: workflow } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });

async function play(given: object) {
  const person = { contact: { email: newAddress() } };
  const path = `/workflows/${workflow.id}/simulate`;
  const { status, body } = await shop.call('POST', path, { ...person, ...given });
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

describe('a simulation', () => {
  it('withholds mail that the suppression list and the choice of topics withhold', async () => {
    const { call } = shop;
    const { body: topic } = await call('POST', '/topics', {
      key: 'offers',
      name: 'Offers',
      default: 'subscribed',
    });
    const mail = { type: 'MARKETING', body: '<a href="{{manageUrl}}">Settings</a>' };
    const templateId = await shop.createTemplate(mail);
    const graph = graphOf({
      plain: ['SEND_EMAIL', {}, { templateId }],
      offers: ['SEND_EMAIL', { topicId: topic.id }, { templateId }],
    });
    const outcomes = async (given: object) =>
      (await play({ graph, ...given })).emails.map(
        ({ outcome, reason }: { outcome: string; reason: string | null }) => reason ?? outcome,
      );
    const { body: contact } = await call('POST', '/contacts', { email: newAddress() });
    const known = { contactId: contact.id as string, contact: undefined };
    const [plain, offers] = (await play({ ...known, graph })).emails;
    expect(plain.body).not.toContain('t=offers');
    expect(offers.body).toContain('t=offers');
    expect(await outcomes(known)).toEqual(['send', 'send']);
    await call('PUT', `/contacts/${contact.id}/topics`, { topics: { offers: false } });
    expect(await outcomes(known)).toEqual(['send', 'topic_unsubscribed']);
    const email = newAddress();
    await call('POST', '/suppression-list', { emails: [contact.email, email] });
    expect(await outcomes(known)).toEqual(['suppressed', 'topic_unsubscribed']);
    expect(await outcomes({ contact: { email } })).toEqual(['suppressed', 'suppressed']);
  });

  it('leaves out the bodies of webhooks when the answer would exceed 2 MB', async () => {
    const text = 'x'.repeat(60_000);
    const hooks = Array.from({ length: 40 }, (_, n): [string, Step] => [
      `hook${n}`,
      [
        'WEBHOOK',
        { url: 'https://shop.example/', method: 'POST', body: { text: '{{data.text}}' } },
      ],
    ]);
    const graph = graphOf(Object.fromEntries(hooks));
    const played = await play({ graph, contact: { email: newAddress(), data: { text } } });
    expect([played.status, played.truncated, played.webhooks.length]).toEqual([
      'COMPLETED',
      true,
      40,
    ]);
    expect(played.webhooks.every(({ body }: { body: unknown }) => body === null)).toBe(true);
    expect(JSON.stringify(played).length).toBeLessThan(2 * 1024 * 1024);
  });

  it('cuts addresses and answers of webhooks when the answer would exceed 2 MB', async () => {
    const text = 'x'.repeat(60_000);
    const hook = (n: number): [string, Step] => [
      `hook${n}`,
      ['WEBHOOK', { url: 'https://shop.example/?text={{data.text}}', method: 'GET' }],
    ];
    const hooks = Array.from({ length: 40 }, (_, n) => hook(n));
    const webhooks = {
      hook0: { response: { items: Array.from({ length: 1_000 }, () => 'item') } },
    };
    const graph = graphOf(Object.fromEntries(hooks));
    const contact = { email: newAddress(), data: { text } };
    const played = await play({ graph, contact, webhooks });
    expect([played.status, played.truncated, played.path.length]).toEqual(['COMPLETED', true, 41]);
    const { url, response, statusCode } = played.path[1].output;
    expect([url.length, response, statusCode]).toEqual([1_000, null, 200]);
    expect(JSON.stringify(played).length).toBeLessThan(500_000);
  });

  it('judges the suppression list by the time of the simulation', async () => {
    const templateId = await shop.createTemplate();
    const email = newAddress();
    const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
    await shop.call('POST', '/suppression-list', {
      emails: [email],
      scope: 'all',
      until: hours(12),
    });
    const outcomes = async (graph: object, startAt: string) =>
      (await play({ contact: { email }, graph, startAt })).emails.map(
        ({ outcome }: { outcome: string }) => outcome,
      );
    const mail: Step = ['SEND_EMAIL', {}, { templateId }];
    const twice = graphOf({ now: mail, wait: days(1), later: mail });
    expect(await outcomes(twice, hours(0))).toEqual(['withheld', 'send']);
    expect(await outcomes(twice, hours(24))).toEqual(['send', 'send']);
  });

  it('judges mail to other addresses, and topics of templates, as executions do', async () => {
    const { call } = shop;
    const { body: topic } = await call('POST', '/topics', {
      key: 'fallback',
      name: 'Fallback',
      default: 'subscribed',
    });
    const templateId = await shop.createTemplate({ type: 'MARKETING', topicId: topic.id });
    const custom = { recipient: { type: 'CUSTOM', customEmail: 'Boss@People.test' } };
    const graph = graphOf({
      ofTemplate: ['SEND_EMAIL', {}, { templateId }],
      without: ['SEND_EMAIL', { topicId: null }, { templateId }],
      custom: ['SEND_EMAIL', custom, { templateId }],
    });
    const { body: contact } = await call('POST', '/contacts', { email: newAddress() });
    await call('PUT', `/contacts/${contact.id}/topics`, { topics: { fallback: false } });
    const known = { contactId: contact.id as string, contact: undefined, graph };
    const shown = async () =>
      (await play(known)).emails.map(({ to, outcome, reason }: Record<string, string | null>) => [
        to,
        reason ?? outcome,
      ]);
    expect(await shown()).toEqual([
      [contact.email, 'topic_unsubscribed'],
      [contact.email, 'send'],
      ['boss@people.test', 'send'],
    ]);
    await call('POST', '/suppression-list', { emails: ['boss@people.test'] });
    expect((await shown())[2]).toEqual(['boss@people.test', 'suppressed']);
  });

  it('fails a webhook to a host that its secret is not bound to', async () => {
    await shop.call('PUT', '/secrets/BOUND', { value: 'v', hosts: ['api.shop.example'] });
    const headers = { authorization: '{{secret.BOUND}}' };
    const graph = graphOf({
      hook: ['WEBHOOK', { url: 'https://{{data.host}}/', headers, onFailure: 'fail' }],
    });
    const to = (host: string) => play({ graph, contact: { email: newAddress(), data: { host } } });
    expect(await to('api.shop.example')).toMatchObject({ status: 'COMPLETED' });
    expect(await to('other.example')).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining(
        'secret not allowed: BOUND must not be sent to other.example.',
      ),
    });
  });
});
