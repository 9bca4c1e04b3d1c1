import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDomainActivities } from '../../../activities/domain-poller.ts';
import { transact } from '../../../db/database.ts';
import { insertDomain, type NewClaim } from '../../../db/transactions/projects/register-domain.ts';
import { enqueue } from '../../../db/outbox/outbox.ts';
import { insertSesIdentity } from '../../../db/domains/ses-identities.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';
import {
  type AnsweredDomain,
  publishDkim,
  publishOwnership,
} from '../../support/fakes/domain-records.ts';
import { useEngine } from '../../support/engine.ts';
import { listUnwatched } from '../../support/heartbeats.ts';
import { sesSettings, useFakeSes } from '../../support/fakes/ses.ts';
import { waitFor } from '../../support/wait-for.ts';

const dns = await useDnsServer();
const engine = await useEngine({
  DNS_SERVERS: dns.address,
  DKIM_TARGET_HOST: 'dkim.everpost.test',
});

const add = async (name = `${randomUUID()}.dev`, on = engine): Promise<AnsweredDomain> =>
  (await on.call('POST', '/domains', { domain: name })).body;
const runOf = ({ id }: AnsweredDomain, on = engine) =>
  on.temporal.client.workflow.getHandle(`domain-${id}`);

const publish = (domain: AnsweredDomain) => publishDkim(dns, domain);

const rowOf = ({ id }: AnsweredDomain, on = engine) =>
  on.api.db.selectFrom('domain').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** Waits for the next check of the domain. Returns its row. */
const checked = (domain: AnsweredDomain, after: Date | null) =>
  waitFor('a check', async () => {
    const row = await rowOf(domain);
    return row.last_checked_at?.getTime() === after?.getTime() ? null : row;
  });

/** Due for a minute, so that a clock that steps back does not make it early. */
const past = sql<Date>`now() - interval '1 minute'`;

/** Makes the next check due, `days` after the domain was added. */
async function timePasses(domain: AnsweredDomain, days = 0, on = engine) {
  const { db } = on.api;
  const { last_checked_at: last } = await rowOf(domain, on);
  await transact(db, async (tx) => {
    await tx
      .updateTable('domain')
      .set({ next_check_at: past, daily_check_at: past })
      .$if(days > 0, (query) =>
        query.set({ created_at: sql<Date>`now() - ${days} * interval '1 day'` }),
      )
      .where('id', '=', domain.id)
      .execute();
    const input = { projectId: on.project.id, domainId: domain.id, name: domain.domain };
    await enqueue(tx, { kind: 'domainPoller', input, summary: 'test' });
  });
  return last;
}

const minutesAhead = (date: Date | null) => ((date?.getTime() ?? 0) - Date.now()) / 60_000;

/** Returns the summary and length of the timer of the run. */
async function timerOf(domain: AnsweredDomain): Promise<{ minutes: number; summary: string }> {
  const history = await runOf(domain).fetchHistory();
  const event = history.events?.findLast((e) => e.timerStartedEventAttributes);
  const data = event?.userMetadata?.summary?.data;
  return {
    minutes: Number(event?.timerStartedEventAttributes?.startToFireTimeout?.seconds) / 60,
    summary: data ? JSON.parse(Buffer.from(data).toString()) : '',
  };
}

describe('the run of a domain', () => {
  it('checks at once, then every 5 minutes while pending', async () => {
    const domain = await add();
    const row = await checked(domain, null);
    expect(row.status).toBe('pending');
    expect(minutesAhead(row.next_check_at)).toBeGreaterThan(4.5);
    expect(minutesAhead(row.next_check_at)).toBeLessThanOrEqual(5);
    const { minutes, summary } = await waitFor('the timer', async () => {
      const timer = await timerOf(domain);
      return timer.summary === '' ? null : timer;
    });
    expect(minutes).toBeLessThanOrEqual(5);
    expect(minutes).toBeGreaterThan(4.5);
    expect(summary).toBe('Next DNS check');
    expect(await listUnwatched(engine, `domain-${domain.id}`)).toEqual([]);
  });

  it('verifies a domain whose records have appeared, and checks it daily then', async () => {
    const domain = await add();
    await checked(domain, null);
    publish(domain);
    const row = await checked(domain, await timePasses(domain));
    expect(row.status).toBe('verified');
    expect(row.verified_at).not.toBeNull();
    expect(minutesAhead(row.next_check_at)).toBeGreaterThan(24 * 60 - 1);
  });

  it('fails a domain after 72 hours, and takes it up again when it is verified by hand', async () => {
    const domain = await add();
    await checked(domain, null);
    const failed = await checked(domain, await timePasses(domain, 3.1));
    expect([failed.status, failed.next_check_at]).toEqual(['failed', null]);
    expect((await runOf(domain).describe()).status.name).toBe('RUNNING');
    publish(domain);
    const { body } = await engine.call('GET', `/domains/${domain.id}/verify`);
    expect(body.status).toBe('verified');
    const row = await checked(domain, await timePasses(domain));
    expect(row.status).toBe('verified');
  });

  it('fails a verified domain at the third daily check in a row without valid DKIM', async () => {
    const domain = await add();
    await checked(domain, null);
    publish(domain);
    await checked(domain, await timePasses(domain));
    dns.remove(`${domain.dkimTokens[0]}._domainkey.${domain.domain}`);
    for (const failedChecks of [1, 2]) {
      const row = await checked(domain, await timePasses(domain, 9));
      expect([row.status, row.failed_checks]).toEqual(['verified', failedChecks]);
    }
    publish(domain);
    expect((await checked(domain, await timePasses(domain, 9))).failed_checks).toBe(0);
    dns.remove(`${domain.dkimTokens[0]}._domainkey.${domain.domain}`);
    for (let i = 0; i < 3; i += 1) await checked(domain, await timePasses(domain, 9));
    expect((await rowOf(domain)).status).toBe('failed');
    const mail = { to: 'a@x.example', from: `me@${domain.domain}`, subject: 's', body: 'b' };
    const { body } = await engine.call('POST', '/v1/send', mail);
    expect(body.error.code).toBe('DOMAIN_NOT_VERIFIED');
  });

  it('changes no state while the resolver fails, and tries again in 5 minutes', async () => {
    const domain = await add();
    await checked(domain, null);
    publish(domain);
    const verified = await checked(domain, await timePasses(domain));
    dns.faults.set('', 'SERVFAIL');
    await timePasses(domain, 9);
    const row = await waitFor('the check to be put off', async () => {
      const now = await rowOf(domain);
      return minutesAhead(now.next_check_at) > 1 ? now : null;
    });
    dns.faults.clear();
    expect(minutesAhead(row.next_check_at)).toBeLessThanOrEqual(5);
    expect(row).toMatchObject({
      status: 'verified',
      failed_checks: 0,
      last_checked_at: verified.last_checked_at,
    });
  });

  it('keeps a reserved name verified in local mode without asking DNS', async () => {
    const domain = await add(`${randomUUID()}.test`);
    const row = await checked(domain, null);
    expect(row.status).toBe('verified');
    expect(dns.questions.filter((question) => question.includes(domain.domain))).toEqual([]);
  });

  it('ends when the domain is removed', async () => {
    const domain = await add();
    await checked(domain, null);
    await engine.call('DELETE', `/domains/${domain.id}`);
    await runOf(domain).result();
  });
});

describe('the run of a domain that Everpost signs for', async () => {
  const smtp = await useEngine({ DNS_SERVERS: dns.address, SMTP_HOST: '127.0.0.1' });
  const publishKey = ({ records }: AnsweredDomain, wanted: string) => {
    for (const { name, purpose, value } of records) {
      if (purpose !== wanted) continue;
      dns.publish(name, 'TXT', [value.slice(0, 200), value.slice(200)]);
    }
  };
  const states = async ({ id }: AnsweredDomain) =>
    (await smtp.call('GET', `/domains/${id}`)).body.dkim;

  it('takes a new key into use when DNS shows it, and looks for it every 5 minutes', async () => {
    const domain = await add(`${randomUUID()}.dev`, smtp);
    publishKey(domain, 'dkim');
    await timePasses(domain, 0, smtp);
    await waitFor('verification', async () => (await rowOf(domain, smtp)).status === 'verified');
    const { body: rotated } = await smtp.call('POST', `/domains/${domain.id}/rotate-key`);
    const last = await timePasses(domain, 0, smtp);
    const row = await waitFor('a check', async () => {
      const now = await rowOf(domain, smtp);
      return now.last_checked_at?.getTime() !== last?.getTime() ? now : null;
    });
    expect(minutesAhead(row.next_check_at)).toBeLessThanOrEqual(5);
    publishKey(rotated, 'dkim_next');
    await timePasses(domain, 0, smtp);
    const { selector } = rotated.dkim.next;
    const changed = await waitFor('the new key', async () => {
      const dkim = await states(domain);
      return dkim.selector === selector ? dkim : null;
    });
    expect(changed).toMatchObject({ next: null, previous: { selector: rotated.dkim.selector } });
    const after = await waitFor('the next daily check', async () => {
      const now = await rowOf(domain, smtp);
      return minutesAhead(now.next_check_at) > 23 * 60 ? now : null;
    });
    expect([after.status, after.failed_checks]).toEqual(['verified', 0]);
  });

  it('counts a missing record once a day, however often it looks for a new key', async () => {
    const domain = await add(`${randomUUID()}.dev`, smtp);
    publishKey(domain, 'dkim');
    await smtp.call('GET', `/domains/${domain.id}/verify`);
    await smtp.call('POST', `/domains/${domain.id}/rotate-key`);
    dns.remove(domain.records[0]!.name);
    const { db } = smtp.api;
    for (let round = 0; round < 4; round += 1) {
      const last = (await rowOf(domain, smtp)).last_checked_at;
      await sql`update domain set next_check_at = now() - interval '1 minute' where id = ${domain.id}`.execute(
        db,
      );
      await transact(db, async (tx) => {
        const input = { projectId: smtp.project.id, domainId: domain.id, name: domain.domain };
        await enqueue(tx, { kind: 'domainPoller', input, summary: 'test' });
      });
      await waitFor('a check', async () => {
        const { last_checked_at: at } = await rowOf(domain, smtp);
        return at?.getTime() !== last?.getTime();
      });
    }
    const row = await rowOf(domain, smtp);
    expect(row.status).toBe('verified');
    expect(row.failed_checks).toBeLessThanOrEqual(1);
  });
});

describe('with SES', async () => {
  const ses = await useFakeSes();
  const hosted = await useEngine({
    DNS_SERVERS: dns.address,
    DKIM_TARGET_HOST: 'dkim.everpost.test',
    ...sesSettings(ses),
  });

  const forgotten = (name: string) =>
    waitFor('SES to forget it', async () => !ses.identities.has(name));

  it('is verified once SES says so, and SES forgets a domain that was removed', async () => {
    const domain = await add(`${randomUUID()}.dev`, hosted);
    publish(domain);
    publishOwnership(dns, domain);
    const identity = ses.identities.get(domain.domain);
    await waitFor('the first check', async () => (await rowOf(domain, hosted)).last_checked_at);
    expect((await rowOf(domain, hosted)).status).toBe('pending');
    if (identity) identity.dkimStatus = 'SUCCESS';
    await timePasses(domain, 0, hosted);
    await waitFor('verification', async () => (await rowOf(domain, hosted)).status === 'verified');
    // After an error of SES, the name is not left without an owner.
    ses.next = [{ status: 400, type: 'BadRequestException' }];
    await hosted.call('DELETE', `/domains/${domain.id}`);
    await runOf(domain, hosted).result();
    expect(ses.identities.has(domain.domain)).toBe(false);
  });

  it('keeps the identity until the last claim goes, and one it has not made for ever', async () => {
    const { api } = hosted;
    const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
    const [ours, theirs] = [`${randomUUID()}.dev`, `${randomUUID()}.dev`];
    ses.identities.set(theirs, { tokens: ['x', 'y', 'z'], mailFrom: null, dkimStatus: 'SUCCESS' });
    for (const name of [ours, theirs]) {
      const first = await add(name, hosted);
      const second = (await api.request('POST', '/domains', { key, body: { domain: name } })).body;
      await hosted.call('DELETE', `/domains/${first.id}`);
      await runOf(first, hosted).result();
      expect(ses.identities.has(name)).toBe(true);
      await api.request('DELETE', `/domains/${second.id}`, { key });
      await runOf(second, hosted).result();
    }
    expect(ses.identities.has(ours)).toBe(false);
    expect(ses.identities.get(theirs)).toMatchObject({ mailFrom: null, dkimStatus: 'SUCCESS' });
  });

  it('leaves one identity and a claim with its tokens, however often a name goes and comes', async () => {
    const name = `${randomUUID()}.dev`;
    let domain = await add(name, hosted);
    for (let round = 0; round < 5; round += 1) {
      const [, again] = await Promise.all([
        hosted.call('DELETE', `/domains/${domain.id}`),
        waitFor('the name', async () => {
          const { status, body } = await hosted.call('POST', '/domains', { domain: name });
          return status === 201 ? (body as AnsweredDomain) : null;
        }),
      ]);
      await runOf(domain, hosted).result();
      domain = again;
      expect(ses.identities.get(name)?.tokens).toEqual(domain.dkimTokens);
    }
    await hosted.call('DELETE', `/domains/${domain.id}`);
    await forgotten(name);
  });

  it('has SES forget what a failed registration left half done', async () => {
    const name = `${randomUUID()}.dev`;
    // SES does not know the domain, creates it, and then refuses its MAIL FROM domain.
    ses.next = ['ok', 'ok', { status: 400, type: 'BadRequestException' }];
    const { status } = await hosted.call('POST', '/domains', { domain: name });
    expect(status).toBe(503);
    await forgotten(name);
    // SES responds before the response is recorded.
    await waitFor('the identity to be forgotten', async () => {
      const noted = await hosted.api.db.selectFrom('ses_identity').select('name').execute();
      return !noted.some((row) => row.name === name);
    });
  });

  it('removes a claim whose process died before it was registered, and its identity', async () => {
    const { db, services } = hosted.api;
    const name = `${randomUUID()}.dev`;
    const claim = (await insertDomain(db, { projectId: hosted.project.id, name })) as NewClaim;
    await insertSesIdentity(db, name);
    await services.identities.create(name);
    await sql`update domain set next_check_at = now() - interval '1 minute' where id = ${claim.id}`.execute(
      db,
    );
    services.dispatcher.dispatch([{ runId: `domain-${claim.id}`, projectId: hosted.project.id }]);
    await forgotten(name);
    const rows = await db.selectFrom('domain').select('id').where('id', '=', claim.id).execute();
    expect(rows).toEqual([]);
  });

  it('keeps the identity of the domain the platform sends from', async () => {
    const name = `${randomUUID()}.dev`;
    const domain = await add(name, hosted);
    const { FORGET_DOMAIN } = createDomainActivities({
      ...hosted.api.services,
      platformDomain: name,
    });
    await hosted.api.db.deleteFrom('domain').where('id', '=', domain.id).execute();
    await FORGET_DOMAIN(name);
    expect(ses.identities.has(name)).toBe(true);
  });
});
