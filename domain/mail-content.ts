import { classHeaders, type Header, type MessageClass, type SourceType } from './class-headers.ts';
import { footerHtml, withFooter } from './footer.ts';
import { type CompiledTemplate, type RenderScope, renderHtml, renderSubject } from './render.ts';

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

/** Renders one mail for one contact: once, with everything its class adds. */
export function renderMail(mail: {
  subject: CompiledTemplate;
  body: CompiledTemplate;
  messageClass: MessageClass;
  sourceType: SourceType;
  scope: RenderScope;
  customHeaders?: Record<string, string>;
}): MailContent {
  const { messageClass, sourceType, scope, customHeaders } = mail;
  const { unsubscribeUrl } = scope.urls;
  const rendered = renderHtml(mail.body, scope);
  const body =
    messageClass === 'MARKETING'
      ? withFooter(rendered, footerHtml(scope.locale, unsubscribeUrl))
      : rendered;
  return {
    subject: renderSubject(mail.subject, scope),
    body,
    headers: classHeaders({
      messageClass,
      sourceType,
      body: rendered,
      contactId: scope.contact.id,
      unsubscribeUrl,
      customHeaders,
    }),
  };
}
