import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { countLinkClicks, type JudgedClick } from '../../../db/engagement/links.ts';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import { engagementOf } from '../../support/projects/engagement.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { db } = shop.api;
const projectId = shop.project.id;

const personal = 'https://shop.test/?u={{id}}';
const imprint = 'https://shop.test/imprint';
const body =
  `<a href="${personal}">Shop</a> <a href="${imprint}">Imprint</a> <a href="${personal}">Shop</a>` +
  '<a href="{{unsubscribeUrl}}">Leave</a>';

async function contact(): Promise<{ id: string; email: string }> {
  const { body: made } = await shop.call('POST', '/contacts', { email: newAddress() });
  return { id: made.id, email: made.email };
}

const at = new Date('2026-12-01T08:00:00Z');
const judged = (emailId: string, given: Partial<JudgedClick> = {}): JudgedClick => ({
  emailId,
  link: 'https://shop.test/?u=1',
  linkId: linkIdOf(personal),
  at,
  was: null,
  verdict: 'human',
  ...given,
});
const count = (...clicks: JudgedClick[]) => transact(db, (tx) => countLinkClicks(tx, clicks));
const linksAt = async (path: string) => (await shop.call('GET', path)).body.links;

const zeros = {
  clicks: 0,
  emails: 0,
  humanClicks: 0,
  humanEmails: 0,
  machineClicks: 0,
  firstAt: null,
  lastAt: null,
};

/** Creates a workflow whose only step sends the template. */
async function stepWith(templateId: string): Promise<string> {
  const { body: workflow } = await shop.call('POST', '/workflows', { name: 'Welcome' });
  const { body: step } = await shop.call('POST', `/workflows/${workflow.id}/steps`, {
    type: 'SEND_EMAIL',
    name: 'Mail',
    config: {},
    templateId,
  });
  return `/workflows/${workflow.id}/steps/${step.id}`;
}

describe('GET …/links', () => {
  it('lists a link with a variable once for all recipients, with its positions and clicks', async () => {
    const campaignId = await insertTestCampaign(db, projectId, { body, frozen_at: at });
    const given = { projectId, campaignId };
    const mails = await Promise.all(
      [1, 2, 3].map(async () =>
        insertTestEmail(db, { ...given, contactId: (await contact()).id }, { clicked_at: at }),
      ),
    );
    const path = `/campaigns/${campaignId}/links`;
    const unclicked = [
      { linkId: linkIdOf(personal), url: personal, positions: [1, 3], ...zeros },
      { linkId: linkIdOf(imprint), url: imprint, positions: [2], ...zeros },
    ];
    expect(await linksAt(path)).toEqual(unclicked);
    await count(...mails.map((id, n) => judged(id, { link: `https://shop.test/?u=${n}` })));
    await count(judged(mails[0]!, { verdict: 'machine', at: new Date(at.getTime() + 5000) }));
    const counts = { clicks: 4, emails: 3, humanClicks: 3, humanEmails: 3, machineClicks: 1 };
    const [firstAt, lastAt] = [at.toISOString(), '2026-12-01T08:00:05.000Z'];
    expect(await linksAt(path)).toEqual([
      { ...unclicked[0], ...counts, firstAt, lastAt },
      unclicked[1],
    ]);
  });

  it('lists the links of all arms of an experiment before their first click', async () => {
    const other = 'https://shop.test/other';
    const links = [personal, imprint, imprint, other];
    const ofB = links.map((url) => `<a href="${url}">Shop</a>`).join('');
    const arms = [
      { id: 'a', body: null },
      { id: 'b', body: ofB },
    ];
    const given = { body, frozen_at: at, experiment: JSON.stringify({ arms }) };
    const id = await insertTestCampaign(db, projectId, given);
    expect(await linksAt(`/campaigns/${id}/links`)).toEqual([
      { linkId: linkIdOf(personal), url: personal, positions: [1, 3], ...zeros },
      { linkId: linkIdOf(imprint), url: imprint, positions: [2, 3], ...zeros },
      { linkId: linkIdOf(other), url: other, positions: [4], ...zeros },
    ]);
  });

  it('is empty for a campaign whose audience is not fixed', async () => {
    const id = await insertTestCampaign(db, projectId, { body, status: 'DRAFT' });
    expect(await linksAt(`/campaigns/${id}/links`)).toEqual([]);
  });

  it('lists the links of the present body of a template, and others that were clicked', async () => {
    const id = await shop.createTemplate({ body });
    const step = await stepWith(id);
    const owners = { template_id: id, workflow_step_id: step.split('/').at(-1)! };
    const mail = await insertTestEmail(
      db,
      { projectId, contactId: (await contact()).id },
      { clicked_at: at, ...owners },
    );
    await count(judged(mail, { link: imprint, linkId: linkIdOf(imprint) }));
    await shop.call('PATCH', `/templates/${id}`, { body: `<a href="${personal}">Shop</a>` });
    for (const path of [`/templates/${id}/links`, `${step}/links`]) {
      expect(await linksAt(path)).toMatchObject([
        { url: imprint, positions: [], humanEmails: 1 },
        { url: personal, positions: [1], humanEmails: 0 },
      ]);
    }
  });

  it('lists the links of a template that is long', async () => {
    const id = await shop.createTemplate({ body: body + '<p>{{name}}</p>'.repeat(9_000) });
    expect(await linksAt(`/templates/${id}/links`)).toHaveLength(2);
  });

  it('counts clicks once their verdicts are known, and follows a verdict that is revised', async () => {
    const mails = engagementOf(shop.api, shop.project, (await contact()).id);
    const mail = await mails.sentMail([imprint, 'https://shop.test/sale']);
    const path = `/campaigns/${mail.campaignId}/links`;
    await mail.click();
    await mail.click({ agent: 'curl/8.5.0' });
    expect(await linksAt(path)).toEqual([]);
    await mails.settle();
    const counts = { linkId: linkIdOf(imprint), url: imprint, clicks: 2, emails: 1 };
    const person = { ...counts, humanClicks: 1, humanEmails: 1, machineClicks: 1 };
    expect(await linksAt(path)).toMatchObject([person]);
    await mails.settle();
    expect(await linksAt(path)).toMatchObject([person]);
    await mail.click({ method: 'HEAD' });
    await mails.settle();
    const machine = { ...counts, humanClicks: 0, humanEmails: 0, machineClicks: 2 };
    expect(await linksAt(path)).toMatchObject([machine]);
    const { body: who } = await shop.call(
      'GET',
      `/campaigns/${mail.campaignId}/recipients?link=${linkIdOf(imprint)}`,
    );
    expect(who.data).toMatchObject([{ emailId: mail.id, link: { clicks: 2, humanClicks: 0 } }]);
  });

  it('returns 404 for what another project has, and 401 for a public key', async () => {
    const templateId = await shop.createTemplate({ body });
    const campaignId = await insertTestCampaign(db, projectId, { frozen_at: at });
    const step = await stepWith(templateId);
    const paths = [`/campaigns/${campaignId}`, `/templates/${templateId}`, step];
    for (const path of paths.flatMap((one) => [`${one}/links`, `${one}/recipients?link=x`])) {
      const foreign = await shop.api.request('GET', path, { key: shop.other.secretKey });
      expect([path, foreign.status]).toEqual([path, 404]);
      const open = await shop.api.request('GET', path, { key: shop.project.publicKey });
      expect([path, ...refusal(open)]).toEqual([path, 401, 'INVALID_API_KEY']);
    }
    const none = await shop.call('GET', `${step.replace(/[^/]+$/, randomUUID())}/links`);
    expect(refusal(none)).toEqual([404, 'STEP_NOT_FOUND']);
  });
});

describe('GET …/recipients?link=', () => {
  it('lists who clicked the link, newest mail first, together with other filters', async () => {
    const campaignId = await insertTestCampaign(db, projectId, { body, frozen_at: at });
    const people = [await contact(), await contact(), await contact()];
    const mails: string[] = [];
    for (const [n, { id: contactId }] of people.entries()) {
      const fields = {
        clicked_at: at,
        created_at: new Date(at.getTime() - n * 1000),
        ...(n === 1 && { bounced_at: at, status: 'BOUNCED' }),
      };
      mails.push(await insertTestEmail(db, { projectId, contactId, campaignId }, fields));
    }
    await count(judged(mails[0]!), judged(mails[0]!, { verdict: 'unknown' }), judged(mails[1]!));
    await count(judged(mails[2]!, { link: imprint, linkId: linkIdOf(imprint) }));
    const path = `/campaigns/${campaignId}/recipients?link=${linkIdOf(personal)}`;
    const { body: all } = await shop.call('GET', path);
    expect([all.total, all.hasMore]).toEqual([2, false]);
    const firstAt = at.toISOString();
    expect(all.data).toMatchObject([
      { contact: people[0], emailId: mails[0], link: { clicks: 2, humanClicks: 1, firstAt } },
      { contact: people[1], emailId: mails[1], link: { clicks: 1, humanClicks: 1, firstAt } },
    ]);
    const { body: page } = await shop.call('GET', `${path}&limit=1`);
    expect([page.data.length, page.total, page.hasMore]).toEqual([1, 2, true]);
    const { body: next } = await shop.call('GET', `${path}&limit=1&cursor=${page.cursor}`);
    expect([next.data[0].emailId, next.hasMore]).toEqual([mails[1], false]);
    const { body: bounced } = await shop.call('GET', `${path}&outcome=bounced`);
    expect([bounced.total, bounced.data[0].emailId]).toEqual([1, mails[1]]);
    const { body: named } = await shop.call('GET', `${path}&search=${people[0]!.email}`);
    expect([named.total, named.data[0].emailId]).toEqual([1, mails[0]]);
    const { body: failed } = await shop.call('GET', `${path}&reason=frequency_cap`);
    expect([failed.total, failed.data]).toEqual([0, []]);
  });

  it('is empty for an unknown link, and an item has no link without the filter', async () => {
    const campaignId = await insertTestCampaign(db, projectId, { frozen_at: at });
    await insertTestEmail(db, { projectId, contactId: (await contact()).id, campaignId });
    const path = `/campaigns/${campaignId}/recipients`;
    const { body: none } = await shop.call('GET', `${path}?link=0123456789abcdef`);
    expect(none).toEqual({ data: [], hasMore: false, total: 0 });
    const { body: all } = await shop.call('GET', path);
    expect(all.data[0]).not.toHaveProperty('link');
    const out = await shop.call('GET', `${path}?link=x&reason=unsubscribed_at_freeze`);
    expect(out.body).toEqual({ data: [], hasMore: false, total: 0 });
  });
});
