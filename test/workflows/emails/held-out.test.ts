import { beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';
import { findHoldout } from '../../../db/projects/holdout.ts';
import { isHeldOut } from '../../../domain/holdout/holdout.ts';

/** Marketing mail to contacts that are held out. */

const engine = await useEngine();
const none = { percent: 0, salt: 'unset', scope: 'marketing', endsAt: null };

async function setHoldout(change: object) {
  const answer = await engine.call('PUT', '/holdout', change);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

beforeEach(async () => {
  await setHoldout(none);
  await engine.call('PUT', '/send-policy', { quietHours: null, caps: [] });
  await deleteContacts(engine);
});

/** Sends a campaign to all contacts. Returns its id when all its mail has ended. */
async function sentCampaign(given: object = {}) {
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  return id;
}

/** Lists the contacts whose mail of a campaign was not sent because they are held out. */
async function heldOutOf(campaignId: string) {
  const rows = await engine.api.db
    .selectFrom('email')
    .select('contact_id')
    .where('campaign_id', '=', campaignId)
    .where('error', '=', 'held_out')
    .orderBy('contact_id')
    .execute();
  return rows.map(({ contact_id: id }) => id);
}

const reportOf = async (event: string) =>
  (await engine.call('GET', `/holdout/report?event=${event}`)).body;
const statsOf = async (id: string) =>
  (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;

/** Creates contacts until there is one in the hold-out and one outside. */
async function oneOfEach(topicId: string | null = null) {
  const holdout = await findHoldout(engine.api.db, engine.project.id);
  if (!holdout) throw new Error('no hold-out');
  const found: { heldOut?: Created; reached?: Created } = {};
  while (!found.heldOut || !found.reached) {
    const email = newAddress();
    const id = await createContact(engine, email);
    const isIn = isHeldOut({ contact_id: id, topic_id: topicId }, holdout, new Date());
    found[isIn ? 'heldOut' : 'reached'] ??= { id, email };
  }
  return { heldOut: found.heldOut, reached: found.reached };
}
interface Created {
  id: string;
  email: string;
}

describe('a hold-out of 20 percent', () => {
  it('withholds campaigns from the same fifth of the contacts, also after a restart', async () => {
    await insertContacts(engine, 300);
    await setHoldout({ percent: 20, salt: 'fifth' });
    const first = await sentCampaign();
    const held = await heldOutOf(first);
    // 4 standard deviations of 300 contacts at 20 percent.
    expect(Math.abs(held.length - 60)).toBeLessThan(28);
    expect(await statsOf(first)).toMatchObject({
      totalRecipients: 300,
      sentCount: 300 - held.length,
      outcomes: { sent: 300 - held.length, withheld: held.length },
      reasons: { held_out: held.length },
    });
    expect(await reportOf('email.sent')).toMatchObject({
      percent: 20,
      heldOut: { contacts: held.length, converted: 0 },
      reached: { contacts: 300 - held.length },
    });
    const second = await createCampaign(engine);
    await engine.stopWorker();
    await act(engine, second, 'send');
    await engine.startWorker();
    await campaignIn(engine, second, 'SENT');
    expect(await heldOutOf(second)).toEqual(held);
    // A higher percentage keeps those who are in; another salt makes another group.
    await setHoldout({ percent: 10 });
    const fewer = await heldOutOf(await sentCampaign());
    expect(fewer.length).toBeLessThan(held.length);
    expect(held).toEqual(expect.arrayContaining(fewer));
    await setHoldout({ percent: 20, salt: 'another' });
    expect(await heldOutOf(await sentCampaign())).not.toEqual(held);
  });

  it('says so in each place, and bills nothing', async () => {
    await setHoldout({ percent: 20 });
    const { heldOut } = await oneOfEach();
    const id = await sentCampaign();
    const { body } = await engine.call('GET', `/emails?campaignId=${id}&contactId=${heldOut.id}`);
    const { body: mail } = await engine.call('GET', `/emails/${body.data[0].id}`);
    expect(mail).toMatchObject({
      status: 'FAILED',
      error: 'held_out',
      outcome: 'withheld',
      reasonCode: 'held_out',
      sentAt: null,
    });
    expect(mail.trace.at(-1)).toMatchObject({ state: 'withheld', detail: { reason: 'held_out' } });
    expect(mail.trace.some(({ state }: { state: string }) => state === 'handed_over')).toBe(false);
    const recipient = await engine.call('GET', `/campaigns/${id}/recipients/${heldOut.id}`);
    expect(recipient.body).toMatchObject({ outcome: 'withheld', reasonCode: 'held_out' });
    const list = await engine.call('GET', `/campaigns/${id}/recipients?reason=held_out`);
    expect(list.body.data.map(({ contact }: { contact: Created }) => contact.id)).toContain(
      heldOut.id,
    );
    const row = await engine.api.db
      .selectFrom('email')
      .select(['allowance_month', 'attempts'])
      .where('id', '=', mail.id)
      .executeTakeFirstOrThrow();
    expect(row.allowance_month).toBe(null);
    const timeline = await engine.call('GET', `/contacts/${heldOut.id}/timeline?types=not_reached`);
    expect(timeline.body.data[0].detail).toMatchObject({ reasonCode: 'held_out' });
  });

  it('sends other classes, /v1/send and tests to everybody', async () => {
    await insertContacts(engine, 40);
    await setHoldout({ percent: 20 });
    for (const messageType of ['TRANSACTIONAL', 'HEADLESS']) {
      expect(await statsOf(await sentCampaign({ messageType }))).toMatchObject({ sentCount: 40 });
    }
    const { heldOut } = await oneOfEach();
    const template = await createTemplate(engine, { type: 'MARKETING' });
    await engine.call('POST', '/v1/send', { to: heldOut.email, template });
    const draft = await createCampaign(engine);
    await engine.call('POST', `/campaigns/${draft}/test`, { email: heldOut.email });
    expect(await engine.mailsTo(heldOut.email, 2)).toHaveLength(2);
  });

  it('lets journeys go on without their mail', async () => {
    await setHoldout({ percent: 20 });
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const plain = await createTemplate(engine, { type: 'TRANSACTIONAL' });
    const mail = (name: string, id: string) => ({ type: 'SEND_EMAIL', name, templateId: id });
    const workflow = await createWorkflow(engine, {
      eventName: 'joined',
      steps: [
        mail('News', templateId),
        mail('Receipt', plain),
        { type: 'EXIT', name: 'End', config: { reason: 'done' } },
      ],
    });
    const { heldOut, reached } = await oneOfEach();
    const errorsOf = async ({ id }: Created) => {
      const execution = await startByHand(engine, workflow.id, id);
      await executionIn(engine, workflow.id, execution, 'EXITED');
      return waitFor('two mails to end', async () => {
        const { body } = await engine.call('GET', `/emails?contactId=${id}`);
        const ended = body.data.filter(({ status }: Ended) => !status.endsWith('ING'));
        return ended.length === 2 && ended.map(({ error }: Ended) => error).toSorted();
      });
    };
    expect(await errorsOf(heldOut)).toEqual(['held_out', null]);
    expect(await errorsOf(reached)).toEqual([null, null]);
    const simulated = async (subject: object) => {
      const path = `/workflows/${workflow.id}/simulate`;
      const { body } = await engine.call('POST', path, subject);
      return body.data.emails.map(({ reason }: { reason: string | null }) => reason);
    };
    expect(await simulated({ contactId: heldOut.id })).toEqual(['held_out', null]);
    expect(await simulated({ contactId: reached.id })).toEqual([null, null]);
    // A made up contact is in no group.
    for (let turn = 0; turn < 20; turn++) {
      expect(await simulated({ contact: { email: 'a@people.test' } })).toEqual([null, null]);
    }
  });
});
interface Ended {
  status: string;
  error: string | null;
}

describe('a hold-out with a scope', () => {
  it('concerns only the mail of its topics', async () => {
    const topic = { key: `t${Date.now()}`, name: 'News', default: 'subscribed' };
    const { body } = await engine.call('POST', '/topics', { ...topic, visibility: 'public' });
    await setHoldout({ percent: 20, scope: { topicIds: [body.id] } });
    const { heldOut } = await oneOfEach(body.id);
    expect(await heldOutOf(await sentCampaign())).toEqual([]);
    expect(await heldOutOf(await sentCampaign({ topicId: body.id }))).toContain(heldOut.id);
  });

  it('concerns only the mail of its workflows', async () => {
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const steps = [{ type: 'SEND_EMAIL', name: 'Mail', templateId }];
    const one = await createWorkflow(engine, { eventName: 'one', steps });
    const other = await createWorkflow(engine, { eventName: 'other', steps });
    await setHoldout({ percent: 20 });
    const { heldOut } = await oneOfEach();
    await setHoldout({ scope: { workflowIds: [one.id] } });
    for (const { id } of [one, other]) await startByHand(engine, id, heldOut.id);
    const errors = await waitFor('both mails to end', async () => {
      const { body } = await engine.call('GET', `/emails?contactId=${heldOut.id}`);
      const ended = body.data.filter(({ status }: Ended) => !status.endsWith('ING'));
      return ended.length === 2 && ended.map(({ error }: Ended) => error).toSorted();
    });
    expect(errors).toEqual(['held_out', null]);
    expect(await reportOf('any')).toMatchObject({
      heldOut: { contacts: 1 },
      reached: { contacts: 0 },
    });
    expect(await heldOutOf(await sentCampaign())).toEqual([]);
  });
});

it('holds out no contact after its end', async () => {
  const endsAt = Date.now() + 1_500;
  await setHoldout({ percent: 20, endsAt: new Date(endsAt).toISOString() });
  await insertContacts(engine, 100);
  await waitFor('the end', () => Date.now() > endsAt + 100);
  expect(await statsOf(await sentCampaign())).toMatchObject({ sentCount: 100 });
});

it('holds mail out that quiet hours have held back, if the hold-out begins meanwhile', async () => {
  const text = (at: number) => new Date(at).toISOString().slice(11, 19);
  const quietHours = { from: text(Date.now() - 60_000), to: text(Date.now() + 3_600_000) };
  await engine.call('PUT', '/send-policy', { timeZone: 'UTC', quietHours });
  await setHoldout({ percent: 20 });
  const { heldOut, reached } = await oneOfEach();
  await setHoldout({ percent: 0 });
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await waitFor('the mail to be held', async () => {
    const { heldCount } = await statsOf(id);
    return heldCount > 1;
  });
  await setHoldout({ percent: 20 });
  await engine.call('PUT', '/send-policy', { quietHours: null });
  await campaignIn(engine, id, 'SENT');
  const held = await heldOutOf(id);
  expect(held).toContain(heldOut.id);
  expect(held).not.toContain(reached.id);
});
