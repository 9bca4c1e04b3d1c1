import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { takeIncoming } from '../../../api/services/incoming-mail.ts';
import { useApi } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { complaint, deliveryStatus, type ReportedMail } from '../../support/fakes/reports.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The counts of reports about mail by SMTP in `GET /delivery`. */

const sink = await useSmtpSink();
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  RETURN_PATH_DOMAIN: 'bounces.everpost.test',
  INBOUND_MIME_SECRET: 'a secret of the hook',
});
const { api, domain } = engine;

async function sendMail(): Promise<ReportedMail> {
  const to = `${randomUUID()}@mail.test`;
  const mail = { to, from: `team@${domain}`, subject: 'Hi', body: 'Hi' };
  const { body } = await engine.call('POST', '/v1/send', mail);
  await waitFor('the mail to be sent', async () => sink.countTo(to) === 1);
  const returnPath = sink.messages.find((message) => message.to === to)?.from ?? '';
  return { returnPath, emailId: body.data.emails[0].email, to };
}

const report = (mail: ReportedMail, raw: string) =>
  takeIncoming(api.services, 'mime', {
    raw: Buffer.from(raw),
    recipients: [mail.returnPath],
    sender: '',
  });

const readReports = async (key = engine.project.secretKey) =>
  (await api.request('GET', '/delivery', { key })).body.reports;

/** Waits until the counts of the project are these. They may be five seconds old. */
const waitForCounts = (last24Hours: object) =>
  waitFor('the counts', async () => {
    const reports = await readReports();
    return JSON.stringify(reports.last24Hours) === JSON.stringify(last24Hours) ? reports : null;
  });

const none = { delivered: 0, bounced: 0, delayed: 0, complained: 0 };

describe('the reports of a project', () => {
  it('are counted by kind for a day, each message once, and only for its own project', async () => {
    expect(await readReports()).toEqual({ lastAt: null, last24Hours: none });
    const mail = await sendMail();
    const bounce = deliveryStatus(mail);
    for (const raw of [
      bounce,
      bounce,
      deliveryStatus(mail, { status: '5.2.2' }),
      deliveryStatus(mail, { action: 'delayed', status: '4.4.1' }),
      deliveryStatus(mail, { action: 'delivered', status: '2.0.0' }),
      complaint(mail),
      complaint(mail, 'not-spam'),
    ]) {
      await report(mail, raw);
    }
    const counts = { delivered: 1, bounced: 2, delayed: 1, complained: 1 };
    const { lastAt } = await waitForCounts(counts);
    expect(Math.abs(Date.parse(lastAt) - Date.now())).toBeLessThan(60_000);
    const other = await api.createProject((await api.signUp()).cookie);
    expect(await readReports(other.secretKey)).toEqual({ lastAt: null, last24Hours: none });

    await sql`update report_count set hour = hour - interval '24 hours'`.execute(api.db);
    expect(await waitForCounts(none)).toEqual({ lastAt, last24Hours: none });
    await report(mail, deliveryStatus(mail, { action: 'relayed', status: '2.0.0' }));
    await report(mail, deliveryStatus(mail, { status: '5.7.1' }));
    await waitForCounts({ ...none, bounced: 1 });
    const { rows } = await sql`select from report_count`.execute(api.db);
    expect(rows.length).toBeLessThanOrEqual(2);
  });

  it('are absent without mail by SMTP', async () => {
    const local = await useApi();
    const { secretKey: key } = await local.createProject((await local.signUp()).cookie);
    expect((await local.request('GET', '/delivery', { key })).body).not.toHaveProperty('reports');
  });
});
