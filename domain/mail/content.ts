import { classHeaders, type Header, type MessageClass, type SourceType } from './class-headers.ts';
import { badgeHtml, footerHtml, withFooter } from './footer.ts';
import { limits } from '../limits.ts';
import {
  type CompiledTemplate,
  type Renderer,
  type TemplateVariables,
} from '../template/render.ts';

/** The stored content of a mail. */
export interface MailContent {
  subject: string;
  /**
   * HTML with the footer that its class requires; the surrounding document is added when it is
   * sent.
   */
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

/** The language of mail to a contact: the contact's own, else its project's. */
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
  /** Adds the line that names Everpost, for projects without a subscription. */
  hasBadge?: boolean;
}

/**
 * Renders one mail for one contact, with everything its class adds: once, and within the limits.
 */
export async function renderMailWith(renderer: Renderer, mail: MailToRender): Promise<MailContent> {
  const [subject, body] = await Promise.all([
    renderer.render('subject', mail.subject, mail.variables),
    renderer.render('html', mail.body, mail.variables),
  ]);
  return completeMail(mail, subject, body);
}

/** Adds what its class requires to the rendered texts of a mail: badge, footer and headers. */
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

/** Whether a rendered body exceeds the size limit. Such mail is not sent. */
export function isBodyTooLarge(body: string): boolean {
  // UTF-8 has at most three bytes for each UTF-16 unit.
  if (body.length * 3 <= limits.renderedBodyBytes) return false;
  if (body.length > limits.renderedBodyBytes) return true;
  return new TextEncoder().encode(body).length > limits.renderedBodyBytes;
}
