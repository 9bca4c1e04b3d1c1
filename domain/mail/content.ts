import { classHeaders, type Header, type MessageClass, type SourceType } from './class-headers.ts';
import { badgeHtml, footerHtml, withFooter } from './footer.ts';
import { limits } from '../limits.ts';
import {
  type CompiledTemplate,
  type Renderer,
  type TemplateVariables,
} from '../template/render.ts';

/** What the ledger keeps of a mail's content. */
export interface MailContent {
  subject: string;
  /** HTML with the footer its class demands; the frame of the document is added on sending. */
  body: string;
  headers: Header[];
}

/** The opt-out links of one mail to one contact. */
export function optOutUrls(apiUrl: string, contactId: string, emailId: string) {
  const link = (page: string) => `${apiUrl}/${page}/${contactId}?e=${emailId}`;
  return {
    unsubscribeUrl: link('unsubscribe'),
    subscribeUrl: link('subscribe'),
    manageUrl: link('manage'),
  };
}

/** The language a contact is written to in: its own, else its project's. */
export function localeOf(
  data: Record<string, unknown> | null | undefined,
  projectLanguage: string,
): string {
  const locale = data && Object.hasOwn(data, 'locale') ? data['locale'] : undefined;
  return typeof locale === 'string' && locale !== '' ? locale : projectLanguage;
}

/** One mail for one contact, before it is rendered. */
export interface MailToRender {
  subject: CompiledTemplate;
  body: CompiledTemplate;
  messageClass: MessageClass;
  sourceType: SourceType;
  variables: TemplateVariables;
  customHeaders?: Record<string, string>;
  /** Says who delivers it, where the project does not pay for that. */
  hasBadge?: boolean;
}

/** Renders one mail for one contact, with everything its class adds: once, and within the limits. */
export async function renderMailWith(renderer: Renderer, mail: MailToRender): Promise<MailContent> {
  const [subject, body] = await Promise.all([
    renderer.render('subject', mail.subject, mail.variables),
    renderer.render('html', mail.body, mail.variables),
  ]);
  return completeMail(mail, subject, body);
}

/** Adds to the rendered texts of a mail what its class demands: badge, footer and headers. */
export function completeMail(
  mail: Omit<MailToRender, 'subject' | 'body' | 'variables'> & {
    variables: Pick<TemplateVariables, 'contact' | 'locale' | 'urls'>;
  },
  subject: string,
  rendered: string,
): MailContent {
  const { messageClass, sourceType, variables, customHeaders, hasBadge } = mail;
  const { unsubscribeUrl } = variables.urls;
  const footer = messageClass === 'MARKETING' ? footerHtml(variables.locale, unsubscribeUrl) : '';
  const badge = hasBadge && messageClass !== 'HEADLESS' ? badgeHtml : '';
  return {
    subject,
    body: withFooter(rendered, footer + badge),
    headers: classHeaders({
      messageClass,
      sourceType,
      body: rendered,
      contactId: variables.contact.id,
      unsubscribeUrl,
      customHeaders,
    }),
  };
}

/** Whether a rendered body is larger than mail may be. Such mail is not sent. */
export function isBodyTooLarge(body: string): boolean {
  // No character has more than three bytes for each of its UTF-16 units.
  if (body.length * 3 <= limits.renderedBodyBytes) return false;
  if (body.length > limits.renderedBodyBytes) return true;
  return new TextEncoder().encode(body).length > limits.renderedBodyBytes;
}
