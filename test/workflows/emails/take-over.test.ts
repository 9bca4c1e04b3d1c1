import { randomUUID } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { takeOver } from '../../../activities/mail/take-over.ts';
import { expireChunks, queueLeftovers } from '../../../db/campaigns/chunks.ts';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import { claimCampaignEmails } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import { recordFeedback } from '../../../db/transactions/mail/record-feedback.ts';
import { findReportedMessages } from '../../../db/transactions/mail/reports.ts';
import { noJournal } from '../../../providers/journal/journal.ts';
import { takeLeftFiles } from '../../../providers/journal/left-files.ts';
import { type AttemptNotes, JournalWriter } from '../../../providers/journal/writer.ts';
import type { Mailer, SendOutcome } from '../../../providers/mail/mailer.ts';
import { useApi } from '../../support/api.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { useFolder } from '../../support/use.ts';

/** Mail that a dead worker had claimed, as its journal says what happened. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
let secretKey: string;
let dir: string;

beforeEach(async () => {
  ({ id: projectId, secretKey } = await api.createProject(cookie));
  dir = await useFolder();
});

const accepted = (messageId: string = randomUUID()): SendOutcome => ({
  kind: 'accepted',
  messageId,
  delivered: true,
});

/** Lets a worker do something with the messages of an attempt, and die. */
function die(
  claim: { attemptId: string; campaignId: string | null },
  act: (notes: AttemptNotes) => void,
  boot = 'this boot',
): void {
  const given = { dir, boot, database: 'one', tryLock, onFailure: expect.unreachable };
  const writer = new JournalWriter(given);
  act(writer.claim({ projectId, ...claim }));
  writer.close();
}

/** Messages that were counted as returned. */
let returned = 0;

async function takeOverAll(): Promise<void> {
  const time = new Date(Date.now() - 60_000);
  for (const name of await readdir(dir)) await utimes(join(dir, name), time, time);
  const services = {
    db,
    log: { info() {}, warn: (_details: object, message: string) => expect.unreachable(message) },
    mailer: { hasSimulator: true } as Mailer,
    retryMs: 86_400_000,
    metrics: { countReturned: (count: number) => void (returned += count) },
    pauseOnFailures: 100,
    journal: noJournal,
  };
  const options = { dir, boot: 'this boot', database: 'one', tryLock, isOwn: () => false };
  await takeLeftFiles(options, (left) => takeOver(services, left));
}

async function show(id: string) {
  const { body } = await api.request('GET', `/emails/${id}`, { key: secretKey });
  const trace = body.trace.map(({ state, detail }: { state: string; detail: unknown }) => [
    state,
    detail,
  ]);
  return { ...body, trace };
}

const released = ['released', { reason: 'worker_died' }];

describe('mail of no campaign', () => {
  async function claimed(addresses: readonly string[]) {
    const ids: string[] = [];
    for (const address of addresses) {
      const { id: contactId } = await db
        .insertInto('contact')
        .values({ project_id: projectId, email: address, subscribed: true })
        .returning('id')
        .executeTakeFirstOrThrow();
      const fields = { status: 'PENDING', message_id: null, sent_at: null };
      ids.push(await insertTestEmail(db, { projectId, contactId }, fields));
    }
    const attemptId = randomUUID();
    const claim = { projectId, attemptId, max: 50, leaseSeconds: 120, throttled: false };
    expect(await claimDueEmails(db, claim)).toHaveLength(addresses.length);
    return { ids, attempt: { attemptId, campaignId: null } };
  }

  it('is pending again, sent, refused, retried or unknown, as the journal says', async () => {
    const names = ['pending', 'sent', 'refused', 'again', 'unknown'];
    const { ids, attempt } = await claimed(names.map((name) => `${name}@people.test`));
    const [pending, sent, refused, again, unknown] = ids as [
      string,
      string,
      string,
      string,
      string,
    ];
    die(attempt, (notes) => {
      const outcomes: [string, SendOutcome][] = [
        [sent, accepted('provider id')],
        [refused, { kind: 'refused', error: '550 5.1.1 no ada@shop.example', isRecipient: true }],
        [again, { kind: 'retry', error: '451 later', isAboutMessage: true }],
      ];
      for (const [id, outcome] of outcomes) {
        notes.messageNotes(id).begin();
        notes.messageNotes(id).end(outcome);
      }
      notes.messageNotes(unknown).begin();
    });
    returned = 0;
    await takeOverAll();

    expect(returned).toBe(1);
    expect(await show(pending)).toMatchObject({ status: 'PENDING', hold: null });
    expect((await show(pending)).trace).toEqual([['queued', null], released]);
    expect(await show(sent)).toMatchObject({ status: 'DELIVERED', messageId: 'provider id' });
    expect(await show(refused)).toMatchObject({
      status: 'FAILED',
      reasonCode: 'recipient_refused',
      error: 'The mail provider refused the message: 550 5.1.1',
    });
    expect(await show(again)).toMatchObject({ status: 'PENDING', hold: { reason: 'retry' } });
    expect(await show(unknown)).toMatchObject({ status: 'SENDING' });
    expect((await show(unknown)).trace.at(-1)).toEqual([
      'uncertain',
      { reason: 'The worker ended before the mail provider answered.' },
    ]);
    const rows = await db
      .selectFrom('email')
      .select(['id', 'attempts'])
      .where('id', 'in', ids)
      .execute();
    const attempts = new Map(rows.map((row) => [row.id, row.attempts]));
    expect(ids.map((id) => attempts.get(id))).toEqual([0, 1, 1, 1, 1]);
    expect(api.dispatched).toContain(`delivery-${projectId}`);
  });

  it('is tried again when a provider of its route has refused it, not its recipient', async () => {
    const { ids, attempt } = await claimed(['a@people.test', 'b@people.test', 'c@people.test']);
    const [policy, recipient, moved] = ids as [string, string, string];
    await db.updateTable('email').set({ provider_id: 'backup' }).where('id', 'in', ids).execute();
    die(attempt, (notes) => {
      const refuse = (id: string, error: string) => {
        notes.messageNotes(id).begin();
        notes.messageNotes(id).end({ kind: 'refused', error });
      };
      refuse(policy, '550 5.7.1 not allowed');
      refuse(recipient, '552 5.2.2 mailbox full');
      refuse(moved, '550 5.7.1 not allowed');
      // The next provider may have accepted it.
      notes.messageNotes(moved).begin();
    });
    await takeOverAll();
    expect(await show(policy)).toMatchObject({ status: 'PENDING', hold: { reason: 'retry' } });
    expect(await show(recipient)).toMatchObject({ status: 'FAILED' });
    expect(await show(moved)).toMatchObject({ status: 'SENDING', providerId: 'backup' });
  });

  it('becomes DELIVERED and then as the simulator says', async () => {
    const { ids, attempt } = await claimed(['bounce@simulator.test']);
    die(attempt, (notes) => notes.messageNotes(ids[0]!).end(accepted()));
    await takeOverAll();
    expect(await show(ids[0]!)).toMatchObject({ status: 'BOUNCED' });
  });

  it('changes only once when the journal is read twice', async () => {
    const { ids, attempt } = await claimed(['a@people.test', 'b@people.test', 'c@people.test']);
    const answer = accepted();
    const act = (notes: AttemptNotes) => {
      notes.messageNotes(ids[0]!).begin();
      notes.messageNotes(ids[1]!).end(answer);
    };
    die(attempt, act);
    await takeOverAll();
    const before = await Promise.all(ids.map(show));
    die(attempt, act);
    await takeOverAll();
    expect(await Promise.all(ids.map(show))).toEqual(before);
  });

  it('of another start of the machine is settled only where the journal has an answer', async () => {
    const { ids, attempt } = await claimed(['a@people.test', 'b@people.test', 'c@people.test']);
    const act = (notes: AttemptNotes) => {
      notes.messageNotes(ids[0]!).begin();
      notes.messageNotes(ids[1]!).end(accepted());
    };
    die(attempt, act, 'the boot before');
    await takeOverAll();
    const statuses = (await Promise.all(ids.map(show))).map(({ status }) => status);
    expect(statuses).toEqual(['SENDING', 'DELIVERED', 'SENDING']);
  });

  it('counts as sent although it was given up meanwhile', async () => {
    const { ids, attempt } = await claimed(['a@people.test']);
    await writeMail(db, (tx) =>
      sql`update email set lease_until = now() - interval '1 hour' where id = ${ids[0]}`.execute(
        tx,
      ),
    );
    await tasksOf(api, {}).SETTLE_UNCERTAIN();
    expect(await show(ids[0]!)).toMatchObject({ status: 'FAILED', error: 'delivery_unknown' });
    die(attempt, (notes) => notes.messageNotes(ids[0]!).end(accepted()));
    await takeOverAll();
    expect(await show(ids[0]!)).toMatchObject({ status: 'DELIVERED', error: null });
  });

  it('of another project stays as it is, whatever a journal says', async () => {
    const { ids, attempt } = await claimed(['a@people.test']);
    ({ id: projectId } = await api.createProject(cookie));
    die(attempt, () => {});
    await takeOverAll();
    expect(await show(ids[0]!)).toMatchObject({ status: 'SENDING' });
  });
});

describe('a campaign', () => {
  let campaignId: string;

  async function claimed(count: number) {
    await sql`insert into contact (project_id, email, subscribed)
      select ${projectId}, 'no' || n || '@people.test', true
        from generate_series(1, ${count}::int) n`.execute(db);
    campaignId = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
    await startCampaign(db, { id: campaignId, project_id: projectId, local_time: null });
    await freezeCampaign(db, { projectId, campaignId });
    return claimNext();
  }

  async function claimNext() {
    const attemptId = randomUUID();
    const given = { campaignId, attemptId, max: 50, leaseSeconds: 120 };
    const { emails = [], chunk } = (await claimCampaignEmails(db, projectId, given)) ?? {};
    const content = { version: chunk?.shared.contentVersion ?? 0, throttledAt: null };
    return { ids: emails.map(({ id }) => id), attempt: { attemptId, campaignId }, content };
  }

  const stats = async () =>
    (await api.request('GET', `/campaigns/${campaignId}/stats`, { key: secretKey })).body.data;

  it('sends at once what was never begun, and nothing else again', async () => {
    const { ids, attempt, content } = await claimed(50);
    die(attempt, (notes) => {
      notes.content(content);
      for (const id of ids.slice(0, 20)) {
        notes.messageNotes(id).begin();
        notes.messageNotes(id).end(accepted(`${id}@smtp`));
      }
      notes.messageNotes(ids[20]!).begin();
    });
    await takeOverAll();

    expect(await show(ids[0]!)).toMatchObject({ status: 'DELIVERED', messageId: `${ids[0]}@smtp` });
    expect(await show(ids[20]!)).toMatchObject({ status: 'SENDING' });
    expect((await show(ids[21]!)).trace).toEqual([['queued', null], released]);
    expect(await stats()).toMatchObject({ sentCount: 20, deliveredCount: 20, uncertainCount: 1 });
    const again = await claimNext();
    expect(again.ids.toSorted()).toEqual(ids.slice(21).toSorted());
  });

  it('assumes the deliveries that nothing reports, also of mail that was given up', async () => {
    const { ids, attempt, content } = await claimed(2);
    const [inTime, late] = ids as [string, string];
    const unreported = (messageId: string): SendOutcome => ({
      kind: 'accepted',
      messageId,
      delivered: false,
      isUnreported: true,
    });
    die(attempt, (notes) => {
      notes.content(content);
      notes.messageNotes(inTime).end(unreported(randomUUID()));
      notes.messageNotes(late).begin();
    });
    await takeOverAll();
    expect(await stats()).toMatchObject({ sentCount: 1, assumedDeliveredCount: 1 });
    await writeMail(db, (tx) =>
      sql`update email set lease_until = now() - interval '1 hour' where id = ${late}`.execute(tx),
    );
    await tasksOf(api, {}).SETTLE_UNCERTAIN();
    die(attempt, (notes) => {
      notes.content(content);
      notes.messageNotes(late).end(unreported(randomUUID()));
    });
    await takeOverAll();
    expect(await show(late)).toMatchObject({ status: 'SENT' });
    expect(await stats()).toMatchObject({
      sentCount: 2,
      deliveredCount: 0,
      assumedDeliveredCount: 2,
      deliveryBasis: 'assumed',
    });
  });

  it('does so although the lease of the dead worker has expired', async () => {
    const { ids, attempt, content } = await claimed(3);
    await sql`update campaign_chunk set lease_until = now() - interval '1 s'
      where attempt_id is not null`.execute(db);
    await expireChunks(db, 10);
    expect(await show(ids[2]!)).toMatchObject({ status: 'SENDING' });
    die(attempt, (notes) => {
      notes.content(content);
      notes.messageNotes(ids[0]!).end(accepted());
      notes.messageNotes(ids[1]!).begin();
    });
    await takeOverAll();
    const statuses = (await Promise.all(ids.map(show))).map(({ status }) => status);
    expect(statuses).toEqual(['DELIVERED', 'SENDING', 'PENDING']);
    await queueLeftovers(db, { id: campaignId, projectId });
    const again = await claimNext();
    expect(again.ids).toEqual([ids[2]]);
  });

  it('changes only once when the journal is read twice', async () => {
    const { ids, attempt, content } = await claimed(5);
    const answer = accepted();
    const act = (notes: AttemptNotes) => {
      notes.content(content);
      notes.messageNotes(ids[0]!).begin();
      notes.messageNotes(ids[1]!).end(answer);
      notes.messageNotes(ids[2]!).end({ kind: 'refused', error: '550 no' });
    };
    die(attempt, act);
    await takeOverAll();
    const before = [await stats(), ...(await Promise.all(ids.map(show)))];
    die(attempt, act);
    await takeOverAll();
    expect([await stats(), ...(await Promise.all(ids.map(show)))]).toEqual(before);
  });

  it('keeps the claim of an incomplete journal until its lease ends', async () => {
    const { ids, attempt } = await claimed(3);
    die(attempt, (notes) => notes.messageNotes(ids[0]!).end(accepted()), 'the boot before');
    await takeOverAll();
    expect((await claimNext()).ids).toEqual([]);
    await sql`update campaign_chunk set lease_until = now() - interval '1 s'
      where attempt_id is not null`.execute(db);
    await expireChunks(db, 10);
    const statuses = (await Promise.all(ids.map(show))).map(({ status }) => status);
    expect(statuses).toEqual(['DELIVERED', 'SENDING', 'SENDING']);
  });

  it('that was cancelled meanwhile sends none of them', async () => {
    const { ids, attempt } = await claimed(3);
    await sql`update campaign set status = 'CANCELLED' where id = ${campaignId}`.execute(db);
    die(attempt, (notes) => notes.messageNotes(ids[0]!).end(accepted()));
    await takeOverAll();
    const shown = await Promise.all(ids.map(show));
    expect(shown.map(({ status, error }) => [status, error])).toEqual([
      ['DELIVERED', null],
      ['FAILED', 'campaign_cancelled'],
      ['FAILED', 'campaign_cancelled'],
    ]);
  });

  it('counts mail once that feedback has settled before, and does without deleted contacts', async () => {
    const { ids, attempt } = await claimed(4);
    const report = {
      emailId: ids[0]!,
      messageId: null,
      feedback: [{ kind: 'delivery' as const, at: new Date() }],
      acceptedAt: null,
      receipt: null,
    };
    const found = (await findReportedMessages(db, [report])).filter((one) => one !== null);
    await db.transaction().execute((tx) => recordFeedback(tx, found, { judge: null }));
    await dropContacts(db, sql`id = (select contact_id from email where id = ${ids[1]})`);
    die(attempt, (notes) => {
      notes.messageNotes(ids[0]!).end(accepted());
      notes.messageNotes(ids[2]!).end(accepted());
    });
    await takeOverAll();
    expect(await stats()).toMatchObject({ sentCount: 2, deliveredCount: 2 });
    expect((await claimNext()).ids).toEqual([ids[3]]);
    const { rows } =
      await sql`select from campaign_chunk where campaign_id = ${campaignId}`.execute(db);
    expect(rows).toHaveLength(1);
  });
});
