import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import { findProject } from '../../db/projects/projects.ts';
import { findTopic } from '../../db/topics/topics.ts';
import { confirmUrl } from '../../domain/consent/confirm-link.ts';
import { usesConfirmUrl } from '../../domain/consent/policy.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { found, whenRight } from '../../domain/errors.ts';
import { completeMail, localeOf, optOutUrls } from '../../domain/mail/content.ts';
import type { MessageClass } from '../../domain/mail/headers.ts';
import { wrapDocument } from '../../domain/template/html.ts';
import { compileTemplate, type TemplateVariables } from '../../domain/template/render.ts';
import { GivenContact } from '../contacts/given.ts';
import { ContactData, fault, Uuid } from '../http/schemas.ts';
import type { Services } from '../services/services.ts';

/** Renders templates for a request as mail to a contact, without sending it. */

/** The fields of a request that select the contact for whom a template is rendered. */
export const readerFields = {
  contactId: Uuid.optional(),
  contact: GivenContact.optional(),
  data: ContactData.describe('One-time values, as in /v1/send'),
};

export const hasOneReader = ({ contactId, contact }: { contactId?: unknown; contact?: unknown }) =>
  contactId === undefined || contact === undefined;
export const twoReaders = {
  path: ['contact'],
  ...fault('not_allowed', 'Send either `contactId` or `contact`, not both.'),
  ...whenRight('contactId', 'contact'),
};

export const Reader = z.object(readerFields).refine(hasOneReader, twoReaders);

interface GivenTemplate {
  subject: string;
  body: string;
  type: string;
  topic_id?: string | null;
}

/**
 * Renders a template as a mail to a contact. An error of the template is returned in `rendered`.
 * @param given.data one-time values, as in /v1/send
 */
export async function renderFor(
  { db, config, renderer }: Pick<Services, 'db' | 'config' | 'renderer'>,
  projectId: string,
  template: GivenTemplate,
  given: { contact: TemplateVariables['contact']; data: z.output<typeof ContactData> },
) {
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  const { contact } = given;
  const topic = template.topic_id && (await findTopic(db, projectId, template.topic_id));
  const { set, oneTime } = planContactData(given.data);
  const data = { ...set, ...oneTime };
  const variables: TemplateVariables = {
    owner: projectId,
    contact,
    given: data,
    locale: localeOf({ ...contact.data, ...data }, project.language),
    urls: optOutUrls(config.apiUrl, contact.id, randomUUID(), topic ? topic.key : null),
    // A template with the confirmation link is shown as in a confirmation mail.
    ...(template.type === 'TRANSACTIONAL' &&
      usesConfirmUrl(template.body) && {
        optIn: { confirmUrl: confirmUrl(config.apiUrl, '***'), confirmTopics: [] },
      }),
  };
  const [subject, body] = await Promise.all([
    renderer.render('subject', compileTemplate(template.subject), variables),
    renderer.render('html', compileTemplate(template.body), variables),
  ]);
  const messageClass = template.type as MessageClass;
  const content = completeMail(
    {
      messageClass,
      sourceType: 'TRANSACTIONAL',
      variables,
      hasBadge: config.billing !== null && project.subscription === null,
    },
    subject.text,
    body.text,
  );
  const html = wrapDocument(content.body, variables.locale);
  const rendered = { subject, body };
  return { subject: content.subject, html, rendered, variables, messageClass };
}

/**
 * Returns the contact in a request: a contact of the project, an example contact, or by default a
 * contact without address and data. Each contact has an id, because opt-out links contain it.
 * @throws Problem CONTACT_NOT_FOUND
 */
export async function contactOf(
  db: Services['db'],
  projectId: string,
  { contactId, contact }: z.output<typeof Reader>,
): Promise<TemplateVariables['contact']> {
  if (contactId !== undefined) {
    return found('CONTACT', contactId, await findContact(db, projectId, contactId));
  }
  if (!contact) return { id: randomUUID(), email: '', subscribed: true, data: null };
  const { email, subscribed, data } = contact;
  return { id: randomUUID(), email, subscribed, data: planContactData(data).set };
}
