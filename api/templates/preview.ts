import { z } from 'zod';
import { findTemplate } from '../../db/templates/templates.ts';
import { found } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { findMailWarnings, warningCodes } from '../../domain/template/warnings.ts';
import { textFromHtml } from '../../providers/mail/mime.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import { named, Subject, ById } from '../http/schemas.ts';
import { TemplateType } from './input.ts';
import {
  contactOf,
  hasOneReader,
  Reader,
  readerFields,
  renderFor,
  twoReaders,
} from './rendering.ts';

const WrittenTemplate = z
  .object({
    subject: Subject,
    body: z.string().min(1),
    type: TemplateType.default('TRANSACTIONAL'),
    ...readerFields,
  })
  .refine(hasOneReader, twoReaders);

/** Warnings about the mail that a template would become. */
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
  services: Pick<Services, 'db' | 'config' | 'renderer'>,
  projectId: string,
  template: Parameters<typeof renderFor>[2],
  given: z.output<typeof Reader>,
): Promise<z.input<typeof Preview>> {
  const contact = await contactOf(services.db, projectId, given);
  const { subject, html, ...facts } = await renderFor(services, projectId, template, {
    contact,
    data: given.data,
  });
  const bytes = Buffer.byteLength(html);
  const warnings = await findMailWarnings(services.renderer, template, { ...facts, html });
  return { subject, html, text: textFromHtml(html), bytes, warnings };
}
