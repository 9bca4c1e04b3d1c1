import { sql } from 'kysely';
import { noEvidence } from '../../consent/log.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { recordContact } from '../contacts/record-contact.ts';
import { recordEvents } from '../events/record-events.ts';
import type { Category } from '../../../domain/billing.ts';
import { planContactData } from '../../../domain/contact/data.ts';
import { systemActor } from '../../../domain/access/actor.ts';
import { domainOf } from '../../../domain/email-address.ts';
import type { InboundMail, ReceivedMail } from '../../../domain/mail/inbound.ts';

/** A recipient of a mail, with the project that gets it. */
export interface Receiver {
  projectId: string;
  /** True if the project requires opt-in, so new contacts are not subscribed. */
  isAsked: boolean;
  /** The address, in its stored form. */
  to: string;
}

/**
 * Records a mail that a provider reports in the caller's transaction, once for each recipient whose
 * domain is verified in a project.
 */
export async function recordInboundMail(tx: Database, mail: InboundMail): Promise<void> {
  await recordReceived(tx, await findReceivers(tx, mail.recipients), mail);
}

/**
 * Records a received mail in the caller's transaction, once for each of its recipients: its sender
 * as a contact, the message, and the event. A recipient that has the mail already is left out.
 */
export async function recordReceived(
  tx: Database,
  receivers: readonly Receiver[],
  mail: ReceivedMail,
): Promise<void> {
  for (const { projectId, isAsked, to } of receivers) {
    const { contact } = await recordContact(tx, projectId, {
      email: mail.from,
      // A person who has only written has not confirmed that they want mail.
      subscribedWhenNew: !isAsked,
      data: planContactData(undefined),
      origin: { ...noEvidence, source: 'inbound' },
    });
    const emailId = await insertReceived(tx, projectId, contact.id, to, mail);
    if (!emailId) continue;
    const data = {
      messageId: mail.messageId,
      from: mail.from,
      to,
      subject: mail.subject,
      hasContent: mail.body !== null,
      body: mail.body,
      ...mail.report,
    };
    const event = { contactId: contact.id, emailId, name: 'email.received', data };
    await recordEvents(tx, projectId, [event], { contactsLocked: true });
  }
}

/**
 * Returns the recipients whose domain is verified in a project. The order is fixed, so that two
 * mails that arrive at once do not deadlock.
 * @param options.mustTakeMail true if a domain must also have chosen to take mail
 */
export async function findReceivers(
  db: Database,
  recipients: readonly string[],
  { mustTakeMail = false } = {},
): Promise<Receiver[]> {
  const domains = await db
    .selectFrom('domain')
    .innerJoin('project', 'project.id', 'domain.project_id')
    .select(['project_id as projectId', 'domain.name', 'project.opt_in_required as isAsked'])
    .where('status', '=', 'verified')
    .$if(mustTakeMail, (query) => query.where('inbound', '=', true))
    .where('domain.name', '=', anyOf(recipients.map(domainOf), 'text'))
    .execute();
  const projects = new Map(domains.map(({ name, ...project }) => [name, project]));
  return [...new Set(recipients)]
    .flatMap((to) => {
      const project = projects.get(domainOf(to));
      return project ? [{ ...project, to }] : [];
    })
    .sort((a, b) => (`${a.projectId} ${a.to}` < `${b.projectId} ${b.to}` ? -1 : 1));
}

async function insertReceived(
  tx: Database,
  projectId: string,
  contactId: string,
  to: string,
  mail: ReceivedMail,
): Promise<string | undefined> {
  const inserting = tx
    .insertInto('email')
    .values({
      project_id: projectId,
      contact_id: contactId,
      // From the project's view: `from` is its own address, `to` the other side.
      from_email: to,
      to_email: mail.from,
      to_name: mail.fromName,
      subject: mail.subject,
      body: mail.body,
      message_class: 'TRANSACTIONAL',
      source_type: 'INBOUND',
      caused_by: systemActor('inbound'),
      status: 'RECEIVED',
      message_id: mail.messageId,
      received_id: mail.messageId,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['received_id', 'from_email'])
        .where('received_id', 'is not', null)
        .doNothing(),
    );
  // Received mail is stored even over the limit, and added to the use of the month, if that is
  // counted already.
  const { rows } = await sql<{ id: string }>`
    with made as (
      ${inserting} returning email.id, email.billed_units
    ), counted as (
      update allowance set taken = taken + made.billed_units from made
        where allowance.project_id = ${projectId} and category = ${'inbound' satisfies Category}
          and month = date_trunc('month', now() at time zone 'UTC')::date
    )
    select id from made`.execute(tx);
  return rows[0]?.id;
}
