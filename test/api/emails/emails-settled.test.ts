import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { tasksOf } from '../../support/sweep-now.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

/** Inserts a campaign message with unknown outcome: its worker claimed it an hour ago and died. */
async function lostEmail(): Promise<string> {
  const { api, project } = shop;
  const email = `${randomUUID()}@people.test`;
  const { body } = await shop.call('POST', '/contacts', { email, data: { name: 'Ada' } });
  const campaignId = await insertTestCampaign(api.db, project.id, { subject: 'Hi {{name}}' });
  const given = { projectId: project.id, contactId: body.id, campaignId };
  return insertTestEmail(api.db, given, {
    to_email: email,
    subject: 'Hi {{name}}',
    body: null,
    status: 'SENDING',
    attempts: 1,
    attempt_id: randomUUID(),
    lease_until: new Date(Date.now() - 3_600_000),
    sent_at: null,
  });
}

const shown = async (id: string) => {
  const { body } = await shop.call('GET', `/emails/${id}`);
  const { status, subject, trace } = body;
  const headers = body.headers.map(({ name }: { name: string }) => name);
  const last = trace.at(-1) as { state: string };
  return { status, subject, body: body.body, headers, last: last.state };
};

const unkept = { subject: 'Hi {{name}}', body: null, last: 'settled' };
/** Every marketing message has these headers. */
const marketingHeaders = [
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Precedence',
  'Auto-Submitted',
  'X-Auto-Response-Suppress',
];

it('shows no text of a campaign message that only its feedback proves, because the text is unknown', async () => {
  const id = await lostEmail();
  await shop.api.services.feedback.record(
    {
      emailId: id,
      messageId: 'ses-1',
      feedback: [{ kind: 'accepted', at: new Date() }],
      acceptedAt: null,
      receipt: null,
    },
    0,
  );
  expect(await shown(id)).toEqual({ ...unkept, status: 'SENT', headers: marketingHeaders });
});

it('nor does one that was given up', async () => {
  const id = await lostEmail();
  await tasksOf(shop.api, {}).SETTLE_UNCERTAIN();
  expect(await shown(id)).toEqual({ ...unkept, status: 'FAILED', headers: [] });
});
