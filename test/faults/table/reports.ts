import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { deliveryStatus } from '../../support/fakes/reports.ts';
import { sendBySmtp } from '../../support/projects/incoming.ts';
import { insertTakenMails } from '../../support/projects/mail-providers.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import type { Fault } from './faults.ts';
import type { PartMaker } from './workload.ts';
import type { World } from './world.ts';

/** Mail servers that report deliveries to the receiver of an API process. */

const domain = 'bounces.everpost.test';
/** Mail servers at work at once: less than the receiver allows one address. */
const parallel = 10;

/** The API process has a receiver for reports. */
export function withReceiver(): Pick<Fault, 'before' | 'after'> {
  let release = async () => {};
  return {
    async before({ world }) {
      const claimed = await claimFreePort();
      release = async () => claimed.release();
      await restartApi(world, {
        INBOUND_SMTP_HOST: '127.0.0.1',
        INBOUND_SMTP_PORT: String(claimed.port),
        RETURN_PATH_DOMAIN: domain,
      });
    },
    async after({ world }) {
      await restartApi(world, {});
      await release();
    },
  };
}

async function restartApi(world: World, settings: Record<string, string>): Promise<void> {
  await Promise.all(world.apis.splice(0).map((api) => api.stop()));
  world.apiSettings = settings;
  world.apis.push(await world.startApi());
}

/** One report of a delivery for each of so many mails, repeated until it is taken. */
export const reports: PartMaker = async ({ world, recipients }) => {
  const { db, engine } = world;
  const projectId = engine.project.id;
  const campaignId = await insertTestCampaign(db, projectId);
  const mails = await insertTakenMails(db, { projectId, providerId: null, campaignId }, recipients);
  const count = async () => {
    const { rows } = await sql<{ delivered: number; events: number; entries: number }>`
      select count(*) filter (where status = 'DELIVERED')::int as delivered,
          (select count(*)::int from event
            where email_id in (select id from email where campaign_id = ${campaignId})
              and name = 'email.delivery') as events,
          sum(jsonb_array_length(
            jsonb_path_query_array(trace, '$[*] ? (@.state == "delivered")')))::int as entries
        from email where campaign_id = ${campaignId}`.execute(db);
    return rows[0] ?? { delivered: 0, events: 0, entries: 0 };
  };
  return {
    async begin() {
      const port = Number(world.apiSettings['INBOUND_SMTP_PORT']);
      const waiting = mails.values();
      const server = async () => {
        for (const { emailId, to } of waiting) {
          const returnPath = engine.services.returnPaths.pathAt(emailId, domain);
          const raw = deliveryStatus(
            { returnPath, emailId, to },
            { action: 'delivered', status: '2.0.0', diagnostic: '250 2.0.0 Ok' },
          );
          await repeat(() => sendBySmtp(port, raw, { to: returnPath }));
        }
      };
      await Promise.all(Array.from({ length: parallel }, server));
    },
    async pending() {
      const { delivered } = await count();
      return delivered === recipients ? null : `${recipients - delivered} reports`;
    },
    async tally() {
      const { delivered, events, entries } = await count();
      return {
        lost: recipients - Math.min(delivered, events),
        duplicated: Math.max(events, entries) - delivered,
        unknown: 0,
        wrong: [],
      };
    },
  };
};

/** Repeats a delivery as mail servers do. @throws Error when it is refused for good */
async function repeat(deliver: () => Promise<void>): Promise<void> {
  for (;;) {
    const error = await deliver().then(
      () => null,
      (problem: Error & { responseCode?: number }) => problem,
    );
    if (!error) return;
    if ((error.responseCode ?? 0) >= 500) throw error;
    await sleep(100);
  }
}
