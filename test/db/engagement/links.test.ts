import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import {
  countClickedMail,
  countLinkClicks,
  type JudgedClick,
  listClickedLinks,
} from '../../../db/engagement/links.ts';
import { anyOf } from '../../../db/expressions.ts';
import { foldLinkTally, readAddresses } from '../../../db/engagement/link-upkeep.ts';
import { contentLinks } from '../../../domain/links/content-links.ts';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import { listLinks, otherLinkId } from '../../../domain/links/link-list.ts';
import { limits } from '../../../domain/limits.ts';
import { useApi } from '../../support/api.ts';
import { dropContacts } from '../../support/mail-tables.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { rowsRead } from '../../support/rows-read.ts';

const api = await useApi();
const { db } = api;
const { id: projectId } = await api.createProject((await api.signUp()).cookie);

async function newMail(fields: Parameters<typeof insertTestEmail>[2]): Promise<string> {
  const { id: contactId } = await db
    .insertInto('contact')
    .values({ project_id: projectId, email: `${randomUUID()}@people.test`, subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  return insertTestEmail(db, { projectId, contactId }, { clicked_at: new Date(), ...fields });
}

const sale = 'https://shop.test/sale';
const click = (emailId: string, given: Partial<JudgedClick> = {}): JudgedClick => ({
  emailId,
  link: sale,
  linkId: linkIdOf(given.link ?? sale),
  at: new Date('2026-12-01T08:00:00Z'),
  was: null,
  verdict: 'human',
  ...given,
});
/** Locks the mails, as their caller does, and counts. */
const count = (...clicks: JudgedClick[]) =>
  transact(db, async (tx) => {
    const ids = clicks.map(({ emailId }) => emailId);
    await sql`select from email where id = ${anyOf(ids)} order by id for update`.execute(tx);
    await countLinkClicks(tx, clicks);
  });
const fold = async () => {
  while (await foldLinkTally(db));
};
const linksOf = async (ownerId: string) => listLinks([], await listClickedLinks(db, ownerId));
const renderer = { links: async (source: string) => contentLinks(source) };

describe('counting clicks by link', () => {
  it('counts clicks and distinct mails, for each campaign, template and step of a mail', async () => {
    const campaignId = await insertTestCampaign(db, projectId);
    const templateId = randomUUID();
    const mails = [
      await newMail({ campaign_id: campaignId, template_id: templateId }),
      await newMail({ campaign_id: campaignId, template_id: templateId }),
    ];
    const [first, last] = [new Date('2026-12-01T07:00:00Z'), new Date('2026-12-02T09:00:00Z')];
    await count(click(mails[0]!), click(mails[0]!, { at: last, verdict: 'unknown' }));
    await count(click(mails[1]!, { at: first, verdict: 'machine' }));
    const expected = {
      linkId: linkIdOf(sale),
      url: sale,
      positions: [],
      clicks: 3,
      emails: 2,
      humanClicks: 1,
      humanEmails: 1,
      machineClicks: 1,
      firstAt: first,
      lastAt: last,
    };
    for (const ownerId of [campaignId, templateId]) {
      expect(await linksOf(ownerId)).toEqual([expected]);
    }
    await fold();
    expect(await linksOf(campaignId)).toEqual([expected]);
  });

  it('follows a verdict that is revised, and counts the click once', async () => {
    const owner = randomUUID();
    const mail = await newMail({ workflow_step_id: owner });
    await count(click(mail), click(mail));
    expect(await linksOf(owner)).toMatchObject([{ humanClicks: 2, humanEmails: 1 }]);
    await count(click(mail, { was: 'human', verdict: 'machine' }));
    const half = { clicks: 2, emails: 1, humanClicks: 1, humanEmails: 1, machineClicks: 1 };
    expect(await linksOf(owner)).toMatchObject([half]);
    await count(click(mail, { was: 'human', verdict: 'machine' }));
    const none = { clicks: 2, emails: 1, humanClicks: 0, humanEmails: 0, machineClicks: 2 };
    expect(await linksOf(owner)).toMatchObject([none]);
    await fold();
    expect(await linksOf(owner)).toMatchObject([none]);
  });

  it('counts the mails in which a link was clicked without reading them', async () => {
    const ownerId = randomUUID();
    const mails = [];
    for (let n = 0; n < 30; n += 1) mails.push(await newMail({ template_id: ownerId }));
    await count(...mails.map((mail) => click(mail)), click(mails[0]!));
    await fold();
    await sql`analyze link_tally`.execute(db);
    const ask = () => countClickedMail(db, { ownerId, linkId: linkIdOf(sale) });
    expect(await ask()).toBe(30);
    expect(await rowsRead(db, ask)).toBeLessThan(10);
    await dropContacts(
      db,
      sql<boolean>`id = (select contact_id from email where id = ${mails[0]})`,
    );
    expect(await ask()).toBe(29);
    await fold();
    expect(await ask()).toBe(29);
  });

  it('keeps the sums when a contact is deleted, and nothing of its mail', async () => {
    const owner = randomUUID();
    const mail = await newMail({ template_id: owner });
    await count(click(mail), click(mail, { link: 'https://shop.test/other' }));
    const before = await linksOf(owner);
    await dropContacts(db, sql<boolean>`id = (select contact_id from email where id = ${mail})`);
    expect(await linksOf(owner)).toEqual(before.map((link) => ({ ...link, url: null })));
    const { rows } = await sql`select from email_link where email_id = ${mail}`.execute(db);
    expect(rows).toEqual([]);
  });

  it('counts nothing for mail without a campaign, template or step, or that was deleted', async () => {
    const mail = await newMail({});
    await count(click(mail), click(randomUUID()));
    const { rows } = await sql`select from email_link where email_id = ${mail}`.execute(db);
    expect(rows).toEqual([]);
  });

  it('counts links beyond 500 together, also those that are clicked at the same time', async () => {
    const owner = randomUUID();
    const mails = [await newMail({ template_id: owner }), await newMail({ template_id: owner })];
    const made = Array.from({ length: limits.linksMax + 20 }, (_, n) => `https://shop.test/${n}`);
    const clicks = made.map((link, n) => click(mails[n < 260 ? 0 : 1]!, { link }));
    const parts = Array.from({ length: 8 }, (_, n) => clicks.filter((_one, m) => m % 8 === n));
    await Promise.all(parts.map((part) => count(...part)));
    const links = await linksOf(owner);
    expect(links).toHaveLength(limits.linksMax + 1);
    const rest = { linkId: otherLinkId, url: null, clicks: 20, emails: 2, humanEmails: 2 };
    expect(links.at(-1)).toMatchObject(rest);
    await count(...clicks);
    expect((await linksOf(owner)).at(-1)).toMatchObject({ ...rest, clicks: 40 });
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from email_link where owner_id = ${owner}`.execute(db);
    expect(rows[0]!.count).toBe(limits.linksMax + 2);
  });

  it('stays exact while several count and fold', async () => {
    const owner = randomUUID();
    const mails = await Promise.all(
      Array.from({ length: 8 }, () => newMail({ template_id: owner })),
    );
    const work = mails.map(async (mail) => {
      for (let times = 0; times < 10; times += 1) await count(click(mail), click(mail));
    });
    const folding = [0, 1].map(async () => {
      for (let times = 0; times < 20; times += 1) await foldLinkTally(db);
    });
    await Promise.all([...work, ...folding]);
    const sums = { clicks: 160, emails: 8, humanClicks: 160, humanEmails: 8 };
    expect(await linksOf(owner)).toMatchObject([sums]);
    await fold();
    expect(await linksOf(owner)).toMatchObject([sums]);
    const { rows } = await sql`select from link_tally where owner_id = ${owner}`.execute(db);
    expect(rows).toHaveLength(1);
  });

  it('reads the counts of a link without its clicks', async () => {
    const owner = randomUUID();
    const mail = await newMail({ template_id: owner });
    await count(...Array.from({ length: 300 }, () => click(mail)));
    await fold();
    await sql`analyze link_tally, tracked_link`.execute(db);
    expect(await rowsRead(db, () => listClickedLinks(db, owner))).toBeLessThanOrEqual(2);
  });
});

describe('the address of a link', () => {
  const written = 'https://shop.test/?u={{id}}';
  const personal = (emailId: string, n: number) =>
    click(emailId, { link: `https://shop.test/?u=${n}`, linkId: linkIdOf(written) });

  it('becomes what the author wrote, and stays so when the content changes', async () => {
    const campaignId = await insertTestCampaign(db, projectId);
    const body = `<a href="${written}">x</a>`;
    const sender = { from_email: '', from_name: '' };
    const content = { campaign_id: campaignId, project_id: projectId, subject: '', ...sender };
    await db
      .insertInto('campaign_content')
      .values([
        { ...content, version: 1, body },
        { ...content, version: 2, body: 'No link' },
      ])
      .execute();
    const mail = await newMail({ campaign_id: campaignId });
    await count(personal(mail, 1), personal(mail, 2));
    while (await readAddresses(db, renderer));
    expect(await linksOf(campaignId)).toMatchObject([{ url: written, clicks: 2, emails: 1 }]);
  });

  it('goes with the last mail in which it was clicked, unless the content has it', async () => {
    const owner = await insertTestCampaign(db, projectId);
    await db
      .insertInto('campaign_content')
      .values({
        campaign_id: owner,
        version: 1,
        project_id: projectId,
        subject: '',
        from_email: '',
        from_name: '',
        body: `<a href="${sale}">x</a>`,
      })
      .execute();
    const mails = [await newMail({ campaign_id: owner }), await newMail({ campaign_id: owner })];
    const fromData = 'https://shop.test/?name=Ada';
    await count(...mails.flatMap((mail) => [click(mail), click(mail, { link: fromData })]));
    while (await readAddresses(db, renderer));
    const urls = async () => (await linksOf(owner)).map(({ url }) => url).toSorted();
    const drop = (mail: string) =>
      dropContacts(db, sql<boolean>`id = (select contact_id from email where id = ${mail})`);
    await drop(mails[0]!);
    expect(await urls()).toEqual([fromData, sale]);
    await drop(mails[1]!);
    expect(await urls()).toEqual([sale, null]);
  });

  it('is the target of the first click if no content has the link', async () => {
    const owner = randomUUID();
    await count(personal(await newMail({ template_id: owner }), 7));
    while (await readAddresses(db, renderer));
    expect(await linksOf(owner)).toMatchObject([{ url: 'https://shop.test/?u=7' }]);
    await sql`analyze tracked_link`.execute(db);
    expect(await rowsRead(db, () => readAddresses(db, renderer))).toBe(0);
  });
});
