import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { campaignStatusOf, isUnsettled, reasonOf, statusOf } from '../../../db/sql/mail-status.ts';
import {
  type JudgedMail,
  outcomeOf,
  outcomeOfReason,
  type ReasonCode,
  reasonCodes,
  refusals,
} from '../../../domain/outcomes/outcome.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';

const api = await useApi();
const { db } = api;
const { id: projectId } = await api.createProject((await api.signUp()).cookie);

const hour = 3_600_000;
const moment = fc.constantFrom(
  null,
  ...[-2, -1, 1, 2, 2, 3].map((hours) => new Date(Date.now() + hours * hour)),
);
const mail = fc.record({
  status: fc.constantFrom('PENDING', 'PENDING', 'SENDING', 'SENT', 'BOUNCED', 'FAILED'),
  error: fc.constantFrom<string>(...reasonCodes.withheld, 'delivery_unknown', 'No such user'),
  refusal: fc.constantFrom(null, ...refusals),
  scheduled_for: moment,
  retry_at: moment,
  held_until: moment,
  hold_reason: fc.constantFrom(null, 'quiet_hours', 'frequency_cap', 'warm_up'),
  lease: fc.constantFrom(-hour, hour),
  chunk: fc.constantFrom('none', 'waiting', 'claimed', 'expired'),
  campaign: fc.constantFrom('SENDING', 'PAUSED', 'CANCELLED'),
});

it('gives each message the outcome and the reason that the rules of the domain give it', async () => {
  const contactId = await db
    .insertInto('contact')
    .values({ project_id: projectId, email: 'ada@people.test', subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  await fc.assert(
    fc.asyncProperty(mail, async ({ lease, chunk, campaign, ...given }) => {
      const { status } = given;
      const campaignId = await insertTestCampaign(db, projectId, {
        status: campaign,
        paused_reason: campaign === 'PAUSED' ? 'requested' : null,
      });
      const id = await insertTestEmail(
        db,
        { projectId, contactId: contactId.id, campaignId },
        {
          ...given,
          lease_until: status === 'SENDING' ? new Date(Date.now() + lease) : null,
          refusal: status === 'FAILED' ? given.refusal : null,
        },
      );
      if (status === 'PENDING' && chunk !== 'none') {
        const isClaimed = chunk !== 'waiting';
        await sql`
          insert into campaign_chunk (campaign_id, project_id, email_ids, attempt_id, claimed_at,
              lease_until)
            select ${campaignId}, ${projectId}, array[${id}::uuid], gen_random_uuid(), now(),
                now() + ${chunk === 'expired' ? -1 : 1} * interval '1 hour'
              where ${isClaimed}`.execute(db);
      }
      const { rows } = await sql<JudgedMail & { code: ReasonCode | null; isFailed: boolean }>`
        select ${reasonOf('email', sql`${projectId}::uuid`)} as code, status = 'FAILED' as "isFailed",
            ${statusOf('email')} as status, error, refusal, scheduled_for, retry_at, hold_reason,
            held_until, ${campaignStatusOf('email')} as campaign_status,
            ${isUnsettled('email')} as is_unsettled
          from email where id = ${id}`.execute(db);
      const [row] = rows;
      const { code, isFailed, ...judged } = row!;
      const outcome = outcomeOfReason(code, isFailed);
      expect({ outcome, reasonCode: code }).toEqual(outcomeOf(judged, new Date()));
      await sql`delete from campaign_chunk where campaign_id = ${campaignId}`.execute(db);
    }),
    { numRuns: 300 },
  );
}, 60_000);
