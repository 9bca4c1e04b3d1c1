import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import { findProject } from '../../db/projects/projects.ts';
import { findTemplate } from '../../db/templates/templates.ts';
import { findTopic } from '../../db/topics/topics.ts';
import { confirmUrl } from '../../domain/consent/confirm-link.ts';
import { usesConfirmUrl } from '../../domain/consent/policy.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { found, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { completeMail, localeOf, optOutUrls } from '../../domain/mail/content.ts';
import type { MessageClass } from '../../domain/mail/headers.ts';
import { wrapDocument } from '../../domain/template/html.ts';
import { compileTemplate, type TemplateVariables } from '../../domain/template/render.ts';
import { findMailWarnings, warningCodes } from '../../domain/template/warnings.ts';
import { textFromHtml } from '../../providers/mail/mime.ts';
import { GivenContact } from '../contacts/given.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import { ContactData, fault, named, Subject, Uuid, ById } from '../http/schemas.ts';
import { TemplateType } from './record.ts';

const reader = {
  contactId: Uuid.optional(),
  contact: GivenContact.optional(),
  data: ContactData.describe('One-time values, as in /v1/send'),
};

const hasOneReader = ({ contactId, contact }: { contactId?: unknown; contact?: unknown }) =>
  contactId === undefined || contact === undefined;
const twoReaders = {
  path: ['contact'],
  ...fault('not_allowed', 'Send either `contactId` or `contact`, not both.'),
  ...whenRight('contactId', 'contact'),
};

const Reader = z.object(reader).refine(hasOneReader, twoReaders);

const WrittenTemplate = z
  .object({
    subject: Subject,
    body: z.string().min(1),
    type: TemplateType.default('TRANSACTIONAL'),
    ...reader,
  })
  .refine(hasOneReader, twoReaders);

/** Warnings about a mail before it is sent. */
export const TemplateWarnings = z
  .array(
    z.object({
      code: z.enum(warningCodes),
      message: z.string(),
      line: z.int().nullable(),
      column: z.int().nullable(),
    }),
  )
  .describe('At most 100');

const Preview = named('TemplatePreview', {
  subject: z.string(),
  html: z.string().describe('The document as it would be sent, without tracking'),
  text: z.string(),
  bytes: z.int().describe('Size of the HTML'),
  warnings: TemplateWarnings,
});

const previewExample = {
  subject: 'Hi there',
  html: '<!doctype html>…<p>Welcome, !</p>…',
  text: 'Welcome, !',
  bytes: 412,
  warnings: [
    {
      code: 'unknown_variable',
      message: 'There is no variable "nmae": it is rendered as empty text.',
      line: 1,
      column: 13,
    },
  ],
};

const meaning =
  'Renders the mail as it would be sent to a contact of the project, to one in the request, ' +
  'or without a contact. Nothing is stored or sent. A template that cannot be rendered is no ' +
  'error: as in real mail, only `{{key}}` and `{{key ?? text}}` are replaced, and a warning ' +
  'has the line. ';

export const previewTemplate = endpoint({
  id: 'previewTemplate',
  method: 'POST',
  path: '/templates/preview',
  summary: 'Render a template that is not saved, with its warnings',
  description: `${meaning}CONTACT_NOT_FOUND: the project has no contact \`contactId\`.`,
  access: 'secret',
  wrapped: true,
  bodyBytesMax: limits.contentBodyBytes,
  body: WrittenTemplate,
  response: Preview,
  problems: ['CONTACT_NOT_FOUND'],
  example: {
    body: { subject: 'Hi {{name ?? there}}', body: '<p>Welcome, {{nmae}}!</p>' },
    response: previewExample,
  },
  async handle(call) {
    return previewOf(call, call.caller.projectId, call.body, call.body);
  },
});

export const previewStoredTemplate = endpoint({
  id: 'previewStoredTemplate',
  method: 'POST',
  path: '/templates/{id}/preview',
  summary: 'Render a template, with its warnings',
  description: `${meaning}TEMPLATE_NOT_FOUND, CONTACT_NOT_FOUND: the project has no such template, or no such contact.`,
  access: 'secret',
  wrapped: true,
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  body: Reader,
  response: Preview,
  problems: ['TEMPLATE_NOT_FOUND', 'CONTACT_NOT_FOUND'],
  example: {
    body: { contact: { email: 'ada@shop.example', data: { name: 'Ada' } } },
    response: previewExample,
  },
  async handle(call) {
    const { projectId } = call.caller;
    const { id } = call.params;
    const template = found('TEMPLATE', id, await findTemplate(call.db, projectId, id));
    return previewOf(call, projectId, template, call.body);
  },
});

async function previewOf(
  { db, config, renderer }: Pick<Services, 'db' | 'config' | 'renderer'>,
  projectId: string,
  template: { subject: string; body: string; type: string; topic_id?: string | null },
  given: z.output<typeof Reader>,
): Promise<z.input<typeof Preview>> {
  const project = found('PROJECT', projectId, await findProject(db, projectId));
  const contact = await contactOf(db, projectId, given);
  const topic = template.topic_id && (await findTopic(db, projectId, template.topic_id));
  const { set, oneTime } = planContactData(given.data);
  const data = { ...set, ...oneTime };
  const variables: TemplateVariables = {
    owner: projectId,
    contact,
    given: data,
    locale: localeOf({ ...contact.data, ...data }, project.language),
    urls: optOutUrls(config.apiUrl, contact.id, randomUUID(), topic ? topic.key : null),
    // A template that uses the confirmation link is shown as in a confirmation mail.
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
  const bytes = Buffer.byteLength(html);
  const rendered = { subject, body };
  const warnings = await findMailWarnings(renderer, template, {
    rendered,
    variables,
    messageClass,
    html,
  });
  return { subject: content.subject, html, text: textFromHtml(html), bytes, warnings };
}

/**
 * Returns the contact of a request: one of the project, an invented one, or by default one without
 * address and data. Each has an id, because the opt-out links need it.
 * @throws Problem CONTACT_NOT_FOUND
 */
async function contactOf(
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
