import { hash, randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { FeedbackQueue } from '../../../api/services/feedback-queue.ts';
import { transact } from '../../../db/database.ts';
import type { EventKind, FakeMailService } from '../../support/fakes/mail-service.ts';
import { fakeMailServices } from '../../support/fakes/mail-services.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { insertTakenMails, insertTestProvider } from '../../support/projects/mail-providers.ts';
import { useSnsFeedback } from '../../support/projects/sns-feedback.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The webhooks of mail services, through HTTP, in the services' own forms. */

const shop = await useSnsFeedback();
const { api, project } = shop;
const { db } = api;
const other = await api.createProject((await api.signUp()).cookie);

const [postmark, , sendgrid] = fakeMailServices as [FakeMailService, ...FakeMailService[]];

const addProvider = (
  { feedback, secret }: FakeMailService,
  projectId = project.id,
  fields: object = {},
) => insertTestProvider(api, projectId, { feedback, feedbackSecret: secret, ...fields });

type Provider = Awaited<ReturnType<typeof addProvider>>;

/** A sent message that a provider took. */
async function takenMail(provider: Provider, fields: Parameters<typeof shop.sentEmail>[0] = {}) {
  const { id, contactId } = await shop.sentEmail({ provider_id: provider.id, ...fields });
  const { to_email: to } = await shop.emailOf(id);
  return { emailId: id, contactId, to };
}

const post = (
  path: string,
  service: FakeMailService,
  body: unknown,
  given?: { at?: Date; secret?: string },
) => api.request('POST', path, service.request(body, given));

const event = (service: FakeMailService, kind: EventKind, mail: { emailId: string; to: string }) =>
  service.events[kind]!(mail);

const applied = (count: number, ignored = 0) => ({
  status: 200,
  body: { success: true, applied: count, ignored },
});

const effects: Partial<Record<EventKind, { status: string; events: string[] }>> = {
  delivered: { status: 'DELIVERED', events: ['email.delivery'] },
  permanent: { status: 'BOUNCED', events: ['email.bounce'] },
  transient: { status: 'SENT', events: ['email.bounce'] },
  delayed: { status: 'SENT', events: [] },
  complained: { status: 'COMPLAINED', events: ['email.complaint'] },
  notSent: { status: 'FAILED', events: [] },
  accepted: { status: 'SENT', events: [] },
  unsubscribed: { status: 'SENT', events: ['contact.unsubscribed'] },
};

describe.each(fakeMailServices.map((service) => [service.feedback, service] as const))(
  'an event of %s',
  (_, service) => {
    const kinds = Object.keys(effects).filter((kind) => service.events[kind as EventKind]);

    it.each(kinds as EventKind[])('of the kind %s has its effect', async (kind) => {
      const provider = await addProvider(service);
      const mail = await takenMail(provider);
      const answer = await post(provider.path, service, event(service, kind, mail));
      expect(answer).toMatchObject(applied(1));
      const { status, events } = effects[kind]!;
      expect((await shop.emailOf(mail.emailId)).status).toBe(status);
      expect(await shop.namesOf(mail.contactId)).toEqual(events);
      const gone = ['permanent', 'complained', 'unsubscribed'].includes(kind);
      expect((await shop.contactOf(mail.contactId)).subscribed).toBe(!gone);
    });

    it('counts once when it is sent twice', async () => {
      const provider = await addProvider(service);
      const mail = await takenMail(provider);
      const request = service.request(event(service, 'delivered', mail));
      const first = await api.request('POST', provider.path, request);
      expect(first).toMatchObject(applied(1));
      const second = await api.request('POST', provider.path, request);
      expect(second).toMatchObject(applied(0, 1));
      expect(await shop.namesOf(mail.contactId)).toEqual(['email.delivery']);
    });

    it('is refused without the right proof', async () => {
      const provider = await addProvider(service);
      const mail = await takenMail(provider);
      const body = event(service, 'delivered', mail);
      const wrong = await post(provider.path, service, body, { secret: 'whsec_b3RoZXI=' });
      expect([wrong.status, wrong.body.error.code]).toEqual([403, 'INVALID_SIGNATURE']);
      const none = await api.request('POST', provider.path, { body });
      expect([none.status, none.body.error.code]).toEqual([400, 'MISSING_SIGNATURE']);
      expect((await shop.emailOf(mail.emailId)).status).toBe('SENT');
    });

    it('settles a message with an unknown outcome', async () => {
      const provider = await addProvider(service);
      const mail = await takenMail(provider, {
        status: 'SENDING',
        sent_at: null,
        message_id: null,
        attempts: 1,
        lease_until: new Date(Date.now() - 1000),
      });
      await post(provider.path, service, event(service, 'delivered', mail));
      const email = await shop.emailOf(mail.emailId);
      expect(email).toMatchObject({ status: 'DELIVERED', error: null });
      expect(email.sent_at).not.toBeNull();
    });
  },
);

describe('the trace of a bounce', () => {
  it('says that a webhook reported it, with status and text', async () => {
    const provider = await addProvider(postmark);
    const mail = await takenMail(provider);
    await post(provider.path, postmark, event(postmark, 'permanent', mail));
    const text = 'smtp;550 5.1.1 The account does not exist.';
    expect((await shop.traceOf(mail.emailId)).at(-1)).toEqual([
      'bounced',
      { bounceType: 'Permanent', source: 'webhook', status: '5.1.1', text },
    ]);
  });

  it('has a delay once, however often it is reported', async () => {
    const provider = await addProvider(postmark);
    const mail = await takenMail(provider);
    for (let time = 0; time < 3; time += 1) {
      await post(provider.path, postmark, event(postmark, 'delayed', mail));
    }
    const states = (await shop.traceOf(mail.emailId)).map(([state]) => state);
    expect(states.filter((state) => state === 'delayed')).toHaveLength(1);
  });
});

describe('the address of a webhook', () => {
  it('is the one that POST /providers returns, with the secret that was given last', async () => {
    const { feedback, secret } = postmark;
    const { body: made } = await api.request('POST', '/providers', {
      key: other.secretKey,
      body: { name: randomUUID(), kind: 'smtp', host: 'smtp.x.example', feedback },
    });
    const path = (made.feedbackUrl as string).replace(api.url, '');
    const given = { projectId: other.id, providerId: made.id as string };
    const [mail] = await insertTakenMails(db, given, 1);
    const body = event(postmark, 'delivered', mail!);
    expect(await api.request('POST', path, { body })).toMatchObject(applied(1));
    await api.request('PATCH', `/providers/${made.id}`, {
      key: other.secretKey,
      body: { feedbackSecret: secret },
    });
    expect((await api.request('POST', path, { body })).status).toBe(400);
    expect(await post(path, postmark, body)).toMatchObject(applied(0, 1));
  });

  it('is the same 404 for a wrong token, a wrong id and a provider without webhooks', async () => {
    const provider = await addProvider(postmark);
    const silent = await insertTestProvider(api, project.id, { feedback: 'dsn' });
    const token = provider.path.split('/').at(-1)!;
    for (const path of [
      `/webhooks/providers/${provider.id}/${'0'.repeat(64)}`,
      `/webhooks/providers/${randomUUID()}/${token}`,
      `/webhooks/providers/default/${token}`,
      silent.path,
    ]) {
      const { status, body } = await post(path, postmark, {});
      expect([status, body.error.code]).toEqual([404, 'PROVIDER_NOT_FOUND']);
    }
  });

  it('is made by rotate-token for a provider that had none, and the former one still works', async () => {
    const key = other.secretKey;
    const call = async (method: string, path: string, body: object = {}) =>
      (await api.request(method, path, { key, body })).body;
    const server = { name: randomUUID(), kind: 'smtp', host: 'smtp.x.example', feedback: 'none' };
    const { id, feedbackUrl } = await call('POST', '/providers', server);
    expect(feedbackUrl).toBeNull();
    const resend = fakeMailServices.at(-1)!;
    const change = { feedback: 'resend', feedbackSecret: resend.secret };
    expect(await call('PATCH', `/providers/${id}`, change)).toMatchObject({ feedback: 'resend' });
    const paths: string[] = [];
    for (let time = 0; time < 2; time += 1) {
      const made = await call('POST', `/providers/${id}/rotate-token`);
      paths.push((made.feedbackUrl as string).replace(api.url, ''));
    }
    const mails = await insertTakenMails(db, { projectId: other.id, providerId: id }, 2);
    for (const [index, path] of paths.entries()) {
      const answer = await post(path, resend, event(resend, 'delivered', mails[index]!));
      expect(answer).toMatchObject(applied(1));
    }
  });

  it('works with the former token until its time is over', async () => {
    const former = randomBytes(32).toString('hex');
    const until = (ms: number) => ({
      former_token_hash: hash('sha256', former, 'buffer'),
      former_token_until: new Date(Date.now() + ms),
    });
    const still = await addProvider(postmark, project.id, until(60_000));
    const over = await addProvider(postmark, project.id, until(-1000));
    const answer = (id: string) => post(`/webhooks/providers/${id}/${former}`, postmark, {});
    expect(await answer(still.id)).toMatchObject(applied(0, 1));
    expect((await answer(over.id)).status).toBe(404);
  });

  it('needs no proof but its token if the provider has no secret', async () => {
    const provider = await insertTestProvider(api, project.id, { feedback: 'postmark' });
    const mail = await takenMail(provider);
    const body = event(postmark, 'delivered', mail);
    expect(await api.request('POST', provider.path, { body })).toMatchObject(applied(1));
  });

  it('works while the provider and its project are disabled', async () => {
    const owner = await api.createProject((await api.signUp()).cookie);
    const provider = await addProvider(postmark, owner.id, { enabled: false });
    const { body: contact } = await api.request('POST', '/contacts', {
      key: owner.secretKey,
      body: { email: 'ada@x.example' },
    });
    const given = { projectId: owner.id, contactId: contact.id as string };
    const emailId = await insertTestEmail(db, given, { provider_id: provider.id });
    await sql`update project set disabled_reason = 'MANUAL' where id = ${owner.id}`.execute(db);
    const mail = { emailId, to: 'ada@x.example' };
    const answer = await post(provider.path, postmark, event(postmark, 'delivered', mail));
    expect(answer).toMatchObject(applied(1));
  });

  it('is in no line of the log', async () => {
    const provider = await addProvider(postmark);
    const token = provider.path.split('/').at(-1)!;
    api.log.mustNotTell(token);
    await post(provider.path, postmark, {});
    api.log.check();
  });
});

describe('an event about mail that this provider did not take', () => {
  it('is ignored: of another provider, of none, or of another project', async () => {
    const provider = await addProvider(postmark);
    const beside = await addProvider(postmark);
    const { body: contact } = await api.request('POST', '/contacts', {
      key: other.secretKey,
      body: { email: 'eve@x.example' },
    });
    const foreign = await insertTestEmail(
      db,
      { projectId: other.id, contactId: contact.id as string },
      { provider_id: provider.id },
    );
    const mails = [
      await takenMail(beside),
      await takenMail(provider, { provider_id: null }),
      { emailId: foreign, to: 'eve@x.example' },
      { emailId: randomUUID(), to: 'ada@x.example' },
    ];
    const events = mails.map((mail) => event(postmark, 'permanent', mail));
    expect(await post(provider.path, postmark, events)).toMatchObject(applied(0, 4));
    for (const { emailId } of mails.slice(0, 3)) {
      expect((await shop.emailOf(emailId)).status).toBe('SENT');
    }
  });
});

describe('a body', () => {
  it('of 500 events, one of them broken, has the effects of 499', async () => {
    const provider = await addProvider(sendgrid!);
    const campaignId = await insertTestCampaign(db, project.id);
    const given = { projectId: project.id, providerId: provider.id, campaignId };
    const mails = await insertTakenMails(db, given, 500);
    const events: unknown[] = mails.map((mail) => event(sendgrid!, 'delivered', mail));
    events[250] = { event: 'delivered', everpost_email: 5 };
    expect(await post(provider.path, sendgrid!, events)).toMatchObject(applied(499, 1));
    expect((await shop.campaignOf(campaignId)).delivered_count).toBe(499);
    // The service repeats the whole body, because it got no answer.
    const again = await post(provider.path, sendgrid!, events);
    expect(again).toMatchObject(applied(0, 500));
    expect((await shop.campaignOf(campaignId)).delivered_count).toBe(499);
  });

  it('without anything to use is answered 200, so that the service goes on', async () => {
    const provider = await addProvider(postmark);
    for (const [body, ignored] of [
      [{}, 1],
      [[], 0],
      [null, 1],
      ['text', 1],
      [[1, null, [{}]], 3],
      [{ RecordType: 'Open', Metadata: { 'everpost-email': randomUUID() } }, 1],
    ] as const) {
      expect(await post(provider.path, postmark, body)).toMatchObject(applied(0, ignored));
    }
  });

  it('that is no JSON, or has too many events, is refused', async () => {
    const provider = await addProvider(postmark);
    const { headers } = postmark.request({});
    const text = await api.request('POST', provider.path, { headers, body: '{"RecordType":' });
    expect([text.status, text.body.error.code]).toEqual([400, 'INVALID_REQUEST_BODY']);
    const many = await post(provider.path, postmark, Array(10_001).fill(1));
    expect([many.status, many.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const large = await post(provider.path, postmark, ['x'.repeat(5 * 1024 * 1024)]);
    expect([large.status, large.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });
});

describe('a flood of events', () => {
  it('of one project does not delay an event of another', async () => {
    const flooding = await addProvider(sendgrid!);
    const quiet = await addProvider(postmark, other.id);
    const many = await insertTakenMails(
      db,
      { projectId: project.id, providerId: flooding.id },
      3000,
    );
    const [one] = await insertTakenMails(db, { projectId: other.id, providerId: quiet.id }, 1);
    const events = many.map((mail) => event(sendgrid!, 'delivered', mail));
    let isOver = false;
    const flood = post(flooding.path, sendgrid!, events).then((answer) => {
      isOver = true;
      return answer;
    });
    await waitFor('the first events of the flood', async () => {
      const { rows } = await sql`select from email
        where provider_id = ${flooding.id} and delivered_at is not null limit 1`.execute(db);
      return rows.length > 0;
    });
    const began = performance.now();
    const answer = await post(quiet.path, postmark, event(postmark, 'delivered', one!));
    const tookMs = performance.now() - began;
    expect(answer).toMatchObject(applied(1));
    expect(isOver).toBe(false);
    expect(tookMs).toBeLessThan(2000);
    expect(await flood).toMatchObject(applied(3000));
  });

  it('in more than four large bodies at once has to be sent again in part', async () => {
    const provider = await addProvider(sendgrid!);
    const given = { projectId: project.id, providerId: provider.id };
    const mails = await insertTakenMails(db, given, 201);
    const bodies = Array.from({ length: 6 }, () =>
      mails.map((mail) => event(sendgrid!, 'delivered', mail)),
    );
    const statuses: number[] = [];
    const posting = await transact(db, async (tx) => {
      // No body can be recorded as a whole while one of its contacts is locked.
      await sql`select from contact where id = ${mails[0]!.contactId} for update`.execute(tx);
      const requests = bodies.map(async (body) => {
        const { status } = await post(provider.path, sendgrid!, body);
        statuses.push(status);
        return status;
      });
      await waitFor('two refusals', () => statuses.length === 2);
      return { requests };
    });
    expect((await Promise.all(posting.requests)).toSorted()).toEqual([
      200, 200, 200, 200, 503, 503,
    ]);
    expect(statuses.slice(0, 2)).toEqual([503, 503]);
    expect(await post(provider.path, sendgrid!, bodies[5])).toMatchObject({ status: 200 });
  });
});

describe('a body that fails in the middle', () => {
  it('is answered with an error, and has each effect once when it is sent again', async () => {
    const provider = await addProvider(sendgrid!);
    const campaignId = await insertTestCampaign(db, project.id);
    const given = { projectId: project.id, providerId: provider.id, campaignId };
    const mails = await insertTakenMails(db, given, 450);
    const request = sendgrid!.request(mails.map((mail) => event(sendgrid!, 'delivered', mail)));
    const { feedback } = api.services;
    let calls = 0;
    api.services.feedback = {
      record: (report: Parameters<FeedbackQueue['record']>[0], maxDelayMs: number) => {
        calls += 1;
        if (calls === 300) return Promise.reject(new Error('the connection was lost'));
        return feedback.record(report, maxDelayMs);
      },
    } as FeedbackQueue;
    expect((await api.request('POST', provider.path, request)).status).toBe(500);
    api.services.feedback = feedback;
    const { body } = await api.request('POST', provider.path, request);
    expect(body.applied + body.ignored).toBe(450);
    expect(body.ignored).toBeGreaterThanOrEqual(200);
    expect((await shop.campaignOf(campaignId)).delivered_count).toBe(450);
    for (const { contactId } of mails.slice(195, 205)) {
      expect(await shop.namesOf(contactId)).toEqual(['email.delivery']);
    }
  });
});
