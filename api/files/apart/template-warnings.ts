import { randomUUID } from 'node:crypto';
import { confirmUrl } from '../../../domain/consent/confirm-link.ts';
import { usesConfirmUrl } from '../../../domain/consent/policy.ts';
import { completeMail, optOutUrls } from '../../../domain/mail/content.ts';
import type { MessageClass } from '../../../domain/mail/headers.ts';
import { wrapDocument } from '../../../domain/template/html.ts';
import { inspectTemplate } from '../../../domain/template/inspect.ts';
import {
  compileTemplate,
  renderTemplate,
  type TemplateVariables,
} from '../../../domain/template/render.ts';
import { findMailWarnings, type TemplateWarning } from '../../../domain/template/warnings.ts';

/** Finds the warnings of templates in a thread, where rendering holds up no other request. */

export interface WarnTask {
  templates: readonly { subject: string; body: string; type: string }[];
  apiUrl: string;
  /** The language of the project. */
  locale: string;
}

const inspector = { inspect: async (source: string) => inspectTemplate(source) };

/** Returns the warnings of each template, as of a mail to a contact without data. */
export async function warningsOf(task: WarnTask): Promise<TemplateWarning[][]> {
  const warnings: TemplateWarning[][] = [];
  for (const template of task.templates) warnings.push(await warningsOfOne(template, task));
  return warnings;
}

async function warningsOfOne(
  template: WarnTask['templates'][number],
  { apiUrl, locale }: WarnTask,
): Promise<TemplateWarning[]> {
  const contact = { id: randomUUID(), email: '', subscribed: true, data: null };
  const isConfirmation = template.type === 'TRANSACTIONAL' && usesConfirmUrl(template.body);
  const variables: TemplateVariables = {
    owner: '',
    contact,
    given: {},
    locale,
    urls: optOutUrls(apiUrl, contact.id, randomUUID(), null),
    ...(isConfirmation && {
      optIn: { confirmUrl: confirmUrl(apiUrl, '***'), confirmTopics: [] },
    }),
  };
  const rendered = {
    subject: renderTemplate('subject', compileTemplate(template.subject), variables),
    body: renderTemplate('html', compileTemplate(template.body), variables),
  };
  const messageClass = template.type as MessageClass;
  const mail = { messageClass, sourceType: 'TRANSACTIONAL', variables, hasBadge: false } as const;
  const content = completeMail(mail, rendered.subject.text, rendered.body.text);
  const html = wrapDocument(content.body, locale);
  return findMailWarnings(inspector, template, { rendered, variables, messageClass, html });
}
