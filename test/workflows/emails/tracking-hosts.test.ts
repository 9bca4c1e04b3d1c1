import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDomainActivities } from '../../../activities/domain-poller.ts';
import { useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import { beginExecution, createTemplate } from '../../support/histories/executions.ts';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Hosts of customers for the tracked links of their mail. */

const dns = await useDnsServer();
const target = 'mail.everpost.test';
const settings = { DNS_SERVERS: dns.address, TRACKING_HOST: target };
const engine = await useEngine(settings);
const { api, call } = engine;
const { db } = api;
const domains = createDomainActivities({
  ...engine.services,
  platformDomain: null,
  log: { warn() {} },
});

interface Sender {
  id: string;
  domain: string;
}

async function newSender(): Promise<Sender> {
  const made = await call('POST', '/domains', { domain: `${randomUUID()}.test` });
  expect([made.status, made.body.verified]).toEqual([201, true]);
  return made.body;
}

const change = (sender: Sender, label: string | null) =>
  call('PATCH', `/domains/${sender.id}`, { trackingSubdomain: label });
const verify = async (sender: Sender) => (await call('GET', `/domains/${sender.id}/verify`)).body;

/** A sender whose links are on `go.<domain>`. */
async function newTracked(): Promise<Sender> {
  const sender = await newSender();
  await change(sender, 'go');
  dns.publish(`go.${sender.domain}`, 'CNAME', target);
  expect((await verify(sender)).tracking.status).toBe('verified');
  return sender;
}

/** Due for a minute, so that a clock that steps back does not make it early. */
const past = sql<Date>`now() - interval '1 minute'`;

/** Makes a daily check of a domain, as its run does. */
async function dayPasses({ id }: Sender) {
  await db
    .updateTable('domain')
    .set({ next_check_at: past, daily_check_at: past })
    .where('id', '=', id)
    .execute();
  await domains.CHECK_DOMAIN(id);
}

/**
 * Makes a daily check that misses the record. The domain's own run may have read DNS before the
 * record was gone, and then its result counts for this day: the next day is taken.
 */
async function dayWithoutRecord(sender: Sender) {
  const read = () =>
    db
      .selectFrom('domain')
      .select(['tracking_missed', 'tracking_active'])
      .where('id', '=', sender.id)
      .executeTakeFirstOrThrow();
  const before = await read();
  await waitFor('a check without the record', async () => {
    await dayPasses(sender);
    const after = await read();
    return !after.tracking_active || after.tracking_missed > before.tracking_missed;
  });
}

/** Sends a mail. Returns the hosts of its pixel and link, and a link. */
async function sendFrom({ domain }: Sender) {
  const to = `${randomUUID()}@people.test`;
  const body = '<a href="https://shop.test/a">a</a>';
  const mail = { from: `team@${domain}`, subject: 'Hello', body, to };
  expect((await call('POST', '/v1/send', mail)).status).toBe(200);
  return linksTo(to);
}

async function linksTo(address: string) {
  const [mail] = await engine.mailsTo(address, 1);
  const { body } = await api.request('GET', `/local/mailbox/${mail!.id}`);
  const urls = [...String(body.html).matchAll(/https?:[^"]*\/t\/[oc]\/[^"]*/g)].map(
    ([url]) => new URL(url.replaceAll('&amp;', '&')),
  );
  return { urls, hosts: urls.map(({ host }) => host) };
}

/** Asks the API by another host name. */
function ask(host: string, path: string): Promise<{ status?: number; body: string; to?: string }> {
  const { hostname, port } = new URL(api.url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers: { Host: host } }, async (answer) => {
      let body = '';
      for await (const chunk of answer) body += String(chunk);
      resolve({ status: answer.statusCode!, body, to: answer.headers.location! });
    })
      .on('error', reject)
      .end();
  });
}

const { host: apiHost, port } = new URL(api.url);

describe('a tracking host', () => {
  it('is used once its record is found', async () => {
    const sender = await newSender();
    const host = `go.${sender.domain}`;
    const { body } = await change(sender, 'go');
    expect(body).toMatchObject({ verified: true, tracking: { host, status: 'pending' } });
    expect(body.records.at(-1)).toEqual({
      type: 'CNAME',
      name: host,
      value: target,
      zoneLine: `${host}. 3600 IN CNAME ${target}.`,
      purpose: 'tracking',
      needed: false,
      status: 'pending',
      found: [],
    });
    expect((await sendFrom(sender)).hosts).toEqual([apiHost, apiHost]);
    dns.publish(host, 'CNAME', 'elsewhere.test');
    expect((await verify(sender)).tracking.status).toBe('failed');
    dns.publish(host, 'CNAME', target);
    expect(await verify(sender)).toMatchObject({
      verified: true,
      tracking: { host, status: 'verified' },
    });
    const { hosts, urls } = await sendFrom(sender);
    expect(hosts).toEqual([`${host}:${port}`, `${host}:${port}`]);
    const link = urls.find(({ pathname }) => pathname.startsWith('/t/c/'))!;
    expect(await ask(host, link.pathname + link.search)).toMatchObject({
      status: 302,
      to: 'https://shop.test/a',
    });
    expect((await ask(apiHost, link.pathname + link.search)).status).toBe(302);
  });

  it('has the links of campaigns and steps', async () => {
    const { domain } = await newTracked();
    const { email } = (await call('POST', '/contacts', { email: `${randomUUID()}@people.test` }))
      .body;
    const host = `go.${domain}:${port}`;
    for (const body of ['<a href="https://shop.test/">a</a>', '{% if true %}<p>x</p>{% endif %}']) {
      const id = await createCampaign(engine, { from: `news@${domain}`, body });
      await act(engine, id, 'send', {});
      await campaignIn(engine, id, 'SENT');
      expect(new Set((await linksTo(email)).hosts)).toEqual(new Set([host]));
      await db.deleteFrom('mailbox_message').execute();
    }
    const templateId = await createTemplate({ call, domain });
    const { email: contact, until } = await beginExecution(engine, {
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    await until('COMPLETED');
    expect((await linksTo(contact)).hosts).toEqual([host]);
  });

  it('serves tracked links and nothing else', async () => {
    const host = `go.${(await newTracked()).domain}`;
    for (const path of [
      '/contacts',
      '/',
      '/console',
      '/health',
      '/openapi.json',
      '/unsubscribe/x',
    ]) {
      const { status, body } = await ask(host, path);
      expect([path, status, JSON.parse(body).error.code]).toEqual([path, 404, 'ROUTE_NOT_FOUND']);
    }
    expect((await ask(host.toUpperCase(), '/contacts')).status).toBe(404);
    expect((await ask(host, `/t/o/${randomUUID()}.gif`)).status).toBe(200);
    expect((await ask(`www.${host}`, '/health')).status).toBe(200);
    expect((await ask(apiHost, '/contacts')).status).toBe(401);
  });

  it('is confirmed to a proxy that asks before it gets a certificate', async () => {
    const sender = await newSender();
    const host = `go.${sender.domain}`;
    const asked = (name: string) => api.request('GET', `/t/host?domain=${name}`);
    await change(sender, 'go');
    expect((await asked(host)).body.error.code).toBe('RESOURCE_NOT_FOUND');
    dns.publish(host, 'CNAME', target);
    await verify(sender);
    expect((await asked(host)).body).toEqual({ domain: host });
    expect((await asked(`${host.toUpperCase()}.`)).body).toEqual({ domain: host });
    for (const name of [sender.domain, `x.${sender.domain}`, `go.${host}`, 'localhost', '']) {
      expect([name, (await asked(name)).status]).toEqual([name, 404]);
    }
    expect((await api.request('GET', '/t/host')).status).toBe(422);
  });

  it('is left after three daily checks without its record', async () => {
    const sender = await newTracked();
    const host = `go.${sender.domain}`;
    dns.publish(host, 'CNAME');
    await dayWithoutRecord(sender);
    await verify(sender);
    await verify(sender);
    await dayWithoutRecord(sender);
    expect((await sendFrom(sender)).hosts).toContain(`${host}:${port}`);
    const { urls } = await sendFrom(sender);
    await dayWithoutRecord(sender);
    expect((await sendFrom(sender)).hosts).toEqual([apiHost, apiHost]);
    const link = urls.find(({ pathname }) => pathname.startsWith('/t/c/'))!;
    expect((await ask(host, link.pathname + link.search)).status).toBe(302);
    dns.publish(host, 'CNAME', target);
    await dayPasses(sender);
    expect((await sendFrom(sender)).hosts).toContain(`${host}:${port}`);
  });

  it('is left when it is changed, or its domain is no longer verified', async () => {
    const sender = await newTracked();
    const host = `go.${sender.domain}:${port}`;
    expect((await change(sender, 'go')).body.tracking.status).toBe('verified');
    expect((await sendFrom(sender)).hosts).toEqual([host, host]);
    expect((await change(sender, 'click')).body.tracking).toEqual({
      host: `click.${sender.domain}`,
      status: 'pending',
    });
    expect((await sendFrom(sender)).hosts).toEqual([apiHost, apiHost]);
    const other = await newTracked();
    const { body } = await change(other, null);
    expect(body).not.toHaveProperty('tracking');
    expect((await sendFrom(other)).hosts).toEqual([apiHost, apiHost]);
    const lost = await newTracked();
    await db.updateTable('domain').set({ status: 'failed' }).where('id', '=', lost.id).execute();
    const { body: asked } = await api.request('GET', `/t/host?domain=go.${lost.domain}`);
    expect(asked.error.code).toBe('RESOURCE_NOT_FOUND');
  });

  it('is looked for every five minutes at first', async () => {
    const sender = await newSender();
    await change(sender, 'go');
    await dayPasses(sender);
    const due = await domains.CHECK_DOMAIN(sender.id);
    expect(due?.dueMs).toBeGreaterThan(4 * 60_000);
    expect(due?.dueMs).toBeLessThanOrEqual(5 * 60_000);
    dns.publish(`go.${sender.domain}`, 'CNAME', target);
    await dayPasses(sender);
    expect((await domains.CHECK_DOMAIN(sender.id))?.dueMs).toBeGreaterThan(23 * 3_600_000);
  });

  it.each(['a.b', '', 'Go', '-a', 'a_b', 'x'.repeat(64), 'mail'])('is not %j', async (label) => {
    const { status, body } = await change(await newSender(), label);
    const code = label === 'mail' ? 'not_allowed' : 'invalid_string';
    const [fault] = body.error.errors;
    expect([status, fault.field, fault.code]).toEqual([422, 'trackingSubdomain', code]);
  });

  it('is refused if the mail provider tracks', async () => {
    const other = await useApi({ TRACKING_MODE: 'ses' });
    const { cookie } = await other.signUp();
    const { secretKey: key } = await other.createProject(cookie);
    const domain = `${randomUUID()}.test`;
    const { body: sender } = await other.request('POST', '/domains', { key, body: { domain } });
    const refused = await other.request('PATCH', `/domains/${sender.id}`, {
      key,
      body: { trackingSubdomain: 'go' },
    });
    expect([refused.status, refused.body.error.errors[0].code]).toEqual([422, 'not_allowed']);
    const allowed = { key, body: { trackingSubdomain: null } };
    expect((await other.request('PATCH', `/domains/${sender.id}`, allowed)).status).toBe(200);
  });
});
