import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { beginExecution, createTemplate } from '../../support/histories/executions.ts';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';

const engine = await useEngine();
const { call, api } = engine;

const body =
  '<p><a href="https://shop.test/a?x=1#top">a</a> <a href="https://shop.test/?utm_source=mine">b</a> ' +
  '<a href="https://other.test/">c</a></p>';

async function newContact(): Promise<string> {
  const email = `${randomUUID()}@people.test`;
  expect((await call('POST', '/contacts', { email })).status).toBe(201);
  return email;
}

/** Returns the targets of the links in the last mail to an address: in its HTML and in its text. */
async function linksTo(address: string) {
  const mails = await engine.mailsTo(address, 1);
  const { body: mail } = await api.request('GET', `/local/mailbox/${mails.at(-1)!.id}`);
  const hrefs = [...String(mail.html).matchAll(/href="([^"]*)"/g)].map(([, url]) =>
    url!.replaceAll('&amp;', '&'),
  );
  const html = hrefs.map((url) => {
    const u = url.startsWith(api.url) ? new URL(url).searchParams.get('u') : null;
    return u === null ? url : Buffer.from(u, 'base64url').toString();
  });
  const text = [...String(mail.text).matchAll(/https?:[^\s\])]+/g)].map(([url]) => url);
  const isOwn = (url: string) => !url.includes('/unsubscribe/');
  return { html: html.filter(isOwn), text: text.filter(isOwn), mail };
}

async function setTracking(tracking: string) {
  const { db } = api;
  await db.updateTable('project').set({ tracking }).where('id', '=', engine.project.id).execute();
}

const plain = [
  'https://shop.test/a?x=1#top',
  'https://shop.test/?utm_source=mine',
  'https://other.test/',
];

it('adds UTM parameters to the links of a campaign, tracked or not', async () => {
  const utm = { source: 'news', medium: 'email', campaign: '{campaign}', content: '{template}' };
  await call('PUT', '/link-policy', { utm, utmHosts: ['shop.test'] });
  const address = await newContact();
  const texts = { name: 'Spring Sale!', body, utm: { medium: null, term: 'x y' } };
  const added = 'utm_campaign=spring-sale&utm_term=x%20y';
  for (const tracking of ['ENABLED', 'DISABLED']) {
    await setTracking(tracking);
    const id = await createCampaign(engine, texts);
    await act(engine, id, 'send', {});
    await campaignIn(engine, id, 'SENT');
    const { html, text } = await linksTo(address);
    const expected = [
      `https://shop.test/a?x=1&utm_source=news&${added}#top`,
      `https://shop.test/?utm_source=mine&${added}`,
      'https://other.test/',
    ];
    expect([html, text]).toEqual([expected, expected]);
    await api.db.deleteFrom('mailbox_message').execute();
  }
  await setTracking('ENABLED');
});

it('keeps the parameters that a campaign had when its sending began', async () => {
  const address = await newContact();
  await call('PUT', '/link-policy', { utm: { source: 'before' }, utmHosts: [] });
  const id = await createCampaign(engine, { body });
  await engine.stopWorker();
  await act(engine, id, 'send', {});
  await call('PUT', '/link-policy', { utm: { source: 'after' } });
  await engine.startWorker();
  const { html } = await linksTo(address);
  expect(html.at(-1)).toBe('https://other.test/?utm_source=before');
});

it('adds them to the mail of a step, and the click has them', async () => {
  const utm = {
    source: 'w',
    campaign: '{workflow}',
    content: '{step}',
    term: '{template}{campaign}',
  };
  await call('PUT', '/link-policy', { utm, utmHosts: ['shop.test'] });
  const templateId = await createTemplate(engine, { body });
  const { email, until } = await beginExecution(engine, {
    steps: [{ type: 'SEND_EMAIL', name: 'First mail', templateId }],
  });
  await until('COMPLETED');
  const { html, text, mail } = await linksTo(email);
  const added = 'utm_campaign=journey&utm_term=template&utm_content=first-mail';
  const expected = [
    `https://shop.test/a?x=1&utm_source=w&${added}#top`,
    `https://shop.test/?utm_source=mine&${added}`,
    'https://other.test/',
  ];
  expect([html, text]).toEqual([expected, expected]);
  const [click] = String(mail.html).match(/\/t\/c\/[^"]*/) ?? [];
  const clicked = await api.request('GET', click!.replaceAll('&amp;', '&'));
  expect(clicked.headers.get('location')).toBe(expected[0]);
  const events = await api.db
    .selectFrom('event')
    .innerJoin('contact', 'contact.id', 'event.contact_id')
    .select('event.data')
    .where('contact.email', '=', email)
    .where('event.name', '=', 'email.click')
    .execute();
  expect(events).toMatchObject([{ data: { link: expected[0] } }]);
});

it('leaves the links of /v1/send and of campaign tests as they are', async () => {
  await call('PUT', '/link-policy', { utm: { source: 'news' }, utmHosts: [] });
  const [sent, tested] = [await newContact(), await newContact()];
  const mail = { from: `team@${engine.domain}`, subject: 'Hello', body, to: sent };
  expect((await call('POST', '/v1/send', mail)).status).toBe(200);
  const id = await createCampaign(engine, { body });
  expect((await call('POST', `/campaigns/${id}/test`, { email: tested })).status).toBe(200);
  expect((await linksTo(sent)).html).toEqual(plain);
  expect((await linksTo(tested)).html).toEqual(plain);
});
