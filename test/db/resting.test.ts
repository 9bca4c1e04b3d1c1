import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { claimCampaignEmails } from '../../db/transactions/mail/claim-campaign-mail.ts';
import { advanceCampaign } from '../../db/transactions/mail/advance-campaign.ts';
import { claimUnheldEmails } from '../../db/transactions/mail/hold-back.ts';
import { countDueEmails, findNextDue } from '../../db/emails/emails.ts';
import { type Database, transact } from '../../db/database.ts';
import { claimSystemMail } from '../../db/emails/system-mail.ts';
import type { LockedExecutionJob } from '../../db/jobs/execution-jobs.ts';
import { migrate } from '../../db/transactions/execution-jobs/migrate.ts';
import { moveAllWaits } from '../../db/transactions/execution-jobs/move-waits.ts';
import { retryAll } from '../../db/transactions/execution-jobs/retry-all.ts';
import { findDerivable } from '../../db/events/derived.ts';
import { settleUncertainEmails } from '../../db/transactions/mail/record-outcomes.ts';
import { nextVersion, nextWaiting } from '../../db/transactions/execution-jobs/active-pages.ts';
import { claimOverdue } from '../../db/outbox/outbox.ts';
import { readDemand } from '../../db/subscriptions/demand.ts';
import { findProbe, listDue, listDueForBatches } from '../../db/subscriptions/due.ts';
import { findWork, readPage, skipOutdated } from '../../db/subscriptions/log.ts';
import {
  endLease,
  findNextDue as findNextDelivery,
  findTarget,
  releasePage,
  takeLease,
} from '../../db/subscriptions/sending.ts';
import { updateWatermark } from '../../db/watermarks.ts';
import { claimForReconciliation } from '../../db/workflows/executions/reconciliation.ts';
import type { SweepTasks } from '../../activities/upkeep/sweep.ts';
import { useApi } from '../support/api.ts';
import { atEnd } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';
import { fillWithFinished } from '../support/finished-business.ts';
import { type Reading, readingsOf } from '../support/rows-read.ts';
import { formatStatement, recordStatements } from '../support/statements.ts';
import { tasksOf } from '../support/sweep-now.ts';

/** Periodic queries read only open work, also after a year of finished business. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();
const project = await api.createProject(cookie);
const projectId = project.id;
const { body: subscription } = await api.request('POST', '/event-subscriptions', {
  key: project.secretKey,
  body: { url: 'https://hooks.shop.example/all', events: ['*'] },
});
await fillWithFinished(db, { projectId, subscriptionId: subscription.id });
const { rows: filled } = await sql<{ at: string }>`select pg_current_xact_id()::text as at`.execute(
  db,
);
// An older transaction of another test would keep all of these events among the recent ones.
await waitFor(
  'the end of older transactions',
  async () => {
    const { rows } = await sql<{ over: boolean }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text::int8 >= ${filled[0]!.at}::int8 as over`.execute(
      db,
    );
    return rows[0]!.over;
  },
  120_000,
);
await sql`update event_subscription set seen = pg_current_snapshot()`.execute(db);

// Its finished mail is not searched for waiting mail, although the project is suspended.
await sql`insert into suspension (project_id, reason) values (${projectId}, 'EMAIL_REPUTATION')`.execute(
  db,
);

// Many projects without activity.
await sql`
  insert into project (name, public_key, secret_key_hash, secret_key_last4, webhook_signing_secret)
    select 'Idle', 'pk_idle_' || n, decode(md5('idle' || n), 'hex'), 'last', ''
      from generate_series(1, 3000) n`.execute(db);
await sql`analyze project`.execute(db);
// Once a day, the sweep counts the previous day of all projects.
await updateWatermark(db, 'email_tally', new Date());
atEnd(
  async () => void (await sql`delete from project where public_key like 'pk_idle_%'`.execute(db)),
);

/** More than each query at rest needs, and less than a hundredth of the finished rows. */
const most = { rows: 250, pages: 250 };

/**
 * Returns the statements of `ask` that read more. `ask` runs before, until it has nothing left
 * to do.
 */
async function heavyIn(ask: () => Promise<unknown>): Promise<unknown[]> {
  for (const _ of [1, 2]) await ask();
  let heavy = await measuredIn(ask);
  if (heavy.length > 0) {
    // Index entries of rows that were just changed count until vacuum removes them.
    await sql`vacuum`.execute(db);
    heavy = await measuredIn(ask);
  }
  return heavy.map(({ text, plan, ...read }) => ({ [plan]: formatStatement(text), ...read }));
}

async function measuredIn(ask: () => Promise<unknown>): Promise<Reading[]> {
  const recorded = recordStatements();
  await ask();
  const asked = recorded
    .take()
    .filter(({ text }) => /^\s*(select|with|insert|update|delete)/i.test(text));
  const heavy: Reading[] = [];
  for (const statement of asked) {
    const readings = await readingsOf(db, statement);
    heavy.push(...readings.filter(({ rows, pages }) => rows > most.rows || pages > most.pages));
  }
  recorded.take();
  return heavy;
}

const rates = { perSecond: 100, perProjectPerSecond: 100 };
const tasks = tasksOf(api, {
  billingRules: { freeTierPerMonth: 1_000 },
  platformFrom: 'team@everpost.test',
  payments: { reportUsage: async () => {} },
});

describe('the sweep', () => {
  it.each(Object.keys(tasks).filter((name) => !name.startsWith('LIST_')) as (keyof SweepTasks)[])(
    'reads only what is open for %s',
    async (name) => {
      expect(await heavyIn(() => tasks[name]())).toEqual([]);
    },
  );
});

describe('a claim', () => {
  const attempt = () => ({ attemptId: randomUUID(), max: 50, leaseSeconds: 60, throttled: false });
  const campaignId = '00000003-0000-7000-8000-000000000002';
  const workflowId = '00000004-0000-7000-8000-000000000001';
  const contactIds = ['00000002-0000-7000-8000-000000000007'];

  /** Runs the first pages of a job. */
  function pagesOf<Asked>(
    operation: {
      page(tx: Database, job: LockedExecutionJob<Asked>): Promise<{ cursor: object | null }>;
    },
    asked: Asked,
  ) {
    return async () => {
      let cursor: object | null = null;
      for (let pages = 0; pages < 5; pages++) {
        const job: LockedExecutionJob<Asked> = {
          id: randomUUID(),
          projectId,
          workflowId,
          createdAt: new Date(),
          asked,
          cursor,
        };
        const page = await transact(db, (tx) => operation.page(tx, job));
        cursor = page.cursor;
        if (cursor === null) return;
      }
    };
  }

  it.each<[string, () => Promise<unknown>]>([
    ['counts due mail', () => countDueEmails(db, projectId, 50)],
    ['takes due mail', () => claimUnheldEmails(db, { ...attempt(), projectId })],
    [
      'takes due mail of a policy',
      () => claimUnheldEmails(db, { ...attempt(), projectId, isPoliced: true }),
    ],
    ['finds the next mail', () => findNextDue(db, projectId)],
    ['takes a chunk', () => claimCampaignEmails(db, projectId, { ...attempt(), campaignId })],
    [
      'moves a campaign on',
      () =>
        advanceCampaign(
          db,
          { projectId, campaignId },
          { provider: 'local', rates, isForAll: false },
        ),
    ],
    ['takes executions', () => claimForReconciliation(db, 500)],
    ['takes runs to be told', () => claimOverdue(db)],
    ['finds the next version of a job', () => nextVersion(db, { workflowId, versions: null }, 1)],
    [
      'finds the next execution of a job',
      () =>
        transact(db, (tx) =>
          nextWaiting(
            tx,
            {
              projectId,
              workflowId,
              stepId: workflowId,
              versions: null,
              startedBy: new Date(),
              filter: null,
            },
            { version: 0, id: null },
            500,
          ),
        ),
    ],
    ['takes a mail of the platform', () => claimSystemMail(db, randomUUID(), randomUUID())],
    ...Object.entries({
      'moves on executions': pagesOf(migrate, {
        to: 1,
        from: null,
        mapping: {},
        executionIds: null,
        onUnmappable: 'stay',
      }),
      'moves waits': pagesOf(moveAllWaits, {
        stepId: workflowId,
        move: { shiftBySeconds: 1 },
        versions: null,
        filter: null,
      }),
      retries: pagesOf(retryAll, {
        stepId: null,
        version: null,
        failedAfter: null,
        failedBefore: null,
        errorContains: null,
        errorEquals: null,
      }),
    }),
    ['finds derivable events', () => findDerivable(db, projectId, contactIds)],
    [
      'ends mail that is unknown',
      () => settleUncertainEmails(db, { settleMinutes: 15, policy: 'resend', max: 500 }),
    ],
  ])('%s without what is finished', async (_, claim) => {
    expect(await heavyIn(claim)).toEqual([]);
  });
});

describe('an event subscription', () => {
  const { id } = subscription;
  const target = async () => {
    const lease = (await takeLease(db, id))!;
    return { lease, target: (await findTarget(db, id, lease.id))! };
  };

  it.each<[string, () => Promise<unknown>]>([
    ['looks for work', () => findWork(db, id)],
    ['reads the log', () => readPage(db, id)],
    ['skips what is outdated', () => skipOutdated(db, id)],
    ['makes waiting deliveries due', () => releasePage(db, id)],
    [
      'is held and released',
      async () => {
        const { lease, target: found } = await target();
        await endLease(db, found, lease, null);
      },
    ],
    [
      'finds what is due',
      async () => {
        const { target: found } = await target();
        await listDue(db, found, { underWay: [], isHeld: false });
        await listDueForBatches(db, found, { underWay: [], isHeld: true, most: 50 });
        await findProbe(db, found, []);
        await findNextDelivery(db, found);
      },
    ],
    ['looks at what others need', () => readDemand(db)],
  ])('%s without what is finished', async (_, look) => {
    expect(await heavyIn(look)).toEqual([]);
  });

  it('reads what is new while a transaction is open for long', async () => {
    const open = await db.startTransaction().execute();
    atEnd(() => open.rollback().execute());
    await sql`select pg_current_xact_id()`.execute(open);
    for (let n = 0; n < 2; n++) await readPage(db, id);
    await sql`
      insert into event (project_id, name, contact_id)
        select ${projectId}, 'bought', '00000002-0000-7000-8000-000000000001'
          from generate_series(1, 2000)`.execute(db);
    for (let isOver = false; !isOver;) ({ isOver } = await readPage(db, id));
    expect(await heavyIn(() => findWork(db, id))).toEqual([]);
    expect(await heavyIn(() => readPage(db, id))).toEqual([]);
  });
});
