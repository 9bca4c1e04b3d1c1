import { sql } from 'kysely';
import { noEvidence, recordConsentOfProjects } from '../../../consent/log.ts';
import { endOptIns } from '../../../consent/opt-ins.ts';
import type { Database } from '../../../database.ts';
import type { ProjectEvent } from '../../events/record-events.ts';
import type { FeedbackEffects } from '../../../../domain/mail/feedback.ts';

interface Unsubscribing {
  email: { id: string; contact_id: string; to_email: string };
  unsubscribes: FeedbackEffects['unsubscribes'];
}

interface Gone {
  contactId: string;
  projectId: string;
  emailId: string;
  source: NonNullable<FeedbackEffects['unsubscribes']>;
}

/**
 * Unsubscribes contacts whose address bounced or complained, or who have opted out at a mail
 * service. A contact that has another address by now stays subscribed.
 * @returns the events to record: only an opt-out has one, because the contact asked for it
 */
export async function unsubscribe(
  tx: Database,
  changes: readonly Unsubscribing[],
): Promise<ProjectEvent[]> {
  const gone = changes.filter(({ unsubscribes }) => unsubscribes);
  if (gone.length === 0) return [];
  const own = sql`
    unnest(${gone.map(({ email }) => email.contact_id)}::uuid[],
        ${gone.map(({ email }) => email.to_email)}::text[],
        ${gone.map(({ unsubscribes }) => unsubscribes)}::text[],
        ${gone.map(({ email }) => email.id)}::uuid[]) as gone(id, email, source, email_id)
      where contact.id = gone.id and contact.email = gone.email`;
  const row = sql`contact.id as "contactId", project_id as "projectId", gone.source,
    gone.email_id as "emailId"`;
  const { rows } = await sql<Gone>`
    update contact set subscribed = false, updated_at = now() from ${own} and subscribed
      returning ${row}`.execute(tx);
  const lines = rows.map((one) => ({ ...one, action: 'withdrawn' as const, topic: null }));
  await recordConsentOfProjects(tx, lines, noEvidence);
  const { rows: pending } = await sql<Gone>`
    select ${row} from contact, ${own} and consent = 'pending'`.execute(tx);
  const logged = new Set(rows.map(({ contactId }) => contactId));
  const ended = pending.map((one) => ({ ...one, isLogged: logged.has(one.contactId) }));
  await endOptIns(tx, ended, noEvidence);
  return rows.flatMap(({ projectId, contactId, emailId, source }) =>
    source === 'provider'
      ? { projectId, contactId, emailId, name: 'contact.unsubscribed', data: { source, emailId } }
      : [],
  );
}
