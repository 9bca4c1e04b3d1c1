import { sql } from 'kysely';
import { lockContacts } from '../../contacts/contacts.ts';
import { type Database, limitLockWaits, transact } from '../../database.ts';
import {
  deleteSurplus,
  type DueMail,
  type EngagementRow,
  findDue,
  listAroundDue,
  summariseVerdicts,
  updateVerdicts,
  type VerdictSummary,
} from '../../engagement/engagement.ts';
import { countLinkClicks, type JudgedClick } from '../../engagement/links.ts';
import { anyOf } from '../../expressions.ts';
import { changingMoments, momentChanges } from '../../sql/mail-moments.ts';
import { type ProjectEvent, recordEventsOfProjects } from '../events/record-events.ts';
import { emailEventData } from '../mail/record-feedback.ts';
import {
  allLinksSeconds,
  headSeconds,
  type Judgement,
  judgeMail,
  type Verdict,
} from '../../../domain/engagement/verdict.ts';

/**
 * Gives opens and clicks their verdicts, a few seconds after they were recorded, and revises them
 * within an hour.
 */

/** Milliseconds that a transaction waits for a lock: with several projects, and with one. */
const sharedLockMs = 200;
const ownLockMs = 1_000;

/** Another verdict on an open or click; `before` is null for the first. */
interface VerdictChange {
  mail: LockedMail;
  row: EngagementRow;
  before: Verdict | null;
  after: Judgement;
}

/** Returns true when the caller wants to stop. */
type Stop = () => boolean;

/**
 * Called with the messages of a project whose opens and clicks could not be judged, because their
 * transaction failed. These opens and clicks stay due.
 */
export type ReportFailure = (error: unknown, emailIds: readonly string[]) => void;

/**
 * Gives all due opens and clicks their verdicts, in transactions of at most 500: an equal number
 * for each project that has some. If another transaction has locked a message or its contact, the
 * opens and clicks of this message wait for the next call.
 */
export async function settleDue(db: Database, fail: ReportFailure, isLate: Stop): Promise<void> {
  for (let settled = 1; settled > 0 && !isLate();) {
    settled = 0;
    for (let after: string | null = null; !isLate();) {
      const page = await findDue(db, after);
      settled += await settlePage(db, page.mails, fail);
      after = page.last;
      if (after === null) break;
    }
  }
}

/**
 * Judges opens and clicks of many projects in one transaction. If this transaction fails, each
 * project gets a transaction of its own.
 */
async function settlePage(
  db: Database,
  mails: readonly DueMail[],
  fail: ReportFailure,
): Promise<number> {
  if (mails.length === 0) return 0;
  try {
    return await settleMails(db, mails, sharedLockMs);
  } catch {
    let settled = 0;
    for (const own of groupBy(mails, ({ projectId }) => projectId).values()) {
      try {
        settled += await settleMails(db, own, ownLockMs);
      } catch (error) {
        const ids = own.map(({ id }) => id);
        fail(error, ids);
      }
    }
    return settled;
  }
}

/**
 * Gives the due opens and clicks of messages their verdicts in one transaction. Locks are taken in
 * the order of `recordFeedback`: contacts, messages, campaigns. The lock of a message also protects
 * its opens and clicks.
 * @returns number of verdicts that were due
 */
function settleMails(db: Database, due: readonly DueMail[], lockMs: number): Promise<number> {
  return transact(db, async (tx) => {
    await limitLockWaits(tx, lockMs);
    const mails = await lockMails(tx, due);
    if (mails.length === 0) return 0;
    const ids = mails.map(({ id }) => id);
    const rows = await listAroundDue(tx, ids, headSeconds + allLinksSeconds);
    const byMail = groupBy(rows, ({ emailId }) => emailId);
    const changes = mails.flatMap((mail) => changesOf(mail, byMail.get(mail.id) ?? []));
    const settled = rows.filter(({ isDue }) => isDue);
    await updateVerdicts(tx, verdictsOf(settled, changes));
    if (changes.length > 0) await applyChanges(tx, changes);
    await deleteSurplus(tx, ids);
    return settled.length;
  });
}

type LockedMail = Awaited<ReturnType<typeof lockMails>>[number];

/** Locks messages and their contacts, except those that other transactions have locked. */
async function lockMails(tx: Database, mails: readonly DueMail[]) {
  const contactIds = mails.map(({ contactId }) => contactId);
  const contacts = new Set(await lockContacts(tx, contactIds, { skipsLocked: true }));
  const free = mails.filter(({ contactId }) => contacts.has(contactId)).map(({ id }) => id);
  return tx
    .selectFrom('email')
    .select(['id', 'project_id', 'contact_id', 'campaign_id', 'template_id', 'source_type'])
    .select(['subject', 'from_email', 'from_name', 'message_id', 'sent_at', 'delivered_at'])
    .select(['human_opened_at', 'human_clicked_at', 'opened_by_machines', 'clicked_by_machines'])
    .where('id', '=', anyOf(free))
    .orderBy('id')
    .forUpdate()
    .skipLocked()
    .execute();
}

/**
 * Returns the changed verdicts of a message: on due opens and clicks, and on recent ones that now
 * turn out to be by machines.
 */
function changesOf(mail: LockedMail, rows: readonly EngagementRow[]): VerdictChange[] {
  const judgements = judgeMail(rows, mail.delivered_at ?? mail.sent_at);
  return rows.flatMap((row, index) => {
    const after = judgements[index];
    const { verdict: before } = row;
    if (!after || before === after.verdict) return [];
    const isFirst = before === null && row.isDue;
    const isRevised = before !== null && after.verdict === 'machine' && row.mayBeRevised;
    return isFirst || isRevised ? [{ mail, row, before, after }] : [];
  });
}

/** Returns the rows to store: the changes, and due opens and clicks whose verdict stays. */
function verdictsOf(due: readonly EngagementRow[], changes: readonly VerdictChange[]) {
  const changed = new Map(changes.map(({ row, after }) => [row.id, { ...row, ...after }]));
  const same = due.filter(({ id }) => !changed.has(id));
  return [...changed.values(), ...same];
}

/** The columns of a message that verdicts determine. */
interface HumanState {
  human_opened_at: Date | null;
  human_clicked_at: Date | null;
  opened_by_machines: boolean;
  clicked_by_machines: boolean;
}

interface MailChange {
  mail: LockedMail;
  state: HumanState;
}

/** Writes what follows from verdicts: messages, events and campaigns. */
async function applyChanges(tx: Database, changes: readonly VerdictChange[]): Promise<void> {
  const byMail = [...groupBy(changes, ({ mail }) => mail)];
  const ids = byMail.map(([{ id }]) => id);
  const summaries = groupBy(await summariseVerdicts(tx, ids), ({ emailId }) => emailId);
  const states = byMail.map(([mail, own]) => ({
    mail,
    state: stateOf(
      mail,
      summaries.get(mail.id) ?? [],
      own.filter(({ before }) => before === 'human'),
    ),
  }));
  await updateMails(
    tx,
    states.filter(({ mail, state }) => hasChanged(mail, state)),
  );
  const events = byMail.flatMap(([, own]) => eventsOf(own));
  if (events.length > 0) await recordEventsOfProjects(tx, events);
  // Locks campaigns late, because every attempt of a campaign waits for this lock.
  await countForCampaigns(tx, states);
  await countLinkClicks(tx, changes.flatMap(clickOf));
}

function clickOf({ row, before, after }: VerdictChange): JudgedClick[] {
  const { emailId, kind, linkId, link, at } = row;
  if (kind !== 'click' || linkId === null || link === null) return [];
  return [{ emailId, linkId, link, at, was: before, verdict: after.verdict }];
}

/**
 * Returns the columns of a message after its verdicts have changed.
 * @param revised verdicts that were human, and are no longer
 */
function stateOf(
  mail: LockedMail,
  summaries: readonly VerdictSummary[],
  revised: readonly VerdictChange[],
): HumanState {
  const of = (kind: 'open' | 'click') => summaries.find((one) => one.kind === kind);
  const firstOf = (kind: 'open' | 'click', known: Date | null) => {
    const stored = of(kind)?.humanAt ?? null;
    // The first request may be deleted, because a message keeps a limited number.
    const isKept = known !== null && !revised.some(({ row }) => row.kind === kind);
    return isKept && (stored === null || known < stored) ? known : stored;
  };
  return {
    human_opened_at: firstOf('open', mail.human_opened_at),
    human_clicked_at: firstOf('click', mail.human_clicked_at),
    opened_by_machines: of('open')?.isByMachines ?? mail.opened_by_machines,
    clicked_by_machines: of('click')?.isByMachines ?? mail.clicked_by_machines,
  };
}

function hasChanged(mail: LockedMail, state: HumanState): boolean {
  return (
    mail.human_opened_at?.getTime() !== state.human_opened_at?.getTime() ||
    mail.human_clicked_at?.getTime() !== state.human_clicked_at?.getTime() ||
    mail.opened_by_machines !== state.opened_by_machines ||
    mail.clicked_by_machines !== state.clicked_by_machines
  );
}

async function updateMails(tx: Database, changes: readonly MailChange[]): Promise<void> {
  if (changes.length === 0) return;
  const given = changes.map(({ mail, state }) => ({ id: mail.id, ...state }));
  const moments = changes.flatMap(({ mail, state }) => momentChanges(mail, state));
  await sql`
    with changed as (
      update email set human_opened_at = given.human_opened_at,
          human_clicked_at = given.human_clicked_at,
          opened_by_machines = given.opened_by_machines,
          clicked_by_machines = given.clicked_by_machines, updated_at = now()
        from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given(id uuid,
          human_opened_at timestamptz, human_clicked_at timestamptz, opened_by_machines boolean,
          clicked_by_machines boolean)
        where email.id = given.id
    ), ${changingMoments(moments)}
    select`.execute(tx);
}

/** Returns an event for each open or click of a message that was judged to be by a person. */
function eventsOf(changes: readonly VerdictChange[]): ProjectEvent[] {
  const first = { open: true, click: true };
  return changes
    .filter(({ before, after }) => before === null && after.verdict === 'human')
    .toSorted((a, b) => a.row.at.getTime() - b.row.at.getTime())
    .map(({ mail, row }) => {
      const at = row.at.toISOString();
      const isClick = row.kind === 'click';
      const known = isClick ? mail.human_clicked_at : mail.human_opened_at;
      const kind = isClick ? 'click' : 'open';
      const isFirst = known === null && first[kind];
      first[kind] = false;
      return {
        projectId: mail.project_id,
        contactId: mail.contact_id,
        emailId: mail.id,
        name: isClick ? 'email.human_click' : 'email.human_open',
        data: {
          ...emailEventData(mail, mail.message_id),
          ...(isClick ? { clickedAt: at, link: row.link, linkId: row.linkId } : { openedAt: at }),
          isFirst,
        },
      };
    });
}

const counters = [
  ['human_opened_count', (one: HumanState) => one.human_opened_at !== null],
  ['human_clicked_count', (one: HumanState) => one.human_clicked_at !== null],
  ['machine_opened_count', (one: HumanState) => one.opened_by_machines],
  ['machine_clicked_count', (one: HumanState) => one.clicked_by_machines],
] as const;

/** Counts the changes for the campaigns, one after the other by id. */
async function countForCampaigns(tx: Database, changes: readonly MailChange[]): Promise<void> {
  const byCampaign = groupBy(changes, ({ mail }) => mail.campaign_id ?? '');
  byCampaign.delete('');
  for (const id of [...byCampaign.keys()].toSorted()) {
    const own = byCampaign.get(id)!;
    const more = counters.map(([name, counts]) => {
      const count = (pick: (one: MailChange) => HumanState) =>
        own.filter((one) => counts(pick(one))).length;
      return [name, count(({ state }) => state) - count(({ mail }) => mail)] as const;
    });
    const changed = more.filter(([, count]) => count !== 0);
    if (changed.length === 0) continue;
    await tx
      .updateTable('campaign')
      .set(
        Object.fromEntries(
          changed.map(([name, count]) => [name, sql<number>`${sql.ref(name)} + ${count}::int`]),
        ),
      )
      .where('id', '=', id)
      .execute();
  }
}

/** Groups items by a key, in order. */
function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
