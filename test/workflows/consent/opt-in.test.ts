import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { bySecretKey } from '../../support/actors.ts';
import { codeOf } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { optInsOf } from '../../support/projects/opt-ins.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Double opt-in, from the request to its end. */

const engine = await useEngine();
const { call, api } = engine;
const {
  idOf,
  contact,
  asked,
  track,
  mails,
  link,
  open,
  post,
  log,
  lines,
  events,
  ended,
  setRequest,
} = optInsOf(engine);
const from = `team@${engine.domain}`;
const put = (body: object) => call('PUT', '/consent-policy', body);
await put({ from });
await call('POST', '/topics', {
  key: 'news',
  name: 'News & <views>',
  default: 'unsubscribed',
  visibility: 'public',
});
const stateOf = async (email: string) => {
  const { subscribed, consent } = await contact(email);
  return [subscribed, consent];
};
const confirmed = async (email: string) => {
  const { body } = await call('GET', `/contacts/${await idOf(email)}/topics`);
  return body.filter((topic: { subscribed: boolean }) => topic.subscribed).length;
};

describe('an opt-in request', () => {
  it('sends one mail whose link only its reader has, and waits', async () => {
    const email = newAddress();
    const made = await call('POST', '/contacts', { email, confirm: true, subscribed: true });
    expect([made.status, made.body]).toMatchObject([
      201,
      { subscribed: false, consent: 'pending' },
    ]);
    const [mail] = await mails(email, 1);
    const token = /\/confirm\/([0-9a-f]{64})/.exec(mail.html)?.[1];
    expect(mail.html).toContain(`href="${api.services.config.apiUrl}/confirm/${token}"`);
    expect(mail.text).toContain(`/confirm/${token}`);
    expect(mail.html).not.toContain('/t/o/');
    expect(Object.keys(mail.headers)).not.toContain('list-unsubscribe');
    const [stored] = await ended(email, 1);
    const { body } = await call('GET', `/emails/${stored.id}`);
    expect(body).toMatchObject({
      sourceType: 'TRANSACTIONAL',
      status: 'DELIVERED',
      causedBy: bySecretKey,
    });
    expect(body.body).toContain('/confirm/***');
    const exported = await call('GET', `/contacts/${await idOf(email)}/export`);
    const { rows } = await sql<{ text: string }>`
      select string_agg(opt_in::text, ' ') || (select string_agg(event::text, ' ') from event) as text
        from opt_in`.execute(api.db);
    for (const copy of [JSON.stringify(body), JSON.stringify(exported.body), rows[0]!.text]) {
      expect(copy).not.toContain(token);
    }
    expect(await stateOf(email)).toEqual([false, 'pending']);
  });

  it('is confirmed by the button of the page alone, and once', async () => {
    const email = await asked();
    const path = await link(email);
    for (const _ of [1, 2, 3]) {
      const { status, body } = await open(path);
      expect([status, body.match(/<button/g)?.length]).toEqual([200, 1]);
      expect(body).toContain(`${email[0]}…@people.test`);
      expect(body).toContain(`action="${path}"`);
    }
    expect(await stateOf(email)).toEqual([false, 'pending']);
    const agent = { 'User-Agent': 'Mail/1', 'Content-Type': 'text/plain' };
    const posts = await Promise.all(Array.from({ length: 50 }, () => post(path, agent)));
    expect(posts.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(await stateOf(email)).toEqual([true, 'confirmed']);
    const subscribed = ['contact.subscribed', { source: 'double_opt_in' }];
    expect(await events(email)).toEqual([subscribed]);
    expect((await open(path)).body).not.toContain('<button');
    await call('PATCH', `/contacts/${await idOf(email)}`, { subscribed: false });
    const late = await post(path);
    expect([late.status, late.body]).toEqual([200, expect.stringContaining('is not on')]);
    expect(await stateOf(email)).toEqual([false, 'confirmed']);
    const [requested, granted, withdrawn, ...rest] = await log(email);
    expect([requested, granted, withdrawn, rest]).toMatchObject([
      { action: 'requested', source: 'api', actor: 'sk', topic: null },
      {
        action: 'confirmed',
        source: 'double_opt_in',
        actor: null,
        ip: expect.any(String),
        userAgent: 'Mail/1',
      },
      { action: 'withdrawn', source: 'api' },
      [],
    ]);
    const text = granted!['text'] as string;
    expect(text).toContain('Confirm your subscription\nDo you want to add ');
    expect(granted!['textHash']).toBe(createHash('sha256').update(text).digest('hex'));
  });

  it('has the proof of the customer; of a public key the text alone', async () => {
    const proof = { text: 'T', ip: '203.0.113.9' };
    expect((await log(await asked({ proof })))[0]).toMatchObject({ ...proof, action: 'requested' });
    const email = newAddress();
    await track(email, { confirm: true, proof }, engine.project.publicKey);
    const [line] = await log(email);
    expect(line).toMatchObject({ text: 'T', actor: 'pk' });
    expect(line!['ip']).not.toBe('203.0.113.9');
  });

  it('is one for ten at once, and grows by topics without a second mail within the hour', async () => {
    const email = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => track(email, { confirm: true })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const path = await link(email);
    expect(await lines(email)).toEqual(['requested null']);
    await track(email, { confirm: true, topics: ['news'] });
    expect(await lines(email)).toEqual(['requested null', 'requested news']);
    const page = (await open(path)).body;
    expect(page).toContain('<li>News &amp; &lt;views&gt;</li>');
    await post(path);
    expect([await stateOf(email), await confirmed(email)]).toEqual([[true, 'confirmed'], 1]);
    const topic = ['contact.topic.subscribed', { topic: 'news', source: 'double_opt_in' }];
    expect((await events(email)).at(-1)).toEqual(topic);
    expect((await lines(email)).slice(2)).toEqual(['confirmed null', 'confirmed news']);
    expect((await log(email)).at(-1)!['text']).toContain('\nNews & <views>');
    expect(await mails(email, 1)).toHaveLength(1);
  });

  it('of a subscribed contact is for topics alone, and nothing without one', async () => {
    const email = newAddress();
    await call('POST', '/contacts', { email });
    await track(email, { confirm: true });
    expect(await stateOf(email)).toEqual([true, undefined]);
    await track(email, { confirm: true, topics: ['news'] });
    expect([await stateOf(email), await confirmed(email)]).toEqual([[true, 'pending'], 0]);
    expect(await lines(email)).toEqual(['granted null', 'requested news']);
    const path = await link(email);
    expect((await open(path)).body).toContain('Do you want to get this mail of');
    await post(path);
    expect([await stateOf(email), await confirmed(email)]).toEqual([[true, 'confirmed'], 1]);
  });

  it('needs a sender, else nothing is stored', async () => {
    await put({ from: null });
    const email = newAddress();
    const refused = [400, 'CONSENT_SENDER_REQUIRED'];
    expect(codeOf(await call('POST', '/contacts', { email, confirm: true }))).toEqual(refused);
    expect(codeOf(await track(email, { confirm: true }))).toEqual(refused);
    expect(await contact(email)).toBeUndefined();
    await put({ from });
    const both = { email, confirm: true, subscribed: false };
    const { status, body } = await call('POST', '/contacts', both);
    expect([status, body.error.errors[0]]).toMatchObject([
      422,
      { field: 'confirm', code: 'custom' },
    ]);
  });

  it('is found by its state', async () => {
    const email = await asked();
    const listed = async (state: string) =>
      (await call('GET', `/contacts?consent=${state}&limit=100`)).body.data.map(
        (one: { email: string }) => one.email,
      );
    expect(await listed('pending')).toContain(email);
    expect(await listed('confirmed')).not.toContain(email);
  });
});

describe('the confirmation mail', () => {
  it('is made of the template, with the names of the topics', async () => {
    const body =
      '<p>{{name}}</p>{{confirmTopics}}<a href="{{confirmUrl}}">Yes</a> {{unsubscribeUrl}}';
    const template = { name: 'T', subject: 'Yes?', body, type: 'TRANSACTIONAL', fromName: 'T' };
    const { body: made } = await call('POST', '/templates', { ...template, from });
    await put({ templateId: made.id });
    const data = { name: 'see https://evil.test/confirm/***', confirmUrl: 'https://evil.test' };
    const email = await asked({ data, topics: ['news'] });
    const [mail] = await mails(email, 1);
    const token = /\/confirm\/([0-9a-f]{64})/.exec(mail.html)?.[1];
    expect(mail.subject).toBe('Yes?');
    expect(mail.html).toContain('<li>News &amp; &lt;views&gt;</li>');
    expect(mail.html).not.toContain(`evil.test/confirm/${token}`);
    expect(mail.html).not.toContain('href="https://evil.test"');
    expect(Object.keys(mail.headers)).not.toContain('list-unsubscribe');
    await call('PATCH', `/templates/${made.id}`, { body: '<p>No link</p>' });
    const [plain] = await mails(await asked({ data: { locale: 'de-AT' } }), 1);
    expect(plain.subject).toBe('Bitte bestätigen Sie Ihre Anmeldung');
    await put({ templateId: null });
  });

  it('fails when its domain is not verified any more', async () => {
    const set = (status: string) =>
      api.db.updateTable('domain').set({ status }).where('name', '=', engine.domain).execute();
    await set('pending');
    const email = await asked();
    const [mail] = await ended(email, 1);
    await set('verified');
    expect(mail).toMatchObject({ status: 'FAILED', error: 'domain_not_verified' });
    expect(await stateOf(email)).toEqual([false, 'pending']);
  });

  it('is not sent to who has complained, was put on the list by hand, or gets nothing at all', async () => {
    const entries = [
      { reason: 'complaint', scope: 'marketing' },
      { reason: 'manual', scope: 'marketing' },
      { reason: 'import', scope: 'all' },
    ];
    for (const { reason, scope } of entries) {
      const email = newAddress();
      await call('POST', '/suppression-list', { emails: [email], scope });
      await sql`update suppression set reason = ${reason} where email = ${email}`.execute(api.db);
      await call('POST', '/contacts', { email, confirm: true });
      const [mail] = await ended(email, 1);
      expect([reason, mail.status, mail.error]).toEqual([reason, 'FAILED', 'suppressed']);
    }
    const email = newAddress();
    await call('POST', '/suppression-list', { emails: [email], reason: 'import' });
    await call('POST', '/contacts', { email, confirm: true });
    await post(await link(email));
    expect((await call('GET', `/suppression-list/${email}`)).status).toBe(404);
  });

  it('lifts the entry of an erased contact once it is confirmed', async () => {
    const email = newAddress();
    const { body } = await call('POST', '/contacts', { email });
    await call('PATCH', `/contacts/${body.id}`, { subscribed: false });
    await call('DELETE', `/contacts/${body.id}`);
    await call('POST', '/contacts', { email, confirm: true });
    expect((await call('GET', `/suppression-list/${email}`)).body.reason).toBe('erased');
    await post(await link(email));
    expect(await stateOf(email)).toEqual([true, 'confirmed']);
    expect((await call('GET', `/suppression-list/${email}`)).status).toBe(404);
  });
});

async function requestOf(email: string): Promise<string> {
  const row = await api.db
    .selectFrom('opt_in')
    .select('id')
    .where('email', '=', email)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow();
  return row.id;
}

describe('the end of a request', () => {
  it('comes in time: one reminder with the same link, then nothing', async () => {
    await put({ remindAfter: 1, expireAfter: 4 });
    const email = await asked();
    const [one, two] = await mails(email, 2);
    const linkOf = (mail: { html: string }) => /\/confirm\/[0-9a-f]{64}/.exec(mail.html)?.[0];
    expect(linkOf(two)).toBe(linkOf(one));
    await waitFor('the end', async () => (await contact(email)).consent === 'expired');
    await put({ remindAfter: null, expireAfter: 604_800 });
    expect(await lines(email)).toEqual(['requested null', 'expired null']);
    expect((await log(email)).at(-1)).toMatchObject({ source: 'double_opt_in', actor: null });
    const path = linkOf(one)!;
    expect([(await open(path)).status, (await post(path)).status]).toEqual([404, 404]);
    expect(await stateOf(email)).toEqual([false, 'expired']);
    expect(await mails(email, 2)).toHaveLength(2);
  });

  it('comes as the policy was when the request was made, also after a change of the policy', async () => {
    await put({ expireAfter: 2 });
    const email = await asked();
    await put({ expireAfter: 604_800 });
    const later = await asked();
    await waitFor('the end', async () => (await contact(email)).consent === 'expired');
    expect((await contact(later)).consent).toBe('pending');
  });

  it('comes before, by whatever unsubscribes the contact', async () => {
    const ways: Record<string, (email: string, id: string) => Promise<unknown>> = {
      patch: (_, id) => call('PATCH', `/contacts/${id}`, { subscribed: false }),
      track: (email) => track(email, { subscribed: false }, engine.project.publicKey),
      address: (email, id) => call('PATCH', `/contacts/${id}`, { email: `x.${email}` }),
      page: (_, id) => post(`/unsubscribe/${id}`),
      bulk: async (_, id) => {
        const { body } = await call('POST', '/contacts/bulk-unsubscribe', { contactIds: [id] });
        await endOfJob(engine, body.jobId);
      },
      import: async (email) =>
        endOfJob(engine, await importFile(engine, `email,subscribed\n${email},no\n`)),
    };
    for (const [way, end] of Object.entries(ways)) {
      const email = await asked({ topics: ['news'] });
      const path = await link(email);
      const id = await idOf(email);
      await end(email, id);
      const { body } = await call('GET', `/contacts/${id}`);
      expect([way, body.consent, body.subscribed]).toEqual([way, 'expired', false]);
      expect([way, (await post(path)).status]).toEqual([way, 404]);
      const written = await call('GET', `/contacts/${id}/consent`);
      const said = written.body.map(
        (line: { action: string; topic: string | null }) => `${line.action} ${line.topic}`,
      );
      expect([way, ...said.slice(2)]).toEqual([way, 'withdrawn null', 'withdrawn news']);
    }
  });

  it('comes with a permanent bounce, and with the contact', async () => {
    const bounced = `bounce+${randomUUID()}@simulator.test`;
    await call('POST', '/contacts', { email: bounced, confirm: true });
    await waitFor('the bounce', async () => (await contact(bounced)).consent === 'expired');
    expect((await log(bounced)).at(-1)).toMatchObject({ action: 'withdrawn', source: 'bounce' });
    const email = await asked();
    const path = await link(email);
    const id = await idOf(email);
    const run = engine.temporal.client.workflow.getHandle(`consent-${await requestOf(email)}`);
    await call('DELETE', `/contacts/${id}`);
    expect((await open(path)).status).toBe(404);
    await waitFor('its run to end', async () => (await run.describe()).status.name === 'COMPLETED');
    const erased = await asked();
    const gone = await link(erased);
    await call('POST', `/contacts/${await idOf(erased)}/erase`);
    expect([(await open(gone)).status, (await post(gone)).status]).toEqual([404, 404]);
  });

  it('comes for a topic that is left meanwhile', async () => {
    const email = newAddress();
    await call('POST', '/contacts', { email });
    await track(email, { confirm: true, topics: ['news'] });
    await call('PUT', `/contacts/${await idOf(email)}/topics`, { topics: { news: false } });
    expect(await stateOf(email)).toEqual([true, 'expired']);
    expect(await lines(email)).toEqual(['granted null', 'requested news', 'withdrawn news']);
  });
});

describe('a change of the address', () => {
  const changed = async (email: string, more: object = {}) => {
    const id = await idOf(email);
    const next = newAddress();
    const { status, body } = await call('PATCH', `/contacts/${id}`, { email: next, ...more });
    expect(status).toBe(200);
    return { id, next, body };
  };

  it('ends a confirmation: the contact stays subscribed, and the log says why', async () => {
    const email = await asked({ topics: ['news'] });
    const path = await link(email);
    await post(path);
    const { next, body } = await changed(email);
    expect([body.subscribed, 'consent' in body]).toEqual([true, false]);
    expect(await stateOf(next)).toEqual([true, undefined]);
    expect(await confirmed(next)).toBe(1);
    expect((await log(next)).at(-1)).toMatchObject({
      action: 'address_changed',
      source: 'api',
      topic: null,
      actor: 'sk',
    });
    expect((await post(path)).status).toBe(200);
    expect(await stateOf(next)).toEqual([true, undefined]);
    const listed = await call('GET', `/contacts?consent=confirmed&search=${next}`);
    expect(listed.body.data).toEqual([]);
    await call('PATCH', `/contacts/${await idOf(next)}`, { email });
    expect(await stateOf(email)).toEqual([true, undefined]);
    expect((await lines(email)).filter((line) => line.startsWith('address'))).toHaveLength(1);
  });

  it('keeps a confirmation when the address is written in another way', async () => {
    const email = await asked();
    await post(await link(email));
    await call('PATCH', `/contacts/${await idOf(email)}`, { email: ` ${email.toUpperCase()} ` });
    expect(await stateOf(email)).toEqual([true, 'confirmed']);
  });

  it('together with an opt-out says both, and the opt-out outlives the contact', async () => {
    const email = await asked();
    await post(await link(email));
    const { id, next } = await changed(email, { subscribed: false });
    expect((await lines(next)).slice(-2)).toEqual(['withdrawn null', 'address_changed null']);
    await call('DELETE', `/contacts/${id}`);
    const entry = await call('GET', `/suppression-list/${encodeURIComponent(next)}`);
    expect(entry.body.reason).toBe('erased');
  });

  it('leaves the link of the former address dead, also when the new one asks', async () => {
    const email = await asked();
    const path = await link(email);
    const { next } = await changed(email);
    await call('POST', '/contacts', { email: next, confirm: true });
    expect((await post(path)).status).toBe(404);
    expect(await stateOf(next)).toEqual([false, 'pending']);
    await post(await link(next));
    expect(await stateOf(next)).toEqual([true, 'confirmed']);
  });
});

describe('the limits of an address', () => {
  it('are one mail an hour, and five until it is confirmed', async () => {
    const email = await asked();
    await mails(email, 1);
    const pass = () => setRequest(email, { counted_at: hourAgo(), asked_at: hourAgo() });
    for (const count of [2, 3, 4, 5]) {
      await pass();
      await track(email, { confirm: true });
      await mails(email, count);
    }
    await pass();
    await track(email, { confirm: true });
    await track(email, { confirm: true });
    expect(await lines(email)).toEqual(Array(6).fill('requested null'));
    const path = await link(email, 5);
    // A new request of the same address continues the count.
    await call('PATCH', `/contacts/${await idOf(email)}`, { subscribed: false });
    await track(email, { confirm: true });
    expect((await call('GET', `/emails?contactId=${await idOf(email)}`)).body.total).toBe(5);
    expect((await post(path)).status).toBe(404);
    await sql`update opt_in set mails = 1 where email = ${email}`.execute(api.db);
    await pass();
    await track(email, { confirm: true });
    await post(await link(email, 6));
    expect(await stateOf(email)).toEqual([true, 'confirmed']);
    await call('PATCH', `/contacts/${await idOf(email)}`, { subscribed: false });
    await track(email, { confirm: true });
    const row = await api.db
      .selectFrom('opt_in')
      .select(['mails', 'mail_wanted'])
      .where('email', '=', email)
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow();
    // The hourly count continues after a confirmation; the count of five begins anew.
    expect(row).toEqual({ mails: 0, mail_wanted: false });
  });

  const hourAgo = () => sql<Date>`clock_timestamp() - interval '61 minutes'`;
});

describe('a run that is lost', () => {
  it('is started by the sweep', async () => {
    await put({ expireAfter: 60 });
    const email = await asked();
    await put({ expireAfter: 604_800 });
    await mails(email, 1);
    const id = await requestOf(email);
    const { client } = engine.temporal;
    await waitFor('the run to wait', async () => {
      const { events: history } = await client.workflow.getHandle(`consent-${id}`).fetchHistory();
      return history?.some((event) => event.timerStartedEventAttributes);
    });
    await client.workflow.getHandle(`consent-${id}`).terminate();
    const past = sql<Date>`clock_timestamp() - interval '2 minutes'`;
    await setRequest(email, { last_mail_at: past, next_reconcile_at: past });
    await tasksOf(api, {}).SIGNAL_STALLED_RUNS();
    await waitFor('the end', async () => (await contact(email)).consent === 'expired');
  });
});
