import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { pixelOf } from '../../support/pixel.ts';
import { onCommitted } from '../../../db/commits.ts';
import { useEngine } from '../../support/engine.ts';
import {
  deliverDue,
  insertTestCampaign,
  insertClaimedEmail,
} from '../../support/projects/mails.ts';

/** Mail to the simulator, delivered by a worker that is killed. */

const engine = await useEngine({}, { worker: false });

/** Delivers due mail, and kills the process after its commit, before it reports to Temporal. */
async function deliverAndDie(): Promise<void> {
  onCommitted(engine.services.db, () => {});
  await deliverDue(engine, {});
}

async function send(name: string): Promise<{ id: string; contactId: string }> {
  const sent = await engine.call('POST', '/v1/send', {
    to: `${name}+${randomUUID()}@simulator.test`,
    subject: 'Hi',
    body: '<p>Hi</p>',
    from: `team@${engine.domain}`,
    subscribed: true,
  });
  const [{ email: id, contact }] = sent.body.data.emails;
  return { id, contactId: contact.id };
}

describe('what the simulator reports', () => {
  it.each([
    ['success', 'DELIVERED', ['email.sent', 'email.delivery'], true],
    ['bounce', 'BOUNCED', ['email.sent', 'email.bounce'], false],
    ['softbounce', 'SENT', ['email.sent', 'email.bounce'], true],
    ['complaint', 'COMPLAINED', ['email.sent', 'email.delivery', 'email.complaint'], false],
  ])('of %s@ is there once the mail is sent, whoever dies then', async (name, status, ...rest) => {
    const [names, subscribed] = rest;
    const { id, contactId } = await send(name);
    await deliverAndDie();
    const { body: email } = await engine.call('GET', `/emails/${id}`);
    expect(email.status).toBe(status);
    const events = await engine.api.db
      .selectFrom('event')
      .select('name')
      .where('email_id', '=', id)
      .orderBy('recorded_at')
      .execute();
    expect(events.map((event) => event.name)).toEqual(names);
    const { body: contact } = await engine.call('GET', `/contacts/${contactId}`);
    expect(contact.subscribed).toBe(subscribed);
  });
});

describe('recording a batch', () => {
  /** Hands over a message of a new campaign to an address of the simulator. */
  async function handedOver(name: string) {
    const { api, project } = engine;
    const to = `${name}+${randomUUID()}@simulator.test`;
    const made = await engine.call('POST', '/contacts', { email: to, subscribed: true });
    const campaignId = await insertTestCampaign(api.db, project.id);
    const { emailId, attempt } = await insertClaimedEmail(
      api.db,
      { projectId: project.id, contactId: made.body.id, campaignId },
      { to_email: to },
    );
    const record = () =>
      recordDeliveryOutcomes(api.db, {
        ...attempt,
        outcomes: [
          {
            emailId,
            kind: 'accepted',
            messageId: `local-${emailId}`,
            delivered: false,
            simulator: to,
          },
        ],
      });
    return { emailId, campaignId, record };
  }

  const countersOf = (id: string) =>
    engine.api.db
      .selectFrom('campaign')
      .select(['sent_count', 'delivered_count', 'opened_count', 'complained_count'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();

  /** Returns the names of its events, oldest first. */
  const namesOf = async (emailId: string): Promise<string[]> => {
    const { body: email } = await engine.call('GET', `/emails/${emailId}`);
    const { body } = await engine.call('GET', `/events/contact/${email.contactId}`);
    return body.events.map(({ name }: { name: string }) => name).toReversed();
  };

  it('counts what the simulator reports for the campaign', async () => {
    const { campaignId, record } = await handedOver('complaint');
    await record();
    expect(await countersOf(campaignId)).toEqual({
      sent_count: 1,
      delivered_count: 1,
      opened_count: 0,
      complained_count: 1,
    });
  });

  it('reports once, also when the response to recording it was lost', async () => {
    const { emailId, record } = await handedOver('softbounce');
    await record();
    await record();
    expect(await namesOf(emailId)).toEqual(['email.sent', 'email.bounce']);
  });

  it('reports on a message that was opened before it was recorded', async () => {
    const { emailId, campaignId, record } = await handedOver('complaint');
    await engine.api.request('GET', pixelOf(engine.api, emailId));
    await record();
    const names = ['email.sent', 'email.open', 'email.delivery', 'email.complaint'];
    expect(await namesOf(emailId)).toEqual(names);
    expect(await countersOf(campaignId)).toEqual({
      sent_count: 1,
      delivered_count: 1,
      opened_count: 1,
      complained_count: 1,
    });
  });
});
