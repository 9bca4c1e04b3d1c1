import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { hasAddressKey, isSenderGone } from '../../sql/mail-claims.ts';
import { hasLeftTopic } from '../../sql/topic-choices.ts';
import { withSuppressions } from '../../suppression/marks.ts';
import { suppressionReason } from '../../../domain/mail/send-decision.ts';

/** Claimed messages of one project. Those of a campaign are claimed with one of its chunks. */
export interface ClaimedIds {
  projectId: string;
  campaignId: string | null;
  emailIds: readonly string[];
}

/**
 * Returns the ids of claimed messages that must no longer be given to the mail provider. Since the
 * claim, for example the campaign was paused or cancelled, the project was disabled, or the contact
 * has opted out or was deleted. Release the claim of these messages: the next claim finds the
 * reason.
 */
export async function listStopped(
  db: Database,
  { projectId, campaignId, emailIds }: ClaimedIds,
): Promise<string[]> {
  // The rows of messages that are claimed with a chunk stay PENDING.
  const isClaimed = campaignId
    ? sql`mail.status = 'PENDING'
        and exists (select from campaign where id = ${campaignId} and status = 'SENDING')`
    : sql`mail.status = 'SENDING'`;
  const { rows } = await sql<ClaimedMail>`
    select mail.id, mail.to_email, mail.message_class, mail.source_type,
        receiver.email as contact_email, receiver.subscribed as contact_subscribed,
        receiver.project_id <> mail.project_id as contact_gone,
        project.disabled_reason is not null as project_disabled,
        ${isSenderGone('mail')} as sender_gone,
        ${hasLeftTopic(sql`mail.contact_id`, sql`mail.topic_id`)} as topic_left,
        case when mail.opt_in_id is not null then coalesce(
          (select state from opt_in where opt_in.id = mail.opt_in_id), 'gone') end as opt_in_state,
        ${hasAddressKey(projectId)} as has_suppressions
      from email mail
      join contact receiver on receiver.id = mail.contact_id
      join project on project.id = mail.project_id
      where mail.id = any(${emailIds}::uuid[]) and mail.project_id = ${projectId}
        and ${isClaimed}`.execute(db);
  const claimed = await withSuppressions(db, projectId, rows);
  const wanted = claimed.filter((mail) => suppressionReason(mail) === null);
  const going = new Set(wanted.map(({ id }) => id));
  return emailIds.filter((id) => !going.has(id));
}

interface ClaimedMail {
  id: string;
  to_email: string;
  message_class: string;
  source_type: string;
  contact_email: string;
  contact_subscribed: boolean;
  contact_gone: boolean;
  project_disabled: boolean;
  sender_gone: boolean;
  topic_left: boolean;
  opt_in_state: string | null;
  has_suppressions: boolean;
}
