import { sql } from 'kysely';
import type { ChunkWait } from '../../campaigns/chunks.ts';
import { columnList } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { type ClaimedEmail, claimDueEmails, type EmailClaim } from '../../emails/emails.ts';
import { type HoldoutColumns, holdoutOf } from '../../projects/holdout.ts';
import { openRamps, type RampGate } from '../../ramps/admission.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { traceEntry } from '../../sql/mail-trace.ts';
import { withSuppressions } from '../../suppression/marks.ts';
import type { Withheld } from './claims.ts';
import {
  type Assigned,
  assignProviders,
  type ProviderChooser,
  recordAssigned,
  recordProviderWaits,
  type RoutableEmail,
  type Routed,
} from './provider-claims.ts';
import {
  isPoliced,
  type DueMail,
  decideSend,
  type MailRules,
  suppressionReason,
} from '../../../domain/mail/send-decision.ts';
import type { FrequencyCap, SendPolicy } from '../../../domain/mail/send-policy.ts';
import type { Suppression } from '../../../domain/mail/suppression.ts';
import { endOf, openEnd } from '../../../domain/outcomes/hold.ts';
import type { PolicyHold } from '../../../domain/outcomes/policy-holds.ts';
import { among, onlyRow } from '../../expressions.ts';

/**
 * Decides about claimed mail in the transaction of its claim, so that other transactions never see
 * the claim of a held message.
 */

type CheckedEmail = ClaimedEmail & { suppression: Suppression | null };

/**
 * Milliseconds after which `claimUnheldEmails` returns, even if it has found only mail that must be
 * held back.
 */
export const claimingMs = 5_000;

/**
 * Claims due messages of a project as `claimDueEmails` does, and returns those that its policy and
 * ramps let pass and a mail provider can take.
 * @param given.chooser null: all mail goes to the default provider
 */
export async function claimUnheldEmails(
  db: Database,
  given: EmailClaim & { chooser?: ProviderChooser | null },
): Promise<(CheckedEmail & Withheld & Routed)[]> {
  const { chooser = null } = given;
  const claim = async (tx: Database) =>
    withSuppressions(tx, given.projectId, await claimDueEmails(tx, given));
  if (!given.isPoliced && !chooser) return claim(db);
  const end = Date.now() + claimingMs;
  for (;;) {
    const { claimed, going } = await transact(db, async (tx) => {
      const emails = await claim(tx);
      const decided = await decideClaimed(tx, { ...given, chooser }, emails);
      await recordAssigned(tx, decided.assigned);
      await recordProviderWaits(tx, decided.waits);
      return { claimed: emails.length, going: decided.going };
    });
    if (going.length > 0 || claimed === 0 || Date.now() > end) return going;
  }
}

type Checked = DueMail & Withheld & RoutableEmail;

/** A message that must wait, and why. */
interface HeldMessage {
  id: string;
  reason: PolicyHold;
  until: Date;
  /** Set if a ramp holds the message. */
  rampId?: string;
}

/**
 * Decides about just claimed mail: holds back mail that the policy or a ramp does not let pass, and
 * chooses the providers of the rest. Returns the mail that goes to a provider, in order, and the
 * mail that waits for a provider. The caller records these waits and the `assigned` providers.
 * `withheld` is set in messages that must not be sent. Until the transaction ends, the policy and
 * the ramps cannot change, and no other transaction decides by these ramps. If the policy has caps,
 * no other transaction decides about these contacts.
 * @param claim.isPoliced false: no rule holds mail
 * @param claim.chooser null: all mail goes to the default provider
 */
export async function decideClaimed<E extends Checked>(
  tx: Database,
  claim: {
    projectId: string;
    attemptId: string;
    isPoliced?: boolean;
    chooser: ProviderChooser | null;
  },
  emails: readonly E[],
): Promise<{ going: (E & Routed)[]; waits: ChunkWait[]; assigned: Assigned[] }> {
  const { projectId, attemptId, isPoliced: hasRules = false, chooser } = claim;
  const { passed, held } = hasRules
    ? await applyPolicy(tx, claim, emails)
    : { passed: [...emails], held: [] };
  const gate = hasRules ? await openRamps(tx, projectId, passed.filter(isSendable)) : null;
  const decided = chooser
    ? assignProviders(chooser, passed, gate)
    : { going: passed.filter((email) => admits(gate, email)), waits: [], assigned: [] };
  if (!gate) return decided;
  await gate.record(tx, attemptId);
  for (const { emailId: id, rampId, until } of gate.held) {
    held.push({ id, reason: 'warm_up', until, rampId });
  }
  if (held.length > 0) await recordHolds(tx, held);
  return decided;
}

function admits(gate: RampGate | null, email: Checked): boolean {
  return !gate || !isSendable(email) || gate.admit(email, null);
}

/** Returns false if a message will not be given to a provider, so no ramp counts it. */
function isSendable(email: Checked): boolean {
  return !email.withheld && suppressionReason(email) === null;
}

/** Decides by the send policy which messages wait or must not be sent. */
async function applyPolicy<E extends Checked>(
  tx: Database,
  { projectId, attemptId }: { projectId: string; attemptId: string },
  emails: readonly E[],
): Promise<{ passed: E[]; held: HeldMessage[] }> {
  const policed = emails.filter(isPoliced);
  const contactIds = policed.map((email) => email.contact_id);
  if (policed.length === 0) return { passed: [...emails], held: [] };
  const known = await lockRules(tx, { projectId, attemptId, contactIds });
  const { now, counted } = known;
  const passed: E[] = [];
  const held: HeldMessage[] = [];
  for (const email of emails) {
    const mail = counted.get(email.contact_id) ?? [];
    const decision = decideSend(email, known, mail, now);
    if (decision.kind === 'hold') {
      held.push({ id: email.id, reason: decision.reason, until: decision.until });
      continue;
    }
    passed.push(decision.kind === 'suppress' ? { ...email, withheld: decision.reason } : email);
    if (decision.kind === 'send' && isPoliced(email)) counted.set(email.contact_id, [now, ...mail]);
  }
  return { passed, held };
}

/**
 * Returns the send policy and the hold-out of a project, the current time, and for each contact the
 * send times of the mail that counts for the caps, newest first. Mail that is being sent counts as
 * sent now. Until the transaction ends, the policy and the hold-out are locked against changes. If
 * the policy has caps, these contacts are locked against other decisions.
 */
async function lockRules(
  tx: Database,
  given: { projectId: string; attemptId: string; contactIds: readonly string[] },
): Promise<MailRules & { now: Date; counted: Map<string, Date[]> }> {
  const most = (field: string) =>
    sql`(select max((cap ->> ${sql.lit(field)})::int) from jsonb_array_elements(policy.caps) cap)`;
  const { rows } = await sql<{
    policy: SendPolicy | null;
    holdout: HoldoutColumns | null;
    now: Date;
    mail: { contact_id: string; sent_at: string | null }[] | null;
  }>`
    with policy as (
      select ${columnList('send_policy')} from send_policy
        where project_id = ${given.projectId} for share
    ), holding as (
      select ${columnList('holdout')} from holdout where project_id = ${given.projectId} for share
    )
    select case when policy.project_id is not null then jsonb_build_object('timeZone', policy.time_zone,
          'contactTimeZoneField', policy.contact_time_zone_field,
          'quietHours', policy.quiet_hours, 'caps', policy.caps, 'onCap', policy.on_cap) end as policy,
        to_jsonb(holding) as holdout,
        case when policy.caps <> '[]' then (
          select jsonb_agg(mail order by mail.sent_at desc nulls first)
            from lock_marketing_mail(${given.projectId}, ${given.contactIds}::uuid[],
              ${given.attemptId}, now() - make_interval(days => ${most('perDays')}),
              ${most('max')}) as mail) end as mail,
        clock_timestamp() as now
      from (values (true)) as always left join policy on true left join holding on true`.execute(
    tx,
  );
  const row = onlyRow(rows);
  const { policy, holdout, now } = row;
  const counted = new Map<string, Date[]>();
  for (const { contact_id: id, sent_at: at } of row.mail ?? []) {
    counted.set(id, [...(counted.get(id) ?? []), at === null ? now : new Date(at)]);
  }
  return { policy, holdout: holdout && holdoutOf(holdout), now, counted };
}

/**
 * Makes claimed messages, which were not given to the mail provider, wait again until their holds
 * end. Campaign messages leave their chunks until they are due.
 */
async function recordHolds(tx: Database, held: readonly HeldMessage[]): Promise<void> {
  const holds = held.map(({ rampId, until, ...hold }) => ({
    ...hold,
    // The ramp's run makes as much held mail due as each day allows.
    until: rampId === undefined ? until : openEnd,
    shown: endOf(until),
    ramp_id: rampId ?? null,
  }));
  const ids = held.map(({ id }) => id);
  const detail = sql`jsonb_build_object('reason', hold.reason, 'until', hold.shown)`;
  // A claimed row of a campaign does not show its claim: see `ChunkOrigin`.
  const trace = sql`case when email.status = 'SENDING' then email.trace - (-1) else email.trace end`;
  await sql`
    with waiting as (
      update email set
          status = 'PENDING', attempt_id = null, lease_until = null,
          attempts = email.attempts - case when email.status = 'SENDING' then 1 else 0 end,
          hold_reason = hold.reason, held_until = hold.until::timestamptz, ramp_id = hold.ramp_id,
          due_at = hold.until::timestamptz, updated_at = now(),
          trace = ${trace} || case when jsonb_path_query_array(email.trace,
                '$[*] ? (@.state == "held").detail') -> -1 is not distinct from ${detail}
              then '[]' else ${traceEntry('held', detail)} end
        from jsonb_to_recordset(${JSON.stringify(holds)}::jsonb)
          as hold(id uuid, reason text, until text, shown text, ramp_id uuid)
        where email.id = hold.id and ${among('email', ids)}
          and email.status in ('PENDING', 'SENDING')
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'waiting' }, ['queue'])}
    select from waiting`.execute(tx);
}

/**
 * Lists the send times of the mail to a contact that counts for the caps, newest first: at most as
 * many as the largest `max` of the caps.
 */
export async function listCountedMail(
  db: Database,
  contactId: string,
  caps: readonly FrequencyCap[],
): Promise<Date[]> {
  if (caps.length === 0) return [];
  const { rows } = await sql<{ sent_at: Date }>`
    select email.sent_at from email join contact on contact.id = email.contact_id
      where email.contact_id = ${contactId} and email.message_class = 'MARKETING'
        and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at is not null
        and email.status <> 'FAILED'
        and (email.source_type = 'CAMPAIGN' or email.to_email = contact.email)
      order by email.sent_at desc
      limit ${Math.max(...caps.map(({ max }) => max))}`.execute(db);
  return rows.map((row) => row.sent_at);
}
