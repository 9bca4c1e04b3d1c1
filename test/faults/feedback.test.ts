import { expect, it } from 'vitest';
import { sql } from 'kysely';
import { useEngine } from '../support/engine.ts';
import { sesEvent } from '../support/fakes/ses-messages.ts';
import { useFakeSns } from '../support/fakes/sns.ts';
import { startApiProcess } from '../support/processes/processes.ts';
import { insertTestCampaign, insertTestEmail } from '../support/projects/mails.ts';
import { randomOf } from '../support/random.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Kills or stops an API while it records the feedback of many requests together. `npm run
 * faults` runs it.
 */

const mails = 400;
/** Requests that SNS has under way at once. */
const parallel = 40;

const fake = await useFakeSns();
const engine = await useEngine({}, { worker: false });
const { db } = engine.api;
const port = (server: (typeof fake.servers)['http']) => (server.address() as { port: number }).port;
const settings = {
  SNS_AUTHORITY: fake.authority.pem,
  SNS_PORTS: JSON.stringify({ https: port(fake.servers.https), http: port(fake.servers.http) }),
};
const start = () =>
  startApiProcess(engine, settings, { file: 'test/support/processes/api-trusting-sns.ts' });

/** Sends mail of a campaign. Returns notifications of the delivery, an open and a click of each. */
async function reports() {
  const campaignId = await insertTestCampaign(db, engine.project.id);
  const ids: string[] = [];
  for (let n = 0; n < mails; n += 1) {
    const contact = { project_id: engine.project.id, email: `${campaignId}-${n}@x.example` };
    const { id: contactId } = await db
      .insertInto('contact')
      .values({ ...contact, subscribed: true })
      .returning('id')
      .executeTakeFirstOrThrow();
    const given = { projectId: engine.project.id, contactId, campaignId };
    ids.push(await insertTestEmail(db, given));
  }
  const bodies = ['Delivery', 'Open', 'Click'].flatMap((kind) =>
    ids.map((emailId) =>
      fake.notification(sesEvent(kind, { emailId }, { link: 'https://x.test/' })),
    ),
  );
  return { campaignId, ids, bodies: bodies.map((body) => JSON.stringify(body)) };
}

/** Repeats each notification until it is acknowledged, as SNS does. */
async function deliver(bodies: readonly string[], given: { url: () => string; seen: () => void }) {
  const failures: string[] = [];
  let next = 0;
  async function sender(): Promise<void> {
    while (next < bodies.length) {
      const body = bodies[next++];
      for (;;) {
        const status = await fetch(`${given.url()}/webhooks/sns`, { method: 'POST', body: body! })
          .then((response) => response.status)
          .catch((error: Error) => String((error.cause as { code?: string } | undefined)?.code));
        if (status === 200) break;
        failures.push(String(status));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      given.seen();
    }
  }
  await Promise.all(Array.from({ length: parallel }, sender));
  return failures;
}

/** Counts each kind of feedback in all places of the database that have it. */
async function told({ campaignId, ids }: { campaignId: string; ids: string[] }) {
  const { rows } = await sql<Record<string, number>>`
    select delivered_count, opened_count, clicked_count,
        (select count(*)::int from email where id = any(${ids}::uuid[])
          and delivered_at is not null and opens = 1 and clicks = 1) as mails,
        (select count(*)::int from event where email_id = any(${ids}::uuid[])) as events
      from campaign where id = ${campaignId}`.execute(db);
  return rows[0];
}

const onceEach = {
  delivered_count: mails,
  opened_count: mails,
  clicked_count: mails,
  mails,
  events: 3 * mails,
};

it.each([1, 2, 3])(
  'killed again and again, has recorded each acknowledged notification once (seed %i)',
  { timeout: 180_000 },
  async (seed) => {
    const random = randomOf(seed);
    const given = await reports();
    let [api, acknowledged, isOver] = [await start(), 0, false];
    const delivering = deliver(given.bodies, {
      url: () => api.url,
      seen: () => void (acknowledged += 1),
    }).finally(() => (isOver = true));
    for (const share of [0.2, 0.5, 0.8]) {
      const from = (share + random() * 0.1) * given.bodies.length;
      await waitFor('the moment', () => isOver || acknowledged >= from, 60_000);
      await api.kill();
      api = await start();
    }
    const failures = await delivering;
    await api.stop();
    // It died with requests under way.
    expect(failures).toContain('UND_ERR_SOCKET');
    expect(await told(given)).toEqual(onceEach);
  },
);

it('asked to end, answers what it has accepted', { timeout: 120_000 }, async () => {
  const given = await reports();
  let [api, acknowledged] = [await start(), 0];
  const delivering = deliver(given.bodies, {
    url: () => api.url,
    seen: () => void (acknowledged += 1),
  });
  await waitFor('the moment', () => acknowledged >= mails, 60_000);
  const stopped = api.stop();
  await stopped;
  api = await start();
  const failures = new Set(await delivering);
  await api.stop();
  // Idle connections are closed, and every request that was read gets its response.
  expect([...failures].filter((failure) => /^\d+$/.test(failure))).toEqual([]);
  expect(await told(given)).toEqual(onceEach);
});
