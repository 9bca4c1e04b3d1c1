import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { warnOfLimits } from '../../../activities/upkeep/limit-warnings.ts';
import { createRemovalActivities } from '../../../activities/project-deletion.ts';
import { reportDueUsage } from '../../../activities/upkeep/usage.ts';
import { listUsageReports } from '../../../db/billing/usage-reports.ts';
import { createPayments } from '../../../providers/payments/stripe.ts';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';

const stripe = await useFakeStripe();
const api = await useApi({ ...stripe.environment, FREE_TIER_EMAILS_PER_MONTH: '10' });
const payments = createPayments(api.services.config.billing!);
beforeEach(() => {
  stripe.meterEvents.clear();
  stripe.requests.length = 0;
  stripe.losesAnswers = false;
  stripe.meterFrom = 0;
});

async function projectOf(customer: string | null) {
  const { cookie, email } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie);
  await api.db.updateTable('project').set({ customer }).where('id', '=', id).execute();
  return { id, cookie, email, secretKey };
}

/** Mail that was handed over. Returns its ids. */
async function sendMail(
  projectId: string,
  count: number,
  attachments = '[]',
  sentAt = new Date('2026-11-20T10:00:00Z'),
): Promise<string[]> {
  const { rows } = await writeMail(api.db, (tx) =>
    sql<{ id: string }>`
    with someone as (
      insert into contact (project_id, email, subscribed)
        values (${projectId}, gen_random_uuid() || '@people.test', true) returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, attachments)
      select ${projectId}, someone.id, 'a@people.test', '', 'a@b.test', 'MARKETING', 'WORKFLOW',
          ${attachments}::jsonb
        from someone, generate_series(1, ${count}::int)
      returning id`.execute(tx),
  );
  const ids = rows.map((row) => row.id);
  await writeMail(api.db, (tx) =>
    sql`update email set status = 'SENT', sent_at = ${sentAt}
    where id = any(${ids}::uuid[])`.execute(tx),
  );
  return ids;
}

const waiting = async () => {
  const rows = await api.db.selectFrom('usage_report').select('email_id').execute();
  return rows.map((row) => row.email_id);
};
const report = () => reportDueUsage({ db: api.db, payments, log: api.services.log });

describe('the meter', () => {
  it('gets a report of each sent message by its id, with files as two', async () => {
    const customer = `cus_${randomUUID()}`;
    const { id } = await projectOf(customer);
    const [plain] = await sendMail(id, 1);
    const [withFiles] = await sendMail(id, 1, '[{"filename": "a"}]');
    await report();
    expect(stripe.meterEvents.get(plain!)).toEqual({
      event_name: 'emails',
      identifier: plain,
      timestamp: String(Date.UTC(2026, 10, 20, 10) / 1000),
      'payload[stripe_customer_id]': customer,
      'payload[value]': '1',
    });
    expect(stripe.meterEvents.get(withFiles!)).toMatchObject({ 'payload[value]': '2' });
    expect(await waiting()).toEqual([]);
  });

  it('gets one report of a message, also when the message changes afterwards', async () => {
    const { id } = await projectOf('cus_1');
    const [email] = await sendMail(id, 1);
    await report();
    await writeMail(api.db, (tx) =>
      sql`update email set status = 'DELIVERED', delivered_at = now(), sent_at = sent_at
      where id = ${email}`.execute(tx),
    );
    await report();
    expect(stripe.requests).toHaveLength(1);
  });

  it('gets no reports of failed mail and of projects without a subscription', async () => {
    const free = await projectOf(null);
    await sendMail(free.id, 3);
    const { id } = await projectOf('cus_1');
    const [email] = await sendMail(id, 0);
    expect(email).toBeUndefined();
    await writeMail(api.db, (tx) =>
      sql`update email set status = 'FAILED', error = 'refused' where project_id = ${id}`.execute(
        tx,
      ),
    );
    await report();
    expect(stripe.requests).toEqual([]);
  });

  it('counts once what was reported when the response was lost', async () => {
    const { id } = await projectOf('cus_1');
    const ids = await sendMail(id, 20);
    stripe.losesAnswers = true;
    await report();
    expect(stripe.requests.length).toBeGreaterThan(ids.length);
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
    expect(await waiting()).toEqual([]);
  }, 60_000);

  it('reports once although the worker died before it could record that', async () => {
    const { id } = await projectOf('cus_1');
    const ids = await sendMail(id, 3);
    for (const told of await listUsageReports(api.db, 2)) await payments.reportUsage(told);
    expect(stripe.meterEvents.size).toBe(2);
    await report();
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
    expect(await waiting()).toEqual([]);
  });

  it('counts once what two workers report at the same time', async () => {
    const { id } = await projectOf('cus_1');
    const ids = await sendMail(id, 50);
    await Promise.all([report(), report(), report()]);
    expect(stripe.meterEvents.size).toBe(ids.length);
    expect(await waiting()).toEqual([]);
  });

  it('gets all reports later when it was unavailable', async () => {
    const { id } = await projectOf('cus_1');
    const ids = await sendMail(id, 3);
    const gone = createPayments({
      ...api.services.config.billing!,
      apiBase: 'http://127.0.0.1:9',
    });
    const services = { db: api.db, payments: gone, log: api.services.log };
    await expect(reportDueUsage(services)).rejects.toThrow();
    expect(await waiting()).toHaveLength(3);
    await report();
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
  }, 60_000);

  it('gives up reports older than 35 days, and sends the rest', async () => {
    const { id } = await projectOf('cus_1');
    await sendMail(id, 501, '[]', new Date('2020-01-01T00:00:00Z'));
    const ids = await sendMail(id, 2);
    stripe.meterFrom = Date.UTC(2020, 1, 1) / 1000;
    await report();
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
    expect(await waiting()).toEqual([]);
  }, 60_000);

  it('gets the next page when the first is refused, which is kept while it is young', async () => {
    const { id } = await projectOf('cus_1');
    const hour = 3_600_000;
    const refused = await sendMail(id, 500, '[]', new Date(Date.now() - 2 * hour));
    const ids = await sendMail(id, 2, '[]', new Date());
    stripe.meterFrom = (Date.now() - hour) / 1000;
    await expect(report()).rejects.toThrow('35 calendar days');
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
    expect((await waiting()).toSorted()).toEqual(refused.toSorted());
    stripe.meterFrom = 0;
    await report();
    expect(await waiting()).toEqual([]);
  }, 60_000);

  it('does not keep the subscription of a deleted project alive by what it refuses', async () => {
    const customer = `cus_${randomUUID()}`;
    const { id, cookie } = await projectOf(customer);
    stripe.subscriptions.set('sub_gone', 'active');
    const row = { subscription: 'sub_gone' };
    await api.db.updateTable('project').set(row).where('id', '=', id).execute();
    await sendMail(id, 1, '[]', new Date());
    await api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
    stripe.meterFrom = Number.MAX_SAFE_INTEGER;
    const { control } = createRemovalActivities({
      ...api.services,
      payments,
      stopProjectRuns: async () => 0,
    });
    await writeMail(api.db, (tx) => sql`delete from email where project_id = ${id}`.execute(tx));
    await dropContacts(api.db, sql<boolean>`project_id = ${id}`);
    await control.FORGET_PROJECT({ id, removal: 'delete' });
    expect(stripe.subscriptions.get('sub_gone')).toBe('canceled');
    const rest = await listUsageReports(api.db, 2, { customer });
    expect(rest).toHaveLength(1);
    stripe.meterFrom = 0;
    await report();
    expect([...stripe.meterEvents.keys()]).toEqual([rest[0]?.emailId]);
  });

  it('bills what was sent before a project was deleted', async () => {
    const { id, cookie } = await projectOf('cus_1');
    const ids = await sendMail(id, 2);
    await api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
    await writeMail(api.db, (tx) => sql`delete from email where project_id = ${id}`.execute(tx));
    await report();
    expect([...stripe.meterEvents.keys()].toSorted()).toEqual(ids.toSorted());
  });
});

describe('the warning at 80 %', () => {
  const services = () => ({
    db: api.db,
    billingRules: api.services.config.billing,
    platformFrom: 'noreply@platform.test',
    dashboardUrl: 'https://app.shop.example',
  });
  const mails = async () => {
    const rows = await api.db.selectFrom('system_mail').select(['to_email', 'subject']).execute();
    return rows.map((row) => row.to_email);
  };

  it('is sent once a month to the administrators, and to no other member', async () => {
    const { id, cookie, email, secretKey } = await projectOf(null);
    const [admin, member] = [await api.signUp(), await api.signUp()];
    for (const [user, role] of [
      [admin, 'ADMIN'],
      [member, 'MEMBER'],
    ] as const) {
      await api.db
        .insertInto('membership')
        .values({ project_id: id, user_id: user.userId, role })
        .execute();
    }
    const invited = { project_id: id, user_id: (await api.signUp()).userId, role: 'ADMIN' };
    await api.db.insertInto('invitation').values(invited).execute();
    const domain = `${randomUUID()}.test`;
    await api.request('POST', '/domains', { cookie, body: { domain, projectId: id } });
    const send = () =>
      api.request('POST', '/v1/send', {
        key: secretKey,
        body: { to: 'ada@people.test', from: `a@${domain}`, subject: 'Hi', body: 'Hi' },
      });
    for (let count = 0; count < 7; count += 1) expect((await send()).status).toBe(200);
    await warnOfLimits(services());
    expect(await mails()).toEqual([]);
    expect((await send()).status).toBe(200);
    api.dispatched.length = 0;
    await warnOfLimits(services());
    expect(api.dispatched).toHaveLength(2);
    expect(api.dispatched[0]).toMatch(/^platform-mail-/);
    expect((await mails()).toSorted()).toEqual([email, admin.email].toSorted());
    await send();
    await warnOfLimits(services());
    expect(await mails()).toHaveLength(2);
  });

  it('is none without billing or a sender', async () => {
    api.dispatched.length = 0;
    await warnOfLimits({ ...services(), billingRules: null });
    await warnOfLimits({ ...services(), platformFrom: null });
    expect(api.dispatched).toEqual([]);
  });
});
