import { sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { ContactRow } from '../contacts/contacts.ts';
import type { Database } from '../database.ts';
import { addressDomain } from '../expressions.ts';
import type { UtmValues } from '../../domain/links/utm.ts';
import type { StepMailSource } from '../../domain/workflow/steps/effects.ts';

interface StepMailQuery {
  projectId: string;
  contactId: string;
  templateId: string | null;
  /** The topic of the step; null: no topic; undefined: the template's topic. */
  topicId: string | null | undefined;
}

/**
 * Returns the rows from which a step's mail is made, in one statement: the contact, its project,
 * the template (null: it was deleted), the state of the template's sender domain, the UTM
 * parameters, and the topic (null: none, or it was deleted). Returns undefined when there is no
 * such contact.
 */
export async function findStepMail(tx: Database, given: StepMailQuery) {
  const row = await selectStepMail(tx, given);
  if (!row) return undefined;
  const {
    project_name: name,
    project_language: language,
    project_subscription: subscription,
    utm,
    utm_hosts: hosts,
    template_id: templateId,
    template_name: templateName,
    template_type: type,
    template_subject: subject,
    template_body: body,
    template_from_email: fromEmail,
    template_from_name: fromName,
    template_reply_to: replyTo,
    domain_status: domainStatus,
    topic_id: topicId,
    topic_key: topicKey,
    ...contact
  } = row;
  return {
    contact: contact as ContactRow,
    project: { id: given.projectId, name, language, subscription },
    template:
      templateId === null || type === null || subject === null || body === null
        ? null
        : { id: templateId, type, subject, body, fromEmail, fromName, replyTo },
    domainStatus,
    utm: { values: utm as UtmValues | null, hosts },
    templateName,
    topic: topicId === null || topicKey === null ? null : { id: topicId, key: topicKey },
  };
}

function selectStepMail(tx: Database, given: StepMailQuery) {
  return tx
    .selectFrom('contact')
    .innerJoin('project', 'project.id', 'contact.project_id')
    .leftJoin('template', (join) =>
      join
        .onRef('template.project_id', '=', 'contact.project_id')
        .on('template.id', '=', given.templateId),
    )
    .leftJoin('domain', (join) =>
      join
        .onRef('domain.project_id', '=', 'contact.project_id')
        .on('domain.name', '=', addressDomain(sql`template.from_email`)),
    )
    .leftJoin('topic', (join) =>
      join
        .onRef('topic.project_id', '=', 'contact.project_id')
        .on((eb) =>
          eb(
            'topic.id',
            '=',
            given.topicId === undefined ? eb.ref('template.topic_id') : given.topicId,
          ),
        ),
    )
    .select(columnsOf('contact'))
    .select([
      'project.name as project_name',
      'project.language as project_language',
      'project.subscription as project_subscription',
      'project.utm',
      'project.utm_hosts',
      'template.id as template_id',
      'template.name as template_name',
      'template.type as template_type',
      'template.subject as template_subject',
      'template.body as template_body',
      'template.from_email as template_from_email',
      'template.from_name as template_from_name',
      'template.reply_to as template_reply_to',
      'domain.status as domain_status',
      'topic.id as topic_id',
      'topic.key as topic_key',
    ])
    .where('contact.project_id', '=', given.projectId)
    .where('contact.id', '=', given.contactId)
    .executeTakeFirst();
}

/** The parts of mail that depend only on its template. */
export type TemplateMail = Pick<StepMailSource, 'template' | 'domainStatus'> & {
  topicId: string | null;
};

/**
 * Returns a template of a project with the state of its sender's domain, for a preview of its mail.
 */
export async function findTemplateMail(
  db: Database,
  projectId: string,
  templateId: string,
): Promise<TemplateMail> {
  const row = await db
    .selectFrom('template')
    .leftJoin('domain', (join) =>
      join
        .onRef('domain.project_id', '=', 'template.project_id')
        .on('domain.name', '=', addressDomain(sql`template.from_email`)),
    )
    .select([
      'template.id',
      'template.type',
      'template.subject',
      'template.body',
      'template.from_email as fromEmail',
      'template.from_name as fromName',
      'template.reply_to as replyTo',
      'template.topic_id as topicId',
      'domain.status as domainStatus',
    ])
    .where('template.project_id', '=', projectId)
    .where('template.id', '=', templateId)
    .executeTakeFirst();
  if (!row) return { template: null, domainStatus: null, topicId: null };
  const { domainStatus, topicId, ...template } = row;
  return { template, domainStatus, topicId };
}
