import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { atEnd } from './use.ts';

/** Rows per table: of the tables in `large`, and of the others. */
const rowsMax = 100_000;
const rowsOfOthers = 20_000;
const large = ['email', 'email_moment', 'event', 'event_delivery', 'execution', 'step_execution'];

/** Returns SQL of the id of a row. Ids increase, so that indexes fill quickly. */
const id = (noun: number) => `('0000000${noun}-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid`;

/** SQL of a value for a column without a default, by column type; `n` is the number of the row. */
const fillers: Readonly<Record<string, string>> = {
  uuid: id(0),
  text: `'x' || n`,
  varchar: `'x' || n`,
  bytea: `decode(md5('$c' || n), 'hex')`,
  bool: 'true',
  int2: '1',
  int4: '1',
  int8: 'n',
  float8: '1',
  timestamptz: `now() - n * interval '5 minutes'`,
  date: `current_date - n / 400`,
  jsonb: `'{}'`,
  _uuid: `array[${id(1)}]`,
  _text: `array['x']`,
};

const ago = `now() - n * interval '5 minutes'`;
const mail = id(1);
const contact = id(2);
const workflow = id(4).replace('n::text', "'1'");

/** SQL of the column values of finished rows, by table. */
const finished: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  contact: { id: contact, subscribed: 'true', created_at: ago },
  // Every other campaign was cancelled. Only the first thousand have messages.
  campaign: {
    id: id(3),
    status: `case when n % 2 = 0 then 'SENT' else 'CANCELLED' end`,
    message_class: `'MARKETING'`,
    audience_type: `'ALL'`,
    audience_fixed: 'true',
    frozen_at: ago,
    reconciled_at: ago,
    sent_at: `case when n % 2 = 0 then ${ago} end`,
  },
  email: {
    id: mail,
    contact_id: contact,
    campaign_id: id(3).replace('n::text', '(n % 1000 + 1)::text'),
    status: `case when n % 2 = 1 then 'SENT' else 'FAILED' end`,
    error: `case when n % 2 = 1 then null else 'campaign_cancelled' end`,
    sent_at: `case when n % 2 = 1 then ${ago} end`,
    created_at: ago,
    due_at: 'null',
    message_class: `'MARKETING'`,
    source_type: `'CAMPAIGN'`,
  },
  email_moment: { email_id: mail, kind: '1', at: ago },
  provider_message: { email_id: mail },
  late_mail: { email_id: mail, contact_id: contact },
  email_link: { owner_id: id(3), link_id: `'0123456789abcdef'`, email_id: mail },
  tracked_link: { owner_id: id(3), link_id: `'0123456789abcdef'`, is_checked: 'true' },
  link_tally: { owner_id: id(3), link_id: `'0123456789abcdef'`, fresh: 'false' },
  event: {
    id: id(5),
    contact_id: contact,
    name: `'bought'`,
    created_at: ago,
    recorded_at: ago,
    tx: `(n % 500 + 1)::text::xid8`,
  },
  event_tally: { name: `'bought'`, day: `current_date - n / 100`, fresh: 'false' },
  email_tally: { kind: '1', day: `current_date - n / 100`, fresh: 'false' },
  derived_event_log: {
    tx: `(n % 500 + 1)::text::xid8`,
    recorded_at: `now() - n * interval '20 s'`,
  },
  event_delivery: {
    event_id: id(5),
    contact_id: contact,
    status: `'delivered'`,
    event_name: `'bought'`,
    epoch: '0',
    ended_at: `now() - n * interval '20 s'`,
    recorded_at: `now() - n * interval '20 s'`,
  },
  workflow_version: { workflow_id: workflow, version: 'n', graph: `'{}'` },
  execution: {
    id: id(6),
    workflow_id: workflow,
    contact_id: contact,
    status: `'COMPLETED'`,
    started_at: ago,
    completed_at: ago,
    next_reconcile_at: ago,
  },
  not_started: {
    workflow_id: workflow,
    contact_id: contact,
    event_name: `'bought'`,
    reason: `'no_key'`,
    at: `now() - n * interval '1 minute'`,
  },
  step_execution: {
    execution_id: id(6),
    status: `'COMPLETED'`,
    scheduled_for: ago,
    completed_at: ago,
  },
  job: {
    kind: `'bulk'`,
    state: `'completed'`,
    finished_at: `now() - n * interval '1 s'`,
    touched_at: ago,
  },
  opt_in: { state: `'confirmed'`, contact_id: contact, next_reconcile_at: ago, topic_ids: `'{}'` },
  erasure: {
    owner_id: id(7),
    state: `'completed'`,
    touched_at: ago,
    completed_at: ago,
  },
  firing: { workflow_id: workflow, status: `'COMPLETED'` },
  workflow_schedule: { next_reconcile_at: 'null' },
  suspension: { reason: `'MANUAL'`, ended_at: ago },
  consent: { contact_id: contact, action: `'granted'` },
  suppression: {
    reason: `'manual'`,
    scope: `'all'`,
    until: `now() + interval '1 year'`,
  },
  session: { expires_at: `now() + n * interval '1 minute'`, method: `'password'` },
  security_event: { at: `now() - n * interval '1 minute'` },
  idempotency: { created_at: `now() - n * interval '0.5 s'` },
  idempotency_email: { position: '1' },
  account_token: { created_at: `now() - n * interval '0.01 s'`, purpose: `'sign_up'` },
  report_receipt: { created_at: `now() - n * interval '0.5 s'` },
  payment_receipt: { created_at: `now() - n * interval '0.5 s'` },
  attachment: { created_at: `now() - n * interval '1 minute'` },
  segment_member: { contact_id: contact },
  exit_event: {},
  upload: { state: `'stored'`, created_by: `'key:secret'` },
  allowance: { category: `'campaigns'`, month: `date '2020-01-01' + n` },
  allowance_warning: { category: `'campaigns'`, month: `date '2020-01-01' + n` },
  event_subscription_minute: { minute: `date_trunc('minute', now()) - n * interval '0.8 s'` },
};

/**
 * Fills the tables with finished rows. All rows with a project belong to the same one; rows to
 * which they refer need not exist.
 */
export async function fillWithFinished(
  db: Database,
  { projectId, subscriptionId }: { projectId: string; subscriptionId: string },
): Promise<void> {
  const { rows: columns } = await sql<{
    table: string;
    name: string;
    type: string;
    isNeeded: boolean;
  }>`
    select table_name as "table", column_name as name, udt_name as type,
        is_nullable = 'NO' and column_default is null as "isNeeded"
      from information_schema.columns
      where table_schema = current_schema() and is_generated = 'NEVER'
        and is_identity = 'NO'`.execute(db);
  atEnd(
    async () =>
      void (await sql.raw(`truncate ${Object.keys(finished).join(', ')} cascade`).execute(db)),
  );
  await db.transaction().execute(async (tx) => {
    await sql`set local synchronous_commit = off`.execute(tx);
    await sql`set local session_replication_role = replica`.execute(tx);
    for (const [table, given] of Object.entries(finished)) {
      const own: Readonly<Record<string, string>> = {
        project_id: `'${projectId}'`,
        subscription_id: `'${subscriptionId}'`,
        ...given,
      };
      const filled = columns
        .filter((column) => column.table === table)
        .filter(({ name, isNeeded }) => isNeeded || (name in own && own[name] !== undefined));
      const names = filled.map(({ name }) => name);
      const values = filled.map(
        ({ name, type }) =>
          `(${own[name] ?? fillers[type]?.replace('$t', table).replace('$c', name)})`,
      );
      await sql
        .raw(`insert into "${table}" (${names.map((name) => `"${name}"`).join(', ')})
        select ${values.join(', ')} from generate_series(1, ${large.includes(table) ? rowsMax : rowsOfOthers}) n
        on conflict do nothing`)
        .execute(tx);
    }
  });
  await sql.raw(`analyze ${Object.keys(finished).join(', ')}`).execute(db);
}
