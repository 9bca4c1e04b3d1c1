import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { fakeMailServices } from '../support/fakes/mail-services.ts';
import { startApiProcess } from '../support/processes/processes.ts';
import { insertTakenMails, insertTestProvider } from '../support/projects/mail-providers.ts';
import { insertTestCampaign } from '../support/projects/mails.ts';
import { waitFor } from '../support/wait-for.ts';

/** Kills an API while it records the events of one request. `npm run faults` runs it. */

const mails = 2000;
const engine = await useEngine({}, { worker: false });
const { db } = engine.api;
const service = fakeMailServices.find(({ feedback }) => feedback === 'sendgrid')!;

it(
  'killed in the middle of a body, has each event once when the service sends it again',
  { timeout: 120_000 },
  async () => {
    const projectId = engine.project.id;
    const campaignId = await insertTestCampaign(db, projectId);
    const { feedback, secret: feedbackSecret } = service;
    const provider = await insertTestProvider(engine.api, projectId, { feedback, feedbackSecret });
    const given = { projectId, providerId: provider.id, campaignId };
    const taken = await insertTakenMails(db, given, mails);
    const request = service.request(taken.map((mail) => service.events.delivered!(mail)));
    const post = (url: string) => fetch(`${url}${provider.path}`, { method: 'POST', ...request });
    const counted = async () => {
      const { rows } = await sql<{ campaign: number; mails: number; events: number }>`
        select delivered_count as campaign,
            (select count(*)::int from email
              where campaign_id = ${campaignId} and delivered_at is not null) as mails,
            (select count(*)::int from event join email on email.id = email_id
              where campaign_id = ${campaignId} and name = 'email.delivery') as events
          from campaign where id = ${campaignId}`.execute(db);
      return rows[0]!;
    };

    const first = await startApiProcess(engine);
    const posting = post(first.url).then(
      ({ status }) => String(status),
      () => 'lost',
    );
    await waitFor('some of the events', async () => (await counted()).mails > 200);
    await first.kill();
    expect(await posting).toBe('lost');
    const before = await counted();
    expect(before.mails).toBeLessThan(mails);
    expect(before).toEqual({ campaign: before.mails, mails: before.mails, events: before.mails });

    const second = await startApiProcess(engine);
    const answer = await post(second.url);
    expect(await answer.json()).toEqual({
      success: true,
      applied: mails - before.mails,
      ignored: before.mails,
    });
    expect(await counted()).toEqual({ campaign: mails, mails, events: mails });
    await second.stop();
  },
);
