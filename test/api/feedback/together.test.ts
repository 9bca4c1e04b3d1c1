import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { FeedbackQueue } from '../../../api/services/feedback-queue.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import { disableForReputation } from '../../../db/transactions/projects/suspend-project.ts';
import type { FeedbackAnswer } from '../../../db/transactions/mail/reports.ts';
import { type Database, transact } from '../../../db/database.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { sesEvent } from '../../support/fakes/ses-messages.ts';
import { useSnsFeedback } from '../../support/projects/sns-feedback.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Records the feedback of many requests in one transaction. */

const feedback = await useSnsFeedback();
const { api, fake, project, post, sentEmail, emailOf, campaignOf, eventsOf, namesOf } = feedback;
const { db, services } = api;

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 8, 0, second));
const delivery = { kind: 'delivery', at: at(1) } as const;
const opened = (second: number) => ({ kind: 'open', at: at(second) }) as const;

type Mail = Awaited<ReturnType<typeof sentEmail>>;

const report = ({ id }: Pick<Mail, 'id'>, receipt: string | null, ...given: Feedback[]) => ({
  emailId: id,
  messageId: null,
  feedback: given,
  acceptedAt: null,
  receipt,
});

/** Records reports in one transaction. */
const record = (mails: Mail[], reports: ReturnType<typeof report>[]) =>
  transact(db, (tx) => {
    const contacts = new Map(mails.map(({ id, contactId }) => [id, contactId]));
    const found = reports.map((one) => ({
      ...one,
      projectId: project.id,
      contactId: contacts.get(one.emailId)!,
    }));
    return recordFeedback(tx, found, { judge: disableForReputation, isUnreported: () => false });
  });

const sentEmails = (count: number, campaignId?: string) =>
  Promise.all(Array.from({ length: count }, () => sentEmail({}, campaignId)));

function signal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give: () => give() };
}

/** Runs `work` while another transaction holds a lock. */
async function whileLocked(take: (tx: Database) => Promise<unknown>, work: () => Promise<void>) {
  const [locked, done] = [signal(), signal()];
  const holding = db.transaction().execute(async (tx) => {
    await take(tx);
    locked.give();
    await done.given;
  });
  await locked.given;
  await work().finally(() => done.give());
  await holding;
}

const lock = (table: 'contact' | 'email' | 'campaign', id: string) => (tx: Database) =>
  sql`select from ${sql.table(table)} where id = ${id} for update`.execute(tx);

describe('feedback that arrives together', () => {
  it('is recorded in few transactions, each acknowledged after its own', async () => {
    const campaignId = await insertTestCampaign(db, project.id);
    const mails = await sentEmails(60, campaignId);
    const bodies = mails.map(({ id }) => fake.notification(sesEvent('Delivery', { emailId: id })));
    const answers = await Promise.all(bodies.map((body) => post(body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const receipts = bodies.map((body) => body['MessageId'] as string);
    const { rows } = await sql<{ all: number; transactions: number }>`
      select count(*)::int as all, count(distinct xmin::text)::int as transactions
        from report_receipt where id = any(${receipts})`.execute(db);
    expect(rows[0]?.all).toBe(60);
    expect(rows[0]?.transactions).toBeLessThan(20);
    expect((await campaignOf(campaignId)).delivered_count).toBe(60);
    for (const { contactId } of mails.slice(0, 5)) {
      expect(await namesOf(contactId)).toEqual(['email.delivery']);
    }
  });

  it('applies in its order to each message and its campaign', async () => {
    const campaignId = await insertTestCampaign(db, project.id);
    const other = await insertTestCampaign(db, project.id);
    const mails = [await sentEmail({}, campaignId), await sentEmail({}, other), await sentEmail()];
    const [first, second, third] = mails as [Mail, Mail, Mail];
    const bounce = { kind: 'bounce', at: at(9), bounceType: 'Permanent', text: 'no' } as const;
    await record(mails, [
      report(first, 'a', opened(3), opened(2)),
      report(second, null, bounce),
      report(first, 'b', delivery),
      report(third, null, {
        kind: 'click',
        at: at(4),
        link: 'https://shop.test/',
        linkId: '00112233445566ff',
      }),
      report(first, 'c', opened(5)),
      report(second, null, delivery),
    ]);
    const email = await emailOf(first.id);
    expect(email).toMatchObject({ status: 'OPENED', opens: 3, opened_at: at(2) });
    expect(email.delivered_at).toEqual(at(1));
    const opens = (await eventsOf(first.contactId)).filter(({ name }) => name === 'email.open');
    expect(opens.map(({ data }) => data)).toMatchObject([
      { opens: 1, isFirstOpen: true },
      { opens: 2, isFirstOpen: false },
      { opens: 3, isFirstOpen: false },
    ]);
    expect(await namesOf(first.contactId)).toEqual([
      'email.open',
      'email.open',
      'email.delivery',
      'email.open',
    ]);
    expect(await emailOf(second.id)).toMatchObject({ status: 'BOUNCED', error: 'no' });
    expect((await feedback.contactOf(second.contactId)).subscribed).toBe(false);
    expect((await feedback.contactOf(first.contactId)).subscribed).toBe(true);
    expect(await emailOf(third.id)).toMatchObject({ status: 'CLICKED', clicks: 1 });
    expect(await campaignOf(campaignId)).toMatchObject({ opened_count: 1, delivered_count: 1 });
    expect(await campaignOf(other)).toMatchObject({ bounced_count: 1, delivered_count: 1 });
  });

  it('counts once for each receipt, and opens of our own pixel once in ten seconds', async () => {
    const [mail, own] = (await sentEmails(2)) as [Mail, Mail];
    const pixel = { ...report(own, null, opened(1)), isOwnTracking: true };
    const again = report(mail, 'twice', opened(1));
    const first = await record([mail, own], [again, pixel, again]);
    expect(first).toEqual(['recorded', 'recorded', 'duplicate']);
    expect(await record([mail, own], [again, pixel])).toEqual(['duplicate', 'recorded']);
    expect((await emailOf(mail.id)).opens).toBe(1);
    expect((await emailOf(own.id)).opens).toBe(1);
  });

  it('is taken without the one report that the database refuses', async () => {
    const mails = await sentEmails(12);
    const bodies = mails.map(({ id }, n) => {
      const link = `https://shop.test/${n === 5 ? 'poison' : n}`;
      return fake.notification(sesEvent('Click', { emailId: id }, { link }));
    });
    await sql`alter table event add constraint poison
      check (data ->> 'link' is distinct from 'https://shop.test/poison')`.execute(db);
    const answers = await Promise.all(bodies.map((body) => post(body)));
    await sql`alter table event drop constraint poison`.execute(db);
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual(mails.map((_, n) => (n === 5 ? 500 : 200)));
    expect((await emailOf(mails[5]!.id)).clicks).toBe(0);
    // SNS repeats the notification, and it is recorded now.
    expect((await post(bodies[5])).status).toBe(200);
    expect((await emailOf(mails[5]!.id)).clicks).toBe(1);
  });
});

/** Creates another project with a sent message. */
async function withMail() {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const body = { email: `${randomUUID()}@x.example` };
  const made = await api.request('POST', '/contacts', { key, body });
  const given = { projectId, contactId: made.body.id as string };
  return { projectId, id: await insertTestEmail(db, given) };
}

describe('feedback beside locked rows', () => {
  it.each(['contact', 'email'] as const)('waits only for the %s that is locked', async (table) => {
    const [locked, free] = (await sentEmails(2)) as [Mail, Mail];
    const answered: string[] = [];
    const notify = async ({ id }: Mail) => {
      await post(fake.notification(sesEvent('Delivery', { emailId: id })));
      answered.push(id);
    };
    let late: Promise<void>[] = [];
    const id = table === 'contact' ? locked.contactId : locked.id;
    await whileLocked(lock(table, id), async () => {
      late = [notify(locked), notify(free), notify(locked)];
      await late[1];
      expect(answered).toEqual([free.id]);
    });
    await Promise.all(late);
    expect((await emailOf(locked.id)).status).toBe('DELIVERED');
  });

  it('is recorded in few transactions for many projects, and waits for the rows of none', async () => {
    const queue = new FeedbackQueue({
      db,
      shares: services.shares,
      judge: disableForReputation,
      isUnreported: () => false,
    });
    const { cookie } = await api.signUp();
    const campaigns: string[] = [];
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { id: projectId, secretKey: key } = await api.createProject(cookie, `Shop ${n}`);
      campaigns.push(await insertTestCampaign(db, projectId));
      const body = { email: `${randomUUID()}@x.example` };
      const { id } = (await api.request('POST', '/contacts', { key, body })).body;
      const given = { projectId, contactId: id as string, campaignId: campaigns[n]! };
      ids.push(await insertTestEmail(db, given));
    }
    const record = (feedback: Feedback) =>
      ids.map((id) => queue.record(report({ id }, null, feedback), 50));
    await Promise.all(record(delivery));
    const { rows } = await sql<{ transactions: number; projects: number }>`
      select count(distinct xmin::text)::int as transactions,
          count(distinct project_id)::int as projects
        from event where email_id = any(${ids}) and name = 'email.delivery'`.execute(db);
    // The first report starts a transaction at once; the other four share the next one.
    expect(rows).toEqual([{ transactions: 2, projects: 5 }]);
    let stuck: Promise<FeedbackAnswer> | undefined;
    await whileLocked(lock('campaign', campaigns[2]!), async () => {
      const recorded = record(opened(5));
      [stuck] = recorded.splice(2, 1);
      expect(await Promise.all(recorded)).toEqual(Array(4).fill('recorded'));
    });
    expect(await stuck).toBe('recorded');
    for (const id of campaigns) expect((await campaignOf(id)).opened_count).toBe(1);
  });

  it('of a project that takes too long fails alone', async () => {
    const queue = new FeedbackQueue({
      db,
      shares: services.shares,
      judge: disableForReputation,
      isUnreported: () => false,
    });
    const [own, other] = [await sentEmail(), await sentEmail()];
    const { id, projectId } = await withMail();
    await sql`
      create function take_too_long() returns trigger language plpgsql as
        $$begin raise exception 'canceling statement' using errcode = '57014'; end$$`.execute(db);
    await sql`
      create trigger slow before update on email for each row
        when (new.project_id = ${sql.lit(projectId)}) execute function take_too_long()`.execute(db);
    const recorded = [own.id, id, other.id].map((emailId) =>
      queue.record(report({ id: emailId }, null, delivery), 50).catch(() => 'failed'),
    );
    expect(await Promise.all(recorded)).toEqual(['recorded', 'failed', 'recorded']);
    await sql`drop function take_too_long() cascade`.execute(db);
    expect((await emailOf(other.id)).status).toBe('DELIVERED');
  });

  it("of one project does not delay another's, however much of it there is", async () => {
    const queue = new FeedbackQueue({
      db,
      shares: services.shares,
      judge: disableForReputation,
      isUnreported: () => false,
    });
    const campaignId = await insertTestCampaign(db, project.id);
    const [stuck, other] = [await sentEmail({}, campaignId), await sentEmail()];
    const { id } = await withMail();
    const flood: Promise<unknown>[] = [];
    let refused = 0;
    await whileLocked(lock('campaign', campaignId), async () => {
      flood.push(queue.record(report(stuck, null, delivery), 0));
      const one = report(other, null, { kind: 'accepted', at: at(1) });
      for (let n = 0; n < 9_000; n += 1) {
        flood.push(queue.record(one, 50).catch(() => void (refused += 1)));
      }
      await waitFor('the flood to be refused', () => refused > 0);
      expect(await queue.record(report({ id }, null, delivery), 50)).toBe('recorded');
    });
    await Promise.all(flood);
    expect((await emailOf(id)).status).toBe('DELIVERED');
    // Feedback may use half of the slots.
    expect(refused).toBeGreaterThan(3_500);
    expect(refused).toBeLessThan(4_500);
  });

  it('is answered 503 when ten thousand reports are waiting', async () => {
    const queue = new FeedbackQueue({
      db,
      shares: services.shares,
      judge: disableForReputation,
      isUnreported: () => false,
    });
    const unknown = () => report({ id: randomUUID() }, null, delivery);
    let waiting: Promise<FeedbackAnswer>[] = [];
    await whileLocked(
      (tx) => sql`lock table email in access exclusive mode`.execute(tx),
      async () => {
        waiting = Array.from({ length: 10_000 }, () => queue.record(unknown(), 50));
        await expect(queue.record(unknown(), 50)).rejects.toMatchObject({
          code: 'SERVICE_UNAVAILABLE',
        });
      },
    );
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unknown']));
    expect(await queue.record(unknown(), 50)).toBe('unknown');
  });
});
