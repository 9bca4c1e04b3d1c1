import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { createTemplate } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { received, subscribe } from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Bounces and complaints stop a ramp. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
// The worker sends account mail. The API does not, or it would ask for verified addresses.
Object.assign(engine.services, { platformFrom: 'team@everpost.test' });
const receiver = await useReceiver();
const { db } = engine.api;

async function createRamp(stopWhen: object | null) {
  const given = { domain: engine.domain, startPerDay: 1000, days: 10, stopWhen };
  const { status, body } = await engine.call('POST', '/ramps', given);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id as string;
}
const rampOf = async (id: string) => (await engine.call('GET', `/ramps/${id}`)).body;
const rampWith = (id: string, wanted: object) =>
  waitFor(`a ramp with ${JSON.stringify(wanted)}`, async () => {
    const ramp = await rampOf(id);
    return Object.entries(wanted).every(([field, value]) => ramp[field] === value) && ramp;
  });

/** Sends transactional mail, which is never held. Returns the id of the mail. */
async function send(to: string, more: object = {}) {
  const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>', ...more };
  const { status, body } = await engine.call('POST', '/v1/send', mail);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data.emails[0].email as string;
}
const mailIn = (id: string, status: string) =>
  waitFor(`a mail ${status}`, async () => {
    const { body } = await engine.call('GET', `/emails/${id}`);
    return body.status === status && body;
  });
let bounced = 0;
async function bounce() {
  bounced += 1;
  await mailIn(await send(`bounce+${bounced}@simulator.test`), 'BOUNCED');
}
async function deliver(count: number) {
  const ids = await Promise.all(Array.from({ length: count }, () => send(newAddress())));
  for (const id of ids) await mailIn(id, 'DELIVERED');
}

/** The account mails to the owner of the project. */
async function ownersMail() {
  const { email } = await db
    .selectFrom('membership')
    .innerJoin('app_user', 'app_user.id', 'membership.user_id')
    .select('app_user.email')
    .where('project_id', '=', engine.project.id)
    .where('role', '=', 'OWNER')
    .executeTakeFirstOrThrow();
  return (subject: string, count: number) =>
    waitFor(`${count} mails with ${subject}`, async () => {
      const mails = await engine.mailsTo(email, count).catch(() => []);
      const found = mails.filter((mail) => mail.subject.includes(subject));
      return found.length >= count && found;
    });
}

describe('a ramp', () => {
  it('stops at its rate of bounces, records an event, holds its mail, and resumes on the same day', async () => {
    const events = await subscribe(engine, receiver, ['email.ramp_stopped']);
    const mails = await ownersMail();
    const id = await createRamp({ bounceRate: 20, minSent: 5 });
    await deliver(8);
    await bounce();
    await rampWith(id, { status: 'RUNNING', used: 9 });
    await bounce();
    const stopped = await rampWith(id, { status: 'STOPPED' });
    expect(stopped).toMatchObject({ stoppedFor: 'bounces', nextDayAt: null, day: 1, used: 10 });
    const [request] = await received(events, 1);
    expect(request?.event.data).toMatchObject({
      name: 'email.ramp_stopped',
      contact: null,
      data: {
        rampId: id,
        providerId: null,
        domain: engine.domain,
        stoppedFor: 'bounces',
        rate: 20,
      },
    });
    expect(await mails('has stopped', 1)).toHaveLength(1);

    // Only transactional mail leaves.
    const template = await createTemplate(engine, { type: 'HEADLESS' });
    const held = await send(newAddress(), { template, from: undefined, subject: undefined });
    const { hold } = await waitFor('a held mail', async () => {
      const { body } = await engine.call('GET', `/emails/${held}`);
      return body.hold && body;
    });
    expect(hold).toEqual({ reason: 'warm_up', until: null });
    await deliver(1);

    // The bounces before the resume no longer count.
    const resumed = await engine.call('POST', `/ramps/${id}/resume`);
    expect(resumed.body).toMatchObject({ status: 'RUNNING', stoppedFor: null, day: 1 });
    await mailIn(held, 'DELIVERED');
    await bounce();
    expect(await rampOf(id)).toMatchObject({ status: 'RUNNING' });
    expect(events.requests()).toHaveLength(1);
    await engine.call('DELETE', `/ramps/${id}`);
  });

  it('stops for complaints, and not for transient bounces or without a threshold', async () => {
    const events = await subscribe(engine, receiver, ['email.*']);
    const id = await createRamp({ complaintRate: 50, minSent: 2 });
    await send('softbounce+1@simulator.test');
    await rampWith(id, { used: 1 });
    await bounce();
    expect(await rampOf(id)).toMatchObject({ status: 'RUNNING', used: 2 });
    await mailIn(await send('complaint+1@simulator.test'), 'COMPLAINED');
    await mailIn(await send('complaint+2@simulator.test'), 'COMPLAINED');
    const stopped = await rampWith(id, { status: 'STOPPED' });
    expect(stopped).toMatchObject({ stoppedFor: 'complaints' });
    await waitFor('the event', () =>
      events.requests().some(({ event }) => event.data.name === 'email.ramp_stopped'),
    );
    await engine.call('DELETE', `/ramps/${id}`);
    const free = await createRamp(null);
    for (let count = 0; count < 3; count += 1) await bounce();
    expect(await rampOf(free)).toMatchObject({ status: 'RUNNING', used: 3 });
    await engine.call('DELETE', `/ramps/${free}`);
  });
});
