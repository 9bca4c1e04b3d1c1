import { type RawBuilder, sql } from 'kysely';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import { deleteRampMail, insertRampMail, settleRamps } from './counts.ts';
import { passDays, type RampRow } from './ramps.ts';
import { domainOf } from '../../domain/email-address.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';
import { capOfDay, type OpenRamp, RampRooms, type RampedMail } from '../../domain/sender/ramp.ts';

/** Decides which claimed mail the ramps of a project let pass, in the transaction of the claim. */

/** A message that a ramp holds back. */
export interface HeldByRamp {
  emailId: string;
  rampId: string;
  until: Date;
}

/** A claimed message to decide about. */
export interface RampedEmail {
  id: string;
  from_email: string;
  message_class: string;
}

/** Decides which messages of one claim pass, in order. */
export class RampGate {
  readonly #rooms: RampRooms;
  readonly #counted: { rampId: string; emailId: string }[] = [];
  readonly held: HeldByRamp[] = [];

  constructor(ramps: readonly OpenRamp[]) {
    this.#rooms = new RampRooms(ramps);
  }

  /**
   * Returns true if the message must go to the next provider, because a ramp of this provider is
   * full.
   */
  isPassedOver(email: RampedEmail, providerId: string | null): boolean {
    return this.#rooms.isPassedOver(mailOf(email, providerId));
  }

  /** Returns true if the message passes, and counts it. If false, the message must wait. */
  admit(email: RampedEmail, providerId: string | null): boolean {
    const mail = mailOf(email, providerId);
    const ramp = this.#rooms.holding(mail);
    if (ramp) {
      this.held.push({ emailId: email.id, rampId: ramp.id, until: ramp.until });
      return false;
    }
    for (const { id: rampId } of this.#rooms.take(mail)) {
      this.#counted.push({ rampId, emailId: email.id });
    }
    return true;
  }

  /** Records the messages that have passed, so that later claims count them. */
  async record(tx: Database, attemptId: string): Promise<void> {
    await insertRampMail(tx, attemptId, this.#counted);
  }
}

function mailOf({ from_email: from, message_class }: RampedEmail, providerId: string | null) {
  return {
    senderDomain: domainOf(from),
    providerId,
    isTransactional: message_class === 'TRANSACTIONAL',
  } satisfies RampedMail;
}

/**
 * Locks the ramps of a project that may apply to the messages, until the transaction ends. So
 * claims of one project decide one after the other, and never exceed a limit together. Counts the
 * outcomes of earlier messages.
 */
export async function openRamps(
  tx: Database,
  projectId: string,
  emails: readonly RampedEmail[],
): Promise<RampGate> {
  const isAny = sql<boolean>`true`;
  return new RampGate(emails.length > 0 ? await lockOpenRamps(tx, projectId, emails, isAny) : []);
}

async function lockOpenRamps(
  tx: Database,
  projectId: string,
  emails: readonly RampedEmail[],
  isWanted: RawBuilder<boolean>,
): Promise<OpenRamp[]> {
  const domains = [...new Set(emails.map((email) => domainOf(email.from_email)))];
  const { rows } = await sql<RampRow & { now: Date }>`
    select ${columnList('ramp')}, clock_timestamp() as now from ramp
      where project_id = ${projectId} and status <> 'DONE' and ${isWanted}
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
  return open.map((ramp) => openRamp(ramp, used.get(ramp.id) ?? 0));
}

/**
 * Moves a claimed message in the counts of ramps from its previous provider to the next one
 * (`providerId`). Returns the time until which the message must wait, because a ramp of the next
 * provider lets no more pass; null: the message may be sent.
 */
export async function moveInRamps(
  tx: Database,
  move: { projectId: string; attemptId: string; email: RampedEmail; providerId: string },
): Promise<Date | null> {
  const { projectId, attemptId, email, providerId } = move;
  const ramps = await lockOpenRamps(tx, projectId, [email], sql`provider_id is not null`);
  await deleteRampMail(
    tx,
    email.id,
    ramps.flatMap((ramp) => (ramp.providerId === providerId ? [] : ramp.id)),
  );
  const gate = new RampGate(ramps);
  if (!gate.admit(email, providerId)) return gate.held[0]?.until ?? null;
  await gate.record(tx, attemptId);
  return null;
}

function openRamp(ramp: RampRow, used: number): OpenRamp {
  const { id, domain, status, factor, day } = ramp;
  const cap = capOfDay({ startPerDay: ramp.start_per_day, factor }, day);
  return {
    id,
    providerId: ramp.provider_id,
    domain,
    over: ramp.over === 'next' ? 'next' : 'hold',
    room: status === 'RUNNING' ? cap - used : null,
    until: ramp.day_ends_at ?? openEnd,
  };
}
