import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { browser, engagementOf } from '../../support/projects/engagement.ts';
import { waitFor } from '../../support/wait-for.ts';

const api = await useApi();
const project = await api.createProject((await api.signUp()).cookie);
const body = { email: 'ada@x.example' };
const made = await api.request('POST', '/contacts', { key: project.secretKey, body });
const contactId = made.body.id as string;
const { sentMail, setDelivered, settle, verdicts, emailOf, campaignOf, eventsOf } = engagementOf(
  api,
  project,
  contactId,
);

const apple = 'Mozilla/5.0';
const google =
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)';

describe('a click', () => {
  it('is too fast a second after the delivery, and a person’s three seconds after it', async () => {
    const fast = await sentMail(undefined, 1);
    const slow = await sentMail(undefined, 3);
    for (const mail of [fast, slow]) await mail.click();
    expect(await verdicts(fast.id)).toEqual([{ kind: 'click', verdict: null, rule: null }]);
    await settle();
    expect(await verdicts(fast.id)).toMatchObject([{ verdict: 'machine', rule: 'too_fast' }]);
    expect(await verdicts(slow.id)).toMatchObject([{ verdict: 'human', rule: null }]);
  });

  it('is a machine’s with a known user agent, and unknown without one', async () => {
    const mail = await sentMail();
    await mail.click({ agent: 'curl/8.5.0' });
    await mail.click({ agent: '' });
    await settle();
    expect(await verdicts(mail.id)).toMatchObject([
      { verdict: 'machine', rule: 'known_agent' },
      { verdict: 'unknown', rule: 'no_agent' },
    ]);
  });

  it('is a machine’s if the same client asks with HEAD before it', async () => {
    const mail = await sentMail();
    expect((await mail.click({ method: 'HEAD' })).status).toBe(302);
    await mail.click();
    await settle();
    expect(await verdicts(mail.id)).toMatchObject([{ verdict: 'machine', rule: 'head_request' }]);
    expect(await emailOf(mail.id)).toMatchObject({ clicks: 1, clicked_by_machines: true });
  });

  it('becomes a machine’s if the same client asks with HEAD later, and the counts follow', async () => {
    const mail = await sentMail();
    await mail.click();
    await settle();
    expect((await emailOf(mail.id)).human_clicked_at).not.toBeNull();
    expect(await campaignOf(mail.campaignId)).toMatchObject({
      human_clicked_count: 1,
      machine_clicked_count: 0,
    });
    await mail.open({ method: 'HEAD' });
    await settle();
    expect(await verdicts(mail.id)).toMatchObject([{ verdict: 'machine', rule: 'head_request' }]);
    expect(await emailOf(mail.id)).toMatchObject({
      human_clicked_at: null,
      clicked_by_machines: true,
    });
    expect(await campaignOf(mail.campaignId)).toMatchObject({
      clicked_count: 1,
      human_clicked_count: 0,
      machine_clicked_count: 1,
    });
    const clicked = await sql`select clicks, human_clicks, machine_clicks from email_link
      where owner_id = ${mail.campaignId}`.execute(api.db);
    expect(clicked.rows).toEqual([{ clicks: 1, human_clicks: 0, machine_clicks: 1 }]);
    const moments = await sql`select from email_moment
      where email_id = ${mail.id} and kind = 10`.execute(api.db);
    expect(moments.rows).toEqual([]);
    const human = (await eventsOf(mail.id)).filter(({ name }) => name === 'email.human_click');
    expect(human).toHaveLength(1);
  });

  it('becomes a machine’s if a delivery shortly before it is reported later', async () => {
    const mail = await sentMail();
    await setDelivered(mail.id, null);
    await mail.click();
    await settle();
    expect(await verdicts(mail.id)).toMatchObject([{ verdict: 'human' }]);
    await api.services.feedback.record(
      {
        emailId: mail.id,
        messageId: null,
        acceptedAt: null,
        receipt: null,
        feedback: [{ kind: 'delivery', at: new Date(Date.now() - 1_500) }],
      },
      0,
    );
    await settle();
    expect(await verdicts(mail.id)).toMatchObject([{ verdict: 'machine', rule: 'too_fast' }]);
  });
});

describe('clicks on all links within five seconds', () => {
  const links = ['https://a.example/', 'https://b.example/', 'https://c.example/'];

  it('are a machine’s, and the counts of clicks stay as ever', async () => {
    const mail = await sentMail(links);
    for (const link of [0, 1, 2]) await mail.click({ link });
    await settle();
    const all = Array.from({ length: 3 }, () => ({ verdict: 'machine', rule: 'all_links' }));
    expect(await verdicts(mail.id)).toMatchObject(all);
    expect(await emailOf(mail.id)).toMatchObject({ clicks: 3, status: 'CLICKED' });
    expect(await campaignOf(mail.campaignId)).toMatchObject({
      clicked_count: 1,
      machine_clicked_count: 1,
    });
  });

  it('are a person’s if a link is left out', async () => {
    const mail = await sentMail(links);
    for (const link of [0, 1]) await mail.click({ link });
    await settle();
    const all = Array.from({ length: 2 }, () => ({ verdict: 'human', rule: null }));
    expect(await verdicts(mail.id)).toMatchObject(all);
  });
});

describe('an open', () => {
  it('is a machine’s by Apple’s proxy, unknown by Google’s, and a person’s by a browser', async () => {
    const mails = [await sentMail(), await sentMail(), await sentMail()];
    for (const [index, agent] of [apple, google, browser].entries())
      await mails[index]!.open({ agent });
    const fresh = await sentMail(undefined, 5);
    await fresh.open({ agent: google });
    await settle();
    expect(await verdicts(mails[0]!.id)).toMatchObject([
      { verdict: 'machine', rule: 'prefetch_proxy' },
    ]);
    expect(await verdicts(mails[1]!.id)).toMatchObject([
      { verdict: 'unknown', rule: 'image_proxy' },
    ]);
    expect(await verdicts(mails[2]!.id)).toMatchObject([{ verdict: 'human', rule: null }]);
    expect(await verdicts(fresh.id)).toMatchObject([
      { verdict: 'machine', rule: 'prefetch_proxy' },
    ]);
    expect(await emailOf(mails[1]!.id)).toMatchObject({
      human_opened_at: null,
      opened_by_machines: false,
    });
  });

  it('by a person is not hidden behind one by a machine that counts for both', async () => {
    const mail = await sentMail();
    await mail.open({ agent: apple });
    await mail.open();
    await mail.open();
    await settle();
    expect(await emailOf(mail.id)).toMatchObject({ opens: 1, opened_by_machines: false });
    expect(await verdicts(mail.id)).toMatchObject([{ verdict: 'machine' }, { verdict: 'human' }]);
    expect(await campaignOf(mail.campaignId)).toMatchObject({
      opened_count: 1,
      human_opened_count: 1,
      machine_opened_count: 0,
    });
  });
});

describe('a scanner and then a person', () => {
  it('count as a person, with one event, within ten seconds', async () => {
    const mail = await sentMail();
    await mail.click({ agent: 'python-requests/2.32' });
    await mail.click();
    const at = Date.now();
    const human = await waitFor('the click of a person', async () =>
      (await eventsOf(mail.id)).find(({ name }) => name === 'email.human_click'),
    );
    expect(Date.now() - at).toBeGreaterThan(4_500);
    expect(Date.now() - at).toBeLessThan(10_000);
    expect(human.data).toMatchObject({
      emailId: mail.id,
      campaignId: mail.campaignId,
      link: 'https://shop.example/',
      isFirst: true,
    });
    expect(await campaignOf(mail.campaignId)).toMatchObject({
      human_clicked_count: 1,
      machine_clicked_count: 0,
    });
    const names = (await eventsOf(mail.id)).map(({ name }) => name);
    expect(names).toEqual(['email.click', 'email.click', 'email.human_click']);
  });
});

describe('the client of a request', () => {
  it('is a hash for an hour, and then nothing', async () => {
    const mail = await sentMail();
    await mail.click({ agent: 'A Unique Agent' });
    await mail.open({ method: 'HEAD', agent: 'A Unique Agent' });
    const rows = async () => {
      const { rows: found } = await sql<{ text: string; client: string | null }>`
        select client, engagement::text as text from engagement
          where email_id = ${mail.id} order by at, id`.execute(api.db);
      return found;
    };
    const [click, head] = await rows();
    expect(click!.client).toMatch(/^[\w-]{22}$/);
    expect(head!.client).toBe(click!.client);
    for (const { text } of await rows()) expect(text).not.toMatch(/Unique|127\.0\.0\.1|::1/);
    await sql`update engagement set at = at - interval '61 minutes'
      where email_id = ${mail.id}`.execute(api.db);
    await settle();
    expect(await rows()).toMatchObject([{ client: null }]);
  });
});

describe('the API', () => {
  const get = async (path: string) =>
    (await api.request('GET', path, { key: project.secretKey })).body;

  it('shows who opened and clicked, in mail, recipients and statistics', async () => {
    const read = await sentMail();
    await read.click({ agent: 'curl/8.5.0' });
    await read.open();
    const before = await get(`/emails/${read.id}`);
    expect(before.engagement).toMatchObject([
      { kind: 'click', verdict: null, rule: null },
      { kind: 'open', link: null, linkId: null, verdict: null },
    ]);
    expect(before).not.toHaveProperty('humanOpenedAt');
    await settle();
    const after = await get(`/emails/${read.id}`);
    expect(after.engagement).toMatchObject([
      { kind: 'click', link: 'https://shop.example/', verdict: 'machine', rule: 'known_agent' },
      { kind: 'open', verdict: 'human', rule: null },
    ]);
    expect(Object.keys(after.engagement[0]).toSorted()).toEqual([
      'at',
      'kind',
      'link',
      'linkId',
      'rule',
      'verdict',
    ]);
    expect(after.humanOpenedAt).toBe(after.engagement[1].at);
    expect(after).not.toHaveProperty('humanClickedAt');
    const campaign = `/campaigns/${read.campaignId}`;
    expect((await get(`${campaign}/stats`)).data).toMatchObject({
      humanOpenedCount: 1,
      machineOpenedCount: 0,
      humanClickedCount: 0,
      machineClickedCount: 1,
    });
    const listed = await get(`${campaign}/recipients?outcome=humanOpened`);
    expect(listed.data).toMatchObject([
      { emailId: read.id, humanOpenedAt: after.humanOpenedAt, humanClickedAt: null },
    ]);
    expect((await get(`${campaign}/recipients?outcome=humanClicked`)).data).toEqual([]);
  });
});
