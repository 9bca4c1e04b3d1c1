import { type RawBuilder, sql } from 'kysely';
import {
  type Cap,
  type Category,
  type OwnLimits,
  capOf,
  categories,
  categoryOf,
} from '../../domain/billing.ts';
import { Problem } from '../../domain/errors.ts';
import { type Database, transact } from '../database.ts';
import { allowanceCategory } from '../sql/ledger.ts';
import { momentsOf } from '../sql/mail-moments.ts';
import { waitingOf } from '../sql/mail-queue.ts';

/**
 * Number of messages that a project may send per month without a subscription; null: billing is off
 * and nothing is limited.
 */
export type BillingRules = { freeTierPerMonth: number } | null;

export interface BillingProject {
  customer: string | null;
  subscription: string | null;
  limits: OwnLimits;
}

export async function findBillingProject(
  db: Database,
  projectId: string,
): Promise<BillingProject | undefined> {
  const row = await db
    .selectFrom('project')
    .select(['customer', 'subscription'])
    .select(['billing_limit_workflows as workflows', 'billing_limit_campaigns as campaigns'])
    .select(['billing_limit_transactional as transactional', 'billing_limit_inbound as inbound'])
    .where('id', '=', projectId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { customer, subscription, ...limits } = row;
  return { customer, subscription, limits };
}

/** Sets limits that a project chooses for itself; null removes a limit. */
export async function updateOwnLimits(
  db: Database,
  projectId: string,
  limits: Partial<OwnLimits>,
): Promise<void> {
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  if (given.length === 0) return;
  await db
    .updateTable('project')
    .set(Object.fromEntries(given.map(([category, limit]) => [`billing_limit_${category}`, limit])))
    .set({ updated_at: sql<Date>`now()` })
    .where('id', '=', projectId)
    .execute();
}

/** Returns SQL of the first day of the month (UTC) of a time. */
const monthAt = (moment: RawBuilder<unknown>) =>
  sql<string>`date_trunc('month', ${moment} at time zone 'UTC')::date`;

const thisMonth = monthAt(sql`now()`);

/** The part of a project's allowance that a message uses. */
export interface Share {
  projectId: string;
  category: Category;
  units: number;
  /** A time in the month (UTC) whose allowance is used; absent or null: the current month. */
  at?: Date | null;
}

/**
 * Returns the messages that a project has sent or received in a period, by day (UTC) and category.
 * A message with attachments counts twice; a failed one does not count.
 */
export async function listUsage(
  db: Database,
  projectId: string,
  { start, end }: { start: Date; end: Date },
): Promise<{ date: string; category: Category; count: number }[]> {
  const { rows } = await sql<{ date: string; source_type: string; count: number }>`
    select to_char(at at time zone 'UTC', 'YYYY-MM-DD') as date, source_type,
        sum(billed_units)::int as count
      from (
        select at, source_type, billed_units
          from ${momentsOf(projectId, 'sent', sql`at >= ${start} and at < ${end}`)}
          join email on email.id = email_id
        union all
        select created_at, source_type, billed_units from email
          where project_id = ${projectId} and source_type = 'INBOUND'
            and created_at >= ${start} and created_at < ${end}) counted
      group by 1, 2
      order by 1, 2`.execute(db);
  return rows.map(({ date, source_type: source, count }) => ({
    date,
    category: categoryOf(source),
    count,
  }));
}

/**
 * Uses the allowance for one message, in the transaction that stores the message. Parallel calls
 * wait for each other until their transactions end, so that none exceeds the limit. Therefore call
 * this function right before the insert. Returns the value for `email.allowance_month`; null: no
 * limits.
 * @throws Problem BILLING_LIMIT_EXCEEDED
 */
export async function takeAllowance(
  tx: Database,
  rules: BillingRules,
  given: Share,
): Promise<string | null> {
  const cap = await findCap(tx, rules, given.projectId, given.category);
  if (!cap) return null;
  const { month, taken } = await lockAllowance(tx, given);
  refuseOver(cap, taken, given.category, given.units);
  await addTaken(tx, given.projectId, month, given.category, given.units);
  return month;
}

/**
 * Checks that mail would not exceed a limit, without using allowance.
 * @throws Problem BILLING_LIMIT_EXCEEDED
 */
export async function requireAllowance(
  db: Database,
  rules: BillingRules,
  given: Share,
): Promise<void> {
  const cap = await findCap(db, rules, given.projectId, given.category);
  if (!cap) return;
  const { taken } = await transact(db, (tx) => lockAllowance(tx, given));
  refuseOver(cap, taken, given.category, given.units);
}

/**
 * Returns how much of its allowance of this month a project has used, for sent, received and
 * waiting mail.
 */
export async function readTaken(db: Database, projectId: string): Promise<Taken> {
  return transact(db, async (tx) => (await lockAllowance(tx, { projectId })).taken);
}

/**
 * Moves the used allowance of a waiting message, which the caller has locked, to the month (UTC) of
 * its new send time.
 * @param at the new send time; null: now.
 * @throws Problem BILLING_LIMIT_EXCEEDED
 */
export async function moveAllowance(
  tx: Database,
  rules: BillingRules,
  emailId: string,
  at: Date | null,
): Promise<void> {
  const taken = sql`coalesce(allowance_month,
    ${monthAt(sql`greatest(created_at, scheduled_for)`)})`;
  const { rows } = await sql<{
    projectId: string;
    sourceType: string;
    units: number;
    from: string;
  }>`
    select project_id as "projectId", source_type as "sourceType", billed_units as units,
        ${taken}::text as "from"
      from email
      where id = ${emailId} and ${taken} <> ${monthAt(sql`coalesce(${at}::timestamptz, now())`)}
    `.execute(tx);
  const [moved] = rows;
  if (!moved) return;
  const { projectId, units, from } = moved;
  const category = categoryOf(moved.sourceType);
  const month = await takeAllowance(tx, rules, { projectId, category, units, at });
  await addTaken(tx, projectId, from, category, -units);
  await sql`update email set allowance_month = ${month}::date where id = ${emailId}`.execute(tx);
}

/** The columns of a claimed message that `takeAllowances` needs. */
export interface ClaimedShare {
  id: string;
  /** Absent if the caller does not need the contact. */
  contact_id?: string;
  source_type: string;
  billed_units: number;
  allowance_month: unknown;
}

/**
 * Uses the allowance for claimed workflow and campaign mail that has not used any yet. Returns the
 * ids of messages for which no allowance is left: they must not be sent, and fail with
 * `billing_limit`.
 */
export async function takeAllowances(
  db: Database,
  rules: BillingRules,
  projectId: string,
  emails: readonly ClaimedShare[],
): Promise<Set<string>> {
  const open = emails.filter(
    (email) =>
      email.allowance_month === null && ['WORKFLOW', 'CAMPAIGN'].includes(email.source_type),
  );
  if (!rules || open.length === 0) return new Set();
  const project = await findBillingProject(db, projectId);
  if (!project) return new Set();
  const capped = open.flatMap((email) => {
    const category = categoryOf(email.source_type);
    const cap = capOf(category, project, rules.freeTierPerMonth);
    return cap ? [{ email, category, cap }] : [];
  });
  if (capped.length === 0) return new Set();
  return transact(db, async (tx) => {
    const over = new Set<string>();
    const { month, taken } = await lockAllowance(tx, { projectId });
    const added: Record<string, number> = {};
    for (const { email, category, cap } of capped) {
      const units = email.billed_units;
      if (sumOf(cap, taken) + units > cap.limit) {
        over.add(email.id);
        continue;
      }
      taken[category] += units;
      added[category] = (added[category] ?? 0) + units;
    }
    for (const [category, units] of Object.entries(added)) {
      await addTaken(tx, projectId, month, category, units);
    }
    const granted = capped.map(({ email }) => email.id).filter((id) => !over.has(id));
    await sql`update email set allowance_month = ${month}::date
      where id = any(${granted}::uuid[])`.execute(tx);
    return over;
  });
}

async function findCap(
  db: Database,
  rules: BillingRules,
  projectId: string,
  category: Category,
): Promise<Cap | null> {
  if (!rules) return null;
  const project = await findBillingProject(db, projectId);
  return project ? capOf(category, project, rules.freeTierPerMonth) : null;
}

type Taken = Record<Category, number>;

function sumOf(cap: Cap, taken: Taken): number {
  return cap.counts.reduce((sum, category) => sum + taken[category], 0);
}

function refuseOver(cap: Cap, taken: Taken, category: Category, units: number): void {
  const usage = sumOf(cap, taken);
  if (usage + units <= cap.limit) return;
  throw new Problem('BILLING_LIMIT_EXCEEDED', {
    details: { category, limit: cap.limit, usage },
  });
}

/**
 * Locks the used allowance of a project and month until the transaction ends. The first call for a
 * month computes the used allowance from the messages.
 */
async function lockAllowance(
  tx: Database,
  { projectId, at }: Pick<Share, 'projectId' | 'at'>,
): Promise<{ month: string; taken: Taken }> {
  const wanted = at ? monthAt(sql`${at}::timestamptz`) : thisMonth;
  for (;;) {
    const { rows } = await sql<{ month: string; category: Category; taken: number }>`
      select month::text, category, taken from allowance
        where project_id = ${projectId} and month = ${wanted}
        order by category for update`.execute(tx);
    const [first] = rows;
    if (first) {
      const taken = Object.fromEntries(rows.map((row) => [row.category, row.taken])) as Taken;
      return { month: first.month, taken };
    }
    await countAllowance(tx, projectId, wanted);
  }
}

/**
 * Counts and stores the used allowance of a month. These messages count: messages sent or received
 * in the month, waiting messages that have used the month's allowance, and messages that the API
 * has accepted for a send time in the month.
 * @param month its first day, as SQL
 */
async function countAllowance(
  tx: Database,
  projectId: string,
  month: RawBuilder<string>,
): Promise<void> {
  const start = sql`(${month})::timestamp at time zone 'UTC'`;
  const end = sql`((${month})::timestamp + interval '1 month') at time zone 'UTC'`;
  const acceptedFor = sql`greatest(created_at, scheduled_for)`;
  const waits = [
    // Each query reads only the mail of this project, by an index: the queue contains the mail of
    // all projects.
    sql`(select email_id from ${waitingOf(sql`${projectId}`)})`,
    sql`(select email_id from email_queue where project_id = ${projectId} and lease_until is not null)`,
    sql`(select email_id from email_queue where lease_until is null
      and campaign_id in (select id from campaign where project_id = ${projectId}))`,
    sql`(select unnest(email_ids) from campaign_chunk where project_id = ${projectId})`,
  ].map(
    (ids) => sql`
      select source_type, billed_units from email
        where id in ${ids} and status in ('PENDING', 'SENDING') and sent_at is null and (allowance_month = ${month}
          or source_type = 'TRANSACTIONAL' and allowance_month is null
            and ${acceptedFor} >= ${start} and ${acceptedFor} < ${end})`,
  );
  await sql`
    insert into allowance (project_id, month, category, taken)
      select ${projectId}, ${month}, kind.category, coalesce(sum(counted.billed_units), 0)
        from unnest(${[...categories]}::text[]) as kind(category)
        left join (
          select source_type, billed_units
            from ${momentsOf(projectId, 'sent', sql`at >= ${start} and at < ${end}`)}
            join email on email.id = email_id
          union all
          ${sql.join(waits, sql` union all `)}
          union all
          select source_type, billed_units from email
            where project_id = ${projectId} and source_type = 'INBOUND' and created_at >= ${start}
              and created_at < ${end}
        ) counted on kind.category = ${allowanceCategory('counted')}
        group by kind.category
      on conflict do nothing`.execute(tx);
}

async function addTaken(
  tx: Database,
  projectId: string,
  month: string,
  category: string,
  units: number,
): Promise<void> {
  await tx
    .updateTable('allowance')
    .set({ taken: sql`greatest(taken + ${units}::int, 0)` })
    .where('project_id', '=', projectId)
    .where('month', '=', sql<Date>`${month}::date`)
    .where('category', '=', category)
    .execute();
}

/**
 * Returns the used allowance of each project in this month. A project that was not counted yet has
 * no rows, and is left out.
 */
export async function listAllowances(
  db: Database,
): Promise<
  { id: string; name: string; taken: Taken; subscription: string | null; limits: OwnLimits }[]
> {
  const { rows } = await sql<{
    id: string;
    name: string;
    subscription: string | null;
    taken: Partial<Taken>;
    limits: OwnLimits;
  }>`
    select project.id, project.name, project.subscription,
        jsonb_object_agg(allowance.category, allowance.taken) as taken,
        jsonb_build_object('workflows', billing_limit_workflows,
          'campaigns', billing_limit_campaigns, 'transactional', billing_limit_transactional,
          'inbound', billing_limit_inbound) as limits
      from allowance join project on project.id = allowance.project_id
      where month = ${thisMonth} and project.removal is null
      group by project.id`.execute(db);
  const none: Taken = { workflows: 0, campaigns: 0, transactional: 0, inbound: 0 };
  return rows.map((row) => ({ ...row, taken: { ...none, ...row.taken } }));
}

/** Records that a project was warned this month. Returns false when it was warned already. */
export async function insertAllowanceWarning(
  tx: Database,
  projectId: string,
  category: string,
): Promise<boolean> {
  const { rows } = await sql`
    insert into allowance_warning (project_id, month, category)
      values (${projectId}, ${thisMonth}, ${category})
      on conflict do nothing returning category`.execute(tx);
  return rows.length > 0;
}
