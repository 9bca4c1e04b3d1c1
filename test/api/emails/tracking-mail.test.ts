import { describe, expect, it } from 'vitest';
import { pixelOf } from '../../support/pixel.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

const link = 'https://shop.test/a?b=1';
const body = `<p>Hi <a href="${link}">shop</a> <a href="{{unsubscribeUrl}}">stop</a></p>`;

let count = 0;

/** Sends a mail of a class. Returns the delivered mail, and its row. */
async function send(type: 'TRANSACTIONAL' | 'MARKETING' = 'TRANSACTIONAL') {
  const from = `team@${engine.domain}`;
  const template = await engine.call('POST', '/templates', {
    name: 'T',
    subject: 'Hi',
    body,
    type,
    from,
  });
  count += 1;
  const to = `ada${count}@x.example`;
  const sent = await engine.call('POST', '/v1/send', {
    to,
    template: template.body.id,
    subscribed: true,
  });
  expect(sent.status).toBe(200);
  const [mail] = await engine.mailsTo(to, 1);
  const { body: message } = await engine.api.request('GET', `/local/mailbox/${mail!.id}`);
  return { id: mail!.id, html: message.html as string, text: message.text as string };
}

const emailOf = (id: string) =>
  engine.api.db.selectFrom('email').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

async function setTracking(tracking: string): Promise<void> {
  await engine.api.db
    .updateTable('project')
    .set({ tracking })
    .where('id', '=', engine.project.id)
    .execute();
}

const hrefs = (html: string) =>
  [...html.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'));

describe('tracked mail', () => {
  it('has counted links that lead to their target, and a pixel', async () => {
    const { id, html, text } = await send();
    const [shop, stop] = hrefs(html);
    expect(shop).toMatch(`${engine.api.url}/t/c/${id}?u=`);
    const followed = await engine.api.request('GET', shop!.slice(engine.api.url.length));
    expect([followed.status, followed.headers.get('location')]).toEqual([302, link]);
    expect(stop).toMatch(new RegExp(`^${engine.api.url}/unsubscribe/[0-9a-f-]{36}\\?e=${id}$`));
    const pixel = pixelOf(engine.api, id);
    expect(html).toContain(`<img src="${engine.api.url}${pixel}"`);
    await engine.api.request('GET', pixel);
    expect(await emailOf(id)).toMatchObject({ status: 'CLICKED', opens: 1, clicks: 1 });
    // The text part and the stored body keep the original links.
    expect(text).toContain(`(${link})`);
    expect(text).not.toContain('/t/');
    const { body: stored } = await engine.call('GET', `/emails/${id}`);
    expect((await emailOf(id)).body).not.toContain('/t/');
    expect(JSON.stringify(stored)).not.toContain('/t/o/');
  });

  it('is none where the project does not want it', async () => {
    await setTracking('DISABLED');
    const { html } = await send('MARKETING');
    expect(hrefs(html)[0]).toBe(link);
    expect(html).not.toContain('/t/o/');
    await setTracking('ENABLED');
  });

  it('is marketing alone where the project wants that', async () => {
    await setTracking('MARKETING_ONLY');
    const [transactional, marketing] = [await send(), await send('MARKETING')];
    expect(transactional.html).not.toMatch(/\/t\/[oc]\//);
    expect(marketing.html).toContain(pixelOf(engine.api, marketing.id));
    expect(hrefs(marketing.html)[0]).toContain('/t/c/');
    await setTracking('ENABLED');
  });
});

describe('mail to the simulator', () => {
  const cases: [string, string, string[], boolean][] = [
    ['success', 'DELIVERED', ['email.sent', 'email.delivery'], true],
    ['success+label', 'DELIVERED', ['email.sent', 'email.delivery'], true],
    ['bounce', 'BOUNCED', ['email.sent', 'email.bounce'], false],
    ['softbounce+a+b', 'SENT', ['email.sent', 'email.bounce'], true],
    ['complaint', 'COMPLAINED', ['email.sent', 'email.delivery', 'email.complaint'], false],
    ['somebody', 'DELIVERED', ['email.sent', 'email.delivery'], true],
  ];
  it.each(cases)('%s@simulator.test ends as %s', async (name, status, names, subscribed) => {
    const sent = await engine.call('POST', '/v1/send', {
      to: `${name}@simulator.test`,
      subject: 'Hi',
      body: '<p>Hi</p>',
      from: `team@${engine.domain}`,
      subscribed: true,
    });
    const [{ email: id, contact }] = sent.body.data.emails;
    const events = await waitFor(`${names.length} events`, async () => {
      const rows = await engine.api.db
        .selectFrom('event')
        .select('name')
        .where('email_id', '=', id as string)
        .orderBy('recorded_at')
        .execute();
      return rows.length >= names.length ? rows : null;
    });
    expect(events.map((event) => event.name)).toEqual(names);
    expect((await emailOf(id as string)).status).toBe(status);
    const { body: shown } = await engine.call('GET', `/contacts/${contact.id}`);
    expect(shown.subscribed).toBe(subscribed);
  });
});
