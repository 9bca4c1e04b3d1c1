import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { columns } from '../../db/tables.ts';
import { mayReceive } from '../../db/reads/audience.ts';
import { hasRamp, heldUntil, holdsMail, isPolicedCampaign } from '../../db/sql/send-policy.ts';
import { type Database, transact } from '../../db/database.ts';
import { endedBy } from '../../db/sql/mail-status.ts';
import {
  armOf,
  contentArm,
  hasRouting,
  isSenderGone,
  providerOf,
  trackingHost,
} from '../../db/sql/mail-claims.ts';
import { countMoments, momentsOf } from '../../db/sql/mail-moments.ts';
import { unqueuedOf, waitingOf } from '../../db/sql/mail-queue.ts';
import {
  campaignStatusOf,
  hasWaiting,
  idsUnderWay,
  isClaimedByChunk,
  isUnsettled,
  mailEventAt,
  reasonOf,
  statusOf,
} from '../../db/sql/mail-status.ts';
import { conditionSql } from '../../db/sql/filter.ts';
import { hasUnread } from '../../db/subscriptions/log.ts';
import { itemsMatch } from '../../db/sql/subscribed-events.ts';
import { judgedAt, wasSubscribed } from '../../db/sql/campaign-audience.ts';
import { hadLeftTopic, hasLeftTopic } from '../../db/sql/topic-choices.ts';
import { isExitEvent, mayBeEnded } from '../../db/sql/event-conditions.ts';
import { digestOf } from '../../db/workflows/executions/digest-events.ts';
import { isTaken, startRefusal } from '../../db/workflows/executions/start-rules.ts';
import { stepMarks } from '../../db/workflows/executions/starts.ts';
import { useApi } from '../support/api.ts';
import { fragmentsOf, tablesIn } from '../support/fragments.ts';

/**
 * A fragment of SQL is always about its caller's row, whatever alias the caller's table has, and
 * never reads rows of other tenants.
 */

const api = await useApi();
const root = path.join(import.meta.dirname, '..', '..');
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'db'], { cwd: root })
  .toString()
  .split('\n')
  .filter((file) => file.endsWith('.ts'));
const tables = new Set(Object.keys(columns));
const fragments = files.flatMap((file) =>
  fragmentsOf(file, readFileSync(path.join(root, file), 'utf8')).map((one) => ({ ...one, file })),
);
const readers = fragments.filter((fragment) => tablesIn(fragment.sql, tables).length > 0);

describe('a fragment of SQL', () => {
  it('is found in the code', () => {
    expect(fragments.length).toBeGreaterThan(150);
    expect(readers.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['hasLeftTopic', 'isResting', 'endedBy', 'isOfMoment']),
    );
  });

  it('has aliases of its own for the tables it reads', () => {
    const used = readers.flatMap(({ file, name, sql: text }) =>
      tablesIn(text, tables).map(({ table, alias }) => ({
        file,
        name,
        table,
        alias,
      })),
    );
    const bare = used.filter(({ alias }) => !alias?.startsWith('inner_'));
    expect(bare).toEqual([]);
    const shared = used.filter(({ alias, file }) =>
      used.some((other) => other.alias === alias && other.file !== file),
    );
    expect(shared).toEqual([]);
  });

  it('finds an inner table without an alias', () => {
    const source = 'export const isGone = sql`exists (select from topic where topic.id = ${id})`;';
    const [found] = fragmentsOf('a.ts', source);
    expect(tablesIn(found!.sql, tables)).toEqual([{ table: 'topic', alias: null }]);
  });

  it('is played below if others can use it', () => {
    const known = new Set([...Object.keys(plays), ...withoutCaller]);
    expect(shared().filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(Object.entries(plays))(
    '%s is about its own row, whatever that is called',
    async (_, play) => {
      await transact(api.db, async (tx) => {
        await insertTenants(tx);
        for (const caller of ['caller', ...tables]) {
          const [first] = play.rows;
          const list = sql.join(Object.keys(first).map((column) => sql.ref(column)));
          const values = play.rows.map(
            (row) =>
              sql`(${sql.join(
                Object.keys(first).map(
                  (column) => sql`${row[column]}::${sql.raw(types[column] ?? 'text')}`,
                ),
              )})`,
          );
          const { rows } = await sql<{ answer: unknown }>`
          select ${play.fragment(caller)} as answer
            from (values ${sql.join(values)}) as ${sql.table(caller)}(${list})`.execute(tx);
          expect([caller, ...rows.map(({ answer }) => answer)]).toEqual([caller, ...play.answers]);
        }
        throw undo;
      }).catch((error: unknown) => {
        if (error !== undo) throw error;
      });
    },
  );
});

/** Returns exported fragments that read a table, directly or through others. */
function shared(): string[] {
  const reading = new Set(readers.map(({ file, name }) => `${file} ${name}`));
  for (let before = 0; before < reading.size;) {
    before = reading.size;
    const found = fragments.filter((fragment) => reading.has(`${fragment.file} ${fragment.name}`));
    for (const { file, name, source } of fragments) {
      const uses = found.some(
        (other) =>
          (other.isExported || other.file === file) &&
          new RegExp(`\\b${other.name}\\b`).test(source.replaceAll(/'[^'\n]*'/g, '')),
      );
      if (uses) reading.add(`${file} ${name}`);
    }
  }
  return fragments
    .filter(({ file, name, isExported }) => isExported && reading.has(`${file} ${name}`))
    .map(({ name }) => name);
}

/** Fragments that take only values, so that no alias of a caller can occur in them. */
const withoutCaller: readonly string[] = [
  'claimOf',
  'countedTo',
  'domainColumns',
  'dueAgain',
  'eventScopes',
  'following',
  'hasAddressKey',
  'heldAgain',
  'isHeldExecution',
  'judging',
  'pinnedParts',
  'routedBy',
  'searchParts',
  'suppressed',
];

/** Rows of two tenants that differ only in what the fragment tests. */
interface Play {
  /** Rows of the caller's table: the first tenant's and the second tenant's. */
  rows: [Record<string, string | null>, Record<string, string | null>];
  /** @param caller the alias of the caller's table. */
  fragment(caller: string): RawBuilder<unknown>;
  /** Results for the first and the second tenant. */
  answers: [unknown, unknown];
}

const idOf = (tenant: number, noun: number) =>
  `0198c0de-0000-7000-8000-${String(tenant * 1000 + noun).padStart(12, '0')}`;
const [project, contact, topic, campaign, mail, execution, ramp] = [1, 2, 3, 4, 5, 6, 13];
const both = (row: (tenant: number) => Record<string, string | null>): Play['rows'] => [
  row(1),
  row(2),
];
const at = (caller: string, column: string) => sql.ref(`${caller}.${column}`);
const long = sql`timestamptz '2000-01-01 00:00:00Z'`;
const mails = (tenant: number) => ({
  id: idOf(tenant, mail),
  project_id: idOf(tenant, project),
  campaign_id: idOf(tenant, campaign),
  contact_id: idOf(tenant, contact),
  topic_id: idOf(tenant, topic),
  status: 'PENDING',
  scheduled_for: '2030-01-01 00:00:00Z',
  held_until: null,
  retried_at: null,
  from_email: 'shop@shop.example',
  arm: null,
  trace: '[]',
});
const events = (tenant: number) => ({
  id: idOf(tenant, 8),
  project_id: idOf(tenant, project),
  contact_id: idOf(tenant, contact),
  name: 'bought',
});

const workflows = (tenant: number, mode: string) => ({
  id: idOf(tenant, 10),
  contact_id: idOf(tenant, contact),
  execution_key: null,
  reentry_mode: mode,
  reentry_min_interval: null,
});

const clickedLink = {
  owner_id: idOf(1, campaign),
  link_id: '0123456789abcdef',
  email_id: idOf(1, mail),
  email_created_at: '2030-01-01T00:00:00Z',
  first_at: '2030-01-02T00:00:00Z',
};

const plays: Readonly<Record<string, Play>> = {
  hasLeftTopic: {
    rows: both(mails),
    fragment: (name) => hasLeftTopic(at(name, 'contact_id'), at(name, 'topic_id')),
    answers: [true, false],
  },
  hadLeftTopic: {
    rows: both(mails),
    fragment: (name) => hadLeftTopic(at(name, 'contact_id'), at(name, 'topic_id'), long),
    answers: [true, false],
  },
  judgedAt: {
    rows: both((tenant) => ({
      id: idOf(tenant, campaign),
      audience_fixed: 'true',
      status: 'SENT',
      frozen_at: '2020-01-01T00:00:00Z',
    })),
    fragment: (name) =>
      sql`extract(year from ${judgedAt(name, { id: sql`${idOf(1, mail)}::uuid`, createdAt: long })})::int`,
    answers: [2031, 2020],
  },
  wasSubscribed: {
    rows: both(mails),
    fragment: (name) =>
      wasSubscribed({ id: at(name, 'contact_id'), isSubscribed: sql`true` }, long),
    answers: [false, true],
  },
  mayReceive: {
    rows: both((tenant) => ({ id: idOf(tenant, contact), subscribed: String(tenant === 1) })),
    fragment: (name) => mayReceive({ messageClass: 'MARKETING', topicId: idOf(2, topic) }, name),
    answers: [true, false],
  },
  armOf: { rows: both(mails), fragment: armOf, answers: ['b', null] },
  contentArm: {
    rows: both((tenant) => ({
      id: idOf(tenant, campaign),
      experiment: '{"arms": [{"id": "a"}]}',
    })),
    fragment: (name) => contentArm(name, sql`null::uuid`),
    answers: ['b', 'a'],
  },
  trackingHost: {
    rows: both(mails),
    fragment: trackingHost,
    answers: ['go.shop.example', null],
  },
  providerOf: {
    rows: both((tenant) => ({ ...mails(tenant), provider_id: 'former' })),
    fragment: providerOf,
    answers: ['backup', 'former'],
  },
  hasRouting: {
    rows: both(mails),
    fragment: (name) => hasRouting(at(name, 'project_id')),
    answers: [true, false],
  },
  hasRamp: {
    rows: both(mails),
    fragment: (name) => hasRamp(at(name, 'project_id')),
    answers: [true, false],
  },
  heldUntil: {
    rows: both((tenant) => ({
      hold_reason: 'warm_up',
      ramp_id: idOf(tenant, ramp),
      held_until: '2032-01-01T00:00:00Z',
    })),
    fragment: heldUntil,
    answers: [new Date('2031-01-01T00:00:00Z'), new Date('2032-01-01T00:00:00Z')],
  },
  holdsMail: {
    rows: both(mails),
    fragment: (name) => holdsMail(at(name, 'project_id')),
    answers: [true, false],
  },
  isPolicedCampaign: {
    rows: both((tenant) => ({ ...mails(tenant), message_class: 'MARKETING' })),
    fragment: isPolicedCampaign,
    answers: [true, false],
  },
  waitingOf: {
    rows: both(mails),
    fragment: (name) => sql`(select count(*)::int from ${waitingOf(at(name, 'project_id'))})`,
    answers: [1, 0],
  },
  unqueuedOf: {
    rows: both(mails),
    fragment: (name) => sql`(select count(*)::int from ${unqueuedOf(at(name, 'campaign_id'))})`,
    answers: [1, 0],
  },
  hasWaiting: {
    rows: both(mails),
    fragment: (name) => hasWaiting(at(name, 'campaign_id')),
    answers: [true, false],
  },
  idsUnderWay: {
    rows: both(mails),
    fragment: (name) => sql`array${idsUnderWay(at(name, 'project_id'))}::text[]`,
    answers: [[idOf(1, mail)], []],
  },
  isClaimedByChunk: { rows: both(mails), fragment: isClaimedByChunk, answers: [true, false] },
  statusOf: { rows: both(mails), fragment: statusOf, answers: ['SENDING', 'PENDING'] },
  campaignStatusOf: {
    rows: both(mails),
    fragment: campaignStatusOf,
    answers: ['PAUSED', 'SENDING'],
  },
  isUnsettled: {
    rows: both((tenant) => ({ ...mails(tenant), lease_until: null })),
    fragment: isUnsettled,
    answers: [true, false],
  },
  reasonOf: {
    rows: both((tenant) => ({
      ...mails(tenant),
      error: null,
      refusal: null,
      lease_until: null,
      retry_at: null,
      hold_reason: null,
    })),
    fragment: (name) => reasonOf(name, at(name, 'project_id')),
    answers: ['delivery_unsettled', 'schedule'],
  },
  mailEventAt: {
    rows: both((tenant) => ({ id: idOf(tenant, mail), created_at: clickedLink.email_created_at })),
    fragment: (name) => mailEventAt(name, `link.${clickedLink.link_id}`, clickedLink.owner_id),
    answers: [new Date(clickedLink.first_at), null],
  },
  isSenderGone: { rows: both(mails), fragment: isSenderGone, answers: [false, true] },
  endedBy: {
    rows: both(mails),
    fragment: endedBy,
    answers: ['project_disabled', 'campaign_cancelled'],
  },
  momentsOf: {
    rows: both(mails),
    fragment: (name) =>
      sql`(select count(*)::int from ${momentsOf(
        idOf(1, project),
        'sent',
        sql`at > ${at(name, 'scheduled_for')}`,
      )})`,
    answers: [1, 1],
  },
  countMoments: {
    rows: both((tenant) => ({ at: tenant === 1 ? '2000-01-01' : '2040-01-01' })),
    fragment: (name) =>
      countMoments(idOf(1, project), 'sent', { from: at(name, 'at') as RawBuilder<Date> }),
    answers: [1, 0],
  },
  conditionSql: {
    rows: both((tenant) => ({ id: idOf(tenant, contact) })),
    fragment: (name) =>
      conditionSql(
        {
          logic: 'OR',
          groups: [
            { filters: [{ field: 'event.bought', operator: 'triggered' }] },
            { filters: [{ field: 'email.opened', operator: 'triggered' }] },
            { filters: [{ field: `segment.${idOf(1, 9)}`, operator: 'memberOfSegment' }] },
          ],
        },
        { now: new Date(), segments: new Map([[idOf(1, 9), null]]), contact: name },
      ),
    answers: [true, false],
  },
  hasUnread: {
    rows: both((tenant) => ({
      project_id: idOf(tenant, project),
      seen: '1:1:',
      earlier: '[]',
      enabled: 'true',
      reading: null,
    })),
    fragment: hasUnread,
    answers: [true, false],
  },
  itemsMatch: {
    rows: both((tenant) => ({ items: tenant === 1 ? '{bought}' : '{sold}', name: 'bought' })),
    fragment: (name) => itemsMatch(at(name, 'items'), at(name, 'name')),
    answers: [true, false],
  },
  isExitEvent: {
    rows: both(events),
    fragment: (name) => sql`coalesce(${isExitEvent(name)}, false)`,
    answers: [true, false],
  },
  mayBeEnded: {
    rows: both((tenant) => ({
      ...events(tenant),
      status: 'RUNNING',
      workflow_id: idOf(tenant, 10),
    })),
    fragment: (name) => sql`coalesce(${mayBeEnded(name, name)}, false)`,
    answers: [true, false],
  },
  isTaken: {
    rows: both((tenant) => workflows(tenant, 'after_end')),
    fragment: (name) => isTaken(name, at(name, 'contact_id')),
    answers: [true, false],
  },
  startRefusal: {
    rows: both((tenant) => workflows(tenant, 'once')),
    fragment: (name) =>
      startRefusal(name, { contactId: at(name, 'contact_id'), key: sql`null::text` }),
    answers: ['exists', null],
  },
  stepMarks: {
    rows: both((tenant) => ({ id: idOf(tenant, execution) })),
    fragment: (name) => sql`jsonb_array_length(${stepMarks(name)})`,
    answers: [2, 1],
  },
  digestOf: {
    rows: both((tenant) => ({
      step_execution_id: idOf(tenant, 20),
      event_name: 'bought',
      digest: '{}',
    })),
    fragment: (name) =>
      sql`(select candidate ->> 'workflowId' from ${digestOf(name)} as inner_found)`,
    answers: [idOf(1, 10), null],
  },
};

/** Types of the columns other than text. */
const types: Readonly<Record<string, string>> = {
  id: 'uuid',
  project_id: 'uuid',
  campaign_id: 'uuid',
  contact_id: 'uuid',
  topic_id: 'uuid',
  ramp_id: 'uuid',
  workflow_id: 'uuid',
  step_execution_id: 'uuid',
  scheduled_for: 'timestamptz',
  created_at: 'timestamptz',
  frozen_at: 'timestamptz',
  audience_fixed: 'boolean',
  held_until: 'timestamptz',
  retry_at: 'timestamptz',
  reentry_min_interval: 'int',
  lease_until: 'timestamptz',
  at: 'timestamptz',
  trace: 'jsonb',
  experiment: 'jsonb',
  earlier: 'jsonb',
  enabled: 'boolean',
  subscribed: 'boolean',
  seen: 'pg_snapshot',
  reading: 'pg_snapshot',
  items: 'text[]',
};

/** Rolls back. */
const undo = new Error('undo');

/**
 * Inserts two tenants with one row of each kind; the second has nothing that the fragments test
 * for.
 */
async function insertTenants(tx: Database): Promise<void> {
  // Copies without constraints and triggers hide the tables until the transaction ends.
  const copies = [...tables].map(
    (table) =>
      `create temp table "${table}" on commit drop as select * from "${table}" with no data;`,
  );
  await sql.raw(`do $$ begin ${copies.join(' ')} end $$`).execute(tx);
  const insert = async (table: string, row: Record<string, unknown>) => {
    const names = Object.keys(row).map((name) => sql.ref(name));
    await sql`insert into ${sql.table(table)} (${sql.join(names)})
      values (${sql.join(Object.values(row))})`.execute(tx);
  };
  for (const tenant of [1, 2]) {
    const isFirst = tenant === 1;
    const mine = (noun: number) => idOf(tenant, noun);
    const own = { project_id: mine(project) };
    const ofContact = { ...own, contact_id: mine(contact) };
    const disabled = isFirst ? 'MANUAL' : null;
    await insert('project', { id: mine(project), disabled_reason: disabled });
    await insert('topic', { ...own, id: mine(topic), key: 'news', by_default: !isFirst });
    const status = isFirst ? 'PAUSED' : 'SENDING';
    await insert('campaign', { ...own, id: mine(campaign), status });
    await insert('send_policy', { ...own, caps: isFirst ? '[{}]' : '[]' });
    if (isFirst) await insert('holdout', { ...own, slots: 100 });
    await insert('experiment', {
      ...own,
      campaign_id: mine(campaign),
      started_at: 'now',
      ...(isFirst && { decided_at: 'now', arm: 'b', decided_by: 'metric', numbers: '[]' }),
    });
    if (isFirst) await insert('mail_routing', { ...own, routes: '[]' });
    if (isFirst) await insert('email_link', clickedLink);
    await insert('ramp', {
      ...own,
      id: mine(ramp),
      status: isFirst ? 'RUNNING' : 'DONE',
      day_ends_at: isFirst ? '2031-01-01T00:00:00Z' : null,
    });
    const waiting = { ...own, due_at: isFirst ? 'now' : 'infinity' };
    if (isFirst) {
      await insert('email_queue', { ...waiting, email_id: mine(mail) });
      await insert('email_queue', {
        ...waiting,
        email_id: mine(11),
        campaign_id: mine(campaign),
      });
      await insert('campaign_chunk', {
        ...own,
        campaign_id: mine(campaign),
        email_ids: [mine(mail)],
        attempt_id: mine(12),
        lease_until: '2000-01-01T00:00:00Z',
        routed: JSON.stringify([{ providerId: 'backup', trace: [], emailIds: [mine(mail)] }]),
      });
      await insert('domain', {
        ...own,
        name: 'shop.example',
        status: 'verified',
        tracking_subdomain: 'go',
        tracking_active: true,
      });
      await insert('email_moment', {
        ...own,
        kind: 1,
        email_id: mine(mail),
        at: '2031-01-01T00:00:00Z',
      });
      await insert('event', {
        ...ofContact,
        id: mine(8),
        name: 'bought',
        tx: '5',
        created_at: 'now',
        recorded_at: 'now',
      });
      await insert('audience_page', {
        ...own,
        campaign_id: mine(campaign),
        to_at: 'now',
        to_id: mine(contact),
        fixed_at: '2031-01-01T00:00:00Z',
      });
      await insert('event', {
        ...ofContact,
        id: mine(9),
        name: 'contact.subscribed',
        tx: '5',
        created_at: 'now',
        recorded_at: 'now',
      });
      await insert('exit_event', { ...own, event_name: 'bought', workflow_id: mine(10) });
      await insert('workflow', {
        ...own,
        id: mine(10),
        name: 'Orders',
        trigger_type: 'EVENT',
        trigger_event_name: 'bought',
      });
      await insert('execution', {
        ...ofContact,
        id: mine(execution),
        workflow_id: mine(10),
        status: 'RUNNING',
        slot: '',
        started_at: 'now',
      });
    }
    for (const step of isFirst ? [20, 21] : [20]) {
      await insert('step_execution', {
        ...own,
        id: mine(step),
        execution_id: mine(execution),
        step_id: mine(step),
        status: 'COMPLETED',
      });
    }
  }
}
