import { sql } from 'kysely';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import { insertRampMail, settleRamps } from './counts.ts';
import { passDays, type RampRow } from './ramps.ts';
import { domainOf } from '../../domain/email-address.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';
import { admitMail, capOfDay, type OpenRamp } from '../../domain/sender/ramp.ts';

/** Which claimed mail ramps let pass, decided in the transaction of the claim. */

/** A message that a ramp holds back. */
export interface HeldByRamp<E> {
  email: E;
  rampId: string;
  until: Date;
}

/**
 * Decides about claimed messages, in order. Records those that pass, so that they count from now on.
 * The ramps are locked until the transaction ends: claims of one project decide one after the other,
 * and never pass a limit together.
 */
export async function admitToRamps<
  E extends { id: string; from_email: string; message_class: string },
>(
  tx: Database,
  { projectId, attemptId }: { projectId: string; attemptId: string },
  emails: readonly E[],
): Promise<{ admitted: E[]; held: HeldByRamp<E>[] }> {
  const ramps = await lockOpenRamps(tx, projectId, emails);
  if (ramps.length === 0) return { admitted: [...emails], held: [] };
  const mail = emails.map((email) => ({
    senderDomain: domainOf(email.from_email),
    providerId: null,
    isTransactional: email.message_class === 'TRANSACTIONAL',
  }));
  const admissions = admitMail(mail, ramps);
  const admitted: E[] = [];
  const held: HeldByRamp<E>[] = [];
  const counted: { rampId: string; emailId: string }[] = [];
  for (const [index, email] of emails.entries()) {
    const admission = admissions[index];
    if (!admission) continue;
    if ('heldBy' in admission) {
      const { id: rampId, until } = admission.heldBy;
      held.push({ email, rampId, until });
    } else {
      admitted.push(email);
      counted.push(...admission.countedBy.map(({ id }) => ({ rampId: id, emailId: email.id })));
    }
  }
  await insertRampMail(tx, attemptId, counted);
  return { admitted, held };
}

/** Locks the ramps that may fit the messages, and counts what became of earlier ones. */
async function lockOpenRamps(
  tx: Database,
  projectId: string,
  emails: readonly { from_email: string }[],
): Promise<OpenRamp[]> {
  if (emails.length === 0) return [];
  const domains = [...new Set(emails.map((email) => domainOf(email.from_email)))];
  const { rows } = await sql<RampRow & { now: Date }>`
    select ${columnList('ramp')}, clock_timestamp() as now from ramp
      where project_id = ${projectId} and status <> 'DONE'
        and (domain is null or domain = any(${domains}::text[]))
      order by id for update`.execute(tx);
  const open: RampRow[] = [];
  for (const row of rows) {
    const ramp = await passDays(tx, row, row.now);
    if (ramp.status !== 'DONE') open.push(ramp);
  }
  if (open.length === 0) return [];
  const used = await settleRamps(
    tx,
    open.map(({ id }) => id),
  );
  return open.map((ramp) => {
    const { id, domain, status, day, day_ends_at: endsAt } = ramp;
    const cap = capOfDay({ startPerDay: ramp.start_per_day, factor: ramp.factor }, day);
    const room = status === 'RUNNING' ? cap - (used.get(id) ?? 0) : null;
    return { id, providerId: ramp.provider_id, domain, room, until: endsAt ?? openEnd };
  });
}
