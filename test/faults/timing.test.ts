import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { useEngine } from '../support/engine.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import { startWorkerProcess, useApiProcess } from '../support/processes/processes.ts';
import { createCampaign } from '../support/projects/campaigns.ts';
import { atEnd, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * A server is stopped while mail becomes due. Each mail is sent once after its return, and none
 * early.
 */

async function newPort(): Promise<number> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  return port;
}

const postgresAt = { dataDir: join(await useFolder(), 'postgres'), port: await newPort() };
const startDatabase = () => startPostgres({ ...postgresAt, log: () => {}, disposable: true });
let database = await startDatabase();
atEnd(() => database.stop());
await migrateToLatest(database.url);
const temporalAt = { dataDir: await useFolder(), port: await newPort(), uiPort: await newPort() };
const startRuns = () => startTemporal({ ...temporalAt, log: () => {} });
let temporal = await startRuns();
atEnd(() => temporal.stop());
const sink = await useSmtpSink();
const environment = {
  DATABASE_URL: database.url,
  TEMPORAL_ADDRESS: temporal.address,
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
};
const engine = await useEngine(environment, { worker: false, temporalAddress: temporal.address });
const api = await useApiProcess(engine, environment);
let worker = await startWorkerProcess(engine, environment);
atEnd(() => worker.stop());

/** Stops a server; the returned function starts it again. */
const faults = {
  async worker() {
    await worker.kill();
    return async () => void (worker = await startWorkerProcess(engine, environment));
  },
  async Temporal() {
    await temporal.stop();
    return async () => void (temporal = await startRuns());
  },
  async PostgreSQL() {
    await database.stop();
    return async () => void (database = await startDatabase());
  },
};

/** Number of messages of each kind. */
const count = 40;
const hourMs = 3_600_000;

/** Creates contacts of a group in a zone. Returns their addresses. */
async function contactsIn(group: string, timeZone: string): Promise<string[]> {
  const mark = `${group}-${timeZone.replaceAll(/[^a-z0-9]/gi, '')}`.toLowerCase();
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${engine.project.id}, ${mark}::text || n || '@people.test', true,
          jsonb_build_object('timeZone', ${timeZone}::text, 'group', ${group}::text)
        from generate_series(1, ${count}::int) n`.execute(engine.api.db);
  return Array.from({ length: count }, (_, index) => `${mark}${index + 1}@people.test`);
}

/** Sends a campaign to a group. Returns its id. */
async function campaignTo(group: string, given: object, when: object): Promise<string> {
  const conditions = [{ field: 'data.group', operator: 'equals', value: group }];
  const id = await createCampaign(engine, {
    audienceType: 'FILTERED',
    audienceFilter: { operator: 'AND', conditions },
    ...given,
  });
  expect((await api.call('POST', `/campaigns/${id}/send`, when)).status).toBe(200);
  return id;
}

async function mailWhere(condition: ReturnType<typeof sql>) {
  const { rows } = await sql<{
    status: string;
    error: string | null;
    early: boolean;
    count: number;
  }>`
    select status, error, coalesce(sent_at < scheduled_for, false) as early, count(*)::int as count
      from email where ${condition} group by 1, 2, 3 order by 1`.execute(engine.api.db);
  return rows;
}

it.each(Object.keys(faults) as (keyof typeof faults)[])(
  'the %s, while scheduled mail and the moments of campaigns become due',
  async (name) => {
    const group = name.toLowerCase();
    const [here, ahead] = [
      await contactsIn(group, 'Etc/UTC'),
      await contactsIn(group, 'Etc/GMT-1'),
    ];
    const night = await contactsIn(`${group}-night`, 'Etc/UTC');
    const scheduled = Array.from({ length: count }, (_, n) => `${group}-at${n}@people.test`);
    const text = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 19);
    const quietHours = { from: text(-60_000), to: text(hourMs) };
    expect((await api.call('PUT', '/send-policy', { quietHours })).status).toBe(200);

    const due = Math.ceil(Date.now() / 1000) * 1000 + 20_000;
    const at = new Date(due).toISOString();
    const localTime = at.slice(0, 19);
    // Quiet hours do not apply to HEADLESS messages.
    const begun = await campaignTo(group, { messageType: 'HEADLESS' }, { localTime });
    const later = await campaignTo(group, { messageType: 'HEADLESS' }, { localTime, late: 'skip' });
    const held = await campaignTo(`${group}-night`, {}, {});
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    const sent = await api.call('POST', '/v1/send', { ...mail, to: scheduled, scheduledFor: due });
    expect(sent.status).toBe(200);
    // Waits for the recorded delivery, because a message in flight has an unknown outcome if its
    // worker dies.
    await waitFor('those who are late', async () => {
      const [rows] = await mailWhere(sql`campaign_id = ${begun} and status = 'SENT'`);
      return rows?.count === count;
    });
    await waitFor('what is held', async () => {
      const [rows] = await mailWhere(sql`campaign_id = ${held} and hold_reason is not null`);
      return rows?.count === count;
    });
    expect(Date.now()).toBeLessThan(due - 3_000);

    const bringBack = await faults[name]();
    await sleep(due + 4_000 - Date.now());
    expect(here.concat(scheduled).filter((to) => sink.countTo(to) > 0)).toEqual([]);
    await bringBack();
    const back = Date.now();

    await waitFor(
      'all of it',
      () =>
        here.every((to) => sink.countTo(to) >= 2) && scheduled.every((to) => sink.countTo(to) >= 1),
      120_000,
    );
    // A dead process keeps its work from others for this time.
    if (name !== 'PostgreSQL') expect(Date.now() - back).toBeLessThan(60_000);
    for (const id of [begun, later]) {
      await waitFor(
        'the campaign',
        async () => {
          const { body } = await api.call('GET', `/campaigns/${id}`);
          return body.data?.status === 'SENT';
        },
        60_000,
      );
    }
    const delivered = { status: 'SENT', error: null, early: false };
    expect(await mailWhere(sql`campaign_id = ${begun}`)).toEqual([
      { ...delivered, count: 2 * count },
    ]);
    expect(await mailWhere(sql`campaign_id = ${later}`)).toEqual([
      { ...delivered, count },
      { status: 'FAILED', error: 'late', early: false, count },
    ]);
    const isAlone = sql`campaign_id is null and to_email like ${`${group}-at%`}`;
    await waitFor('the records', async () => (await mailWhere(isAlone))[0]?.status === 'SENT');
    expect(await mailWhere(isAlone)).toEqual([{ ...delivered, count }]);
    // The quiet hours still hold the mail.
    expect(await mailWhere(sql`campaign_id = ${held}`)).toEqual([
      { status: 'PENDING', error: null, early: false, count },
    ]);
    expect(here.filter((to) => sink.countTo(to) !== 2)).toEqual([]);
    expect([...ahead, ...scheduled].filter((to) => sink.countTo(to) !== 1)).toEqual([]);
    expect(night.filter((to) => sink.countTo(to) > 0)).toEqual([]);
    expect([api.isRunning(), worker.isRunning()]).toEqual([true, true]);
  },
  240_000,
);
