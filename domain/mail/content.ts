import { limits } from '../limits.ts';
import type {
  CompiledTemplate,
  Rendered,
  Renderer,
  TemplateVariables,
} from '../template/render.ts';
import { escapeHtml, primaryLanguage } from '../template/html.ts';
import { faultWarnings, type TemplateWarning } from '../template/warnings.ts';
import { endOfBody } from '../links/anchors.ts';
import { takeMarks, withMarkedLinks } from '../links/link-ids.ts';
import { type Header, type MessageClass, type SourceType, classHeaders } from './headers.ts';

export interface MailContent {
  subject: string;
  /** The HTML with the footer of the message class, not yet wrapped in a document. */
  body: string;
  /** The ids of the links in the body, in order; null: no link of the template has variables. */
  link_ids: string[] | null;
  headers: Header[];
}

/**
 * Returns the opt-out links in one mail to one contact.
 * @param topicKey key of the mail's topic; null: the mail has no topic, or the topic was deleted.
 */
export function optOutUrls(
  apiUrl: string,
  contactId: string,
  emailId: string,
  topicKey: string | null = null,
) {
  const topic = topicKey === null ? '' : `&t=${topicKey}`;
  const link = (page: string) => `${apiUrl}/${page}/${contactId}?e=${emailId}${topic}`;
  return {
    unsubscribeUrl: link('unsubscribe'),
    subscribeUrl: link('subscribe'),
    manageUrl: link('manage'),
  };
}

/** Returns the language of mail to a contact: the contact's own, otherwise its project's. */
export function localeOf(
  data: Record<string, unknown> | null | undefined,
  projectLanguage: string,
): string {
  const locale = data && Object.hasOwn(data, 'locale') ? data['locale'] : undefined;
  return typeof locale === 'string' && locale !== '' ? locale : projectLanguage;
}

export interface MailToRender {
  subject: CompiledTemplate;
  body: CompiledTemplate;
  messageClass: MessageClass;
  sourceType: SourceType;
  variables: TemplateVariables;
  customHeaders?: Record<string, string>;
  /** True if a line that names Everpost is added, as for projects without a paid subscription. */
  hasBadge?: boolean;
}

export interface RenderedMail {
  content: MailContent;
  /** The rendered texts, before the parts of the message class are added. */
  rendered: { subject: Rendered; body: Rendered };
  /**
   * Why the subject or body could not be fully rendered, so that only placeholders were replaced.
   */
  warnings: TemplateWarning[];
}

/**
 * Renders one mail for one contact within the limits of the renderer, and adds the parts that its
 * class requires.
 */
export async function renderMailWith(
  renderer: Renderer,
  mail: MailToRender,
): Promise<RenderedMail> {
  const [subject, body] = await Promise.all([
    renderer.render('subject', mail.subject, mail.variables),
    renderer.render('html', withMarkedLinks(mail.body), mail.variables),
  ]);
  return {
    content: completeMail(mail, subject.text, body.text),
    rendered: { subject, body: { ...body, text: takeMarks(body.text).html } },
    warnings: faultWarnings({ subject: subject.fault, body: body.fault }),
  };
}

/** Adds the badge, footer and headers that the class of a mail requires to its rendered texts. */
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
  const { html, linkIds } = takeMarks(withFooter(rendered, footer + badge));
  return {
    subject,
    body: html,
    link_ids: linkIds,
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

/** Returns true if a rendered body exceeds the size limit, so the mail is not sent. */
export function isBodyTooLarge(body: string): boolean {
  // UTF-8 needs at most three bytes for each UTF-16 unit.
  if (body.length * 3 <= limits.renderedBodyBytes) return false;
  if (body.length > limits.renderedBodyBytes) return true;
  return new TextEncoder().encode(body).length > limits.renderedBodyBytes;
}

interface FooterText {
  why: string;
  link: string;
}

const english: FooterText = {
  why: 'You are receiving this email because this address is on our mailing list.',
  link: 'Unsubscribe',
};

const texts = new Map<string, FooterText>([
  ['en', english],
  [
    'nl',
    { why: 'U ontvangt deze e-mail omdat dit adres op onze mailinglijst staat.', link: 'Afmelden' },
  ],
  [
    'fr',
    {
      why: 'Vous recevez cet e-mail parce que cette adresse figure sur notre liste de diffusion.',
      link: 'Se désabonner',
    },
  ],
  [
    'de',
    {
      why: 'Sie erhalten diese E-Mail, weil diese Adresse auf unserer Verteilerliste steht.',
      link: 'Abmelden',
    },
  ],
  [
    'es',
    {
      why: 'Recibe este correo porque esta dirección está en nuestra lista de correo.',
      link: 'Darse de baja',
    },
  ],
  [
    'it',
    {
      why: 'Riceve questa e-mail perché questo indirizzo è nella nostra lista di distribuzione.',
      link: 'Annulla l’iscrizione',
    },
  ],
  [
    'pt',
    {
      why: 'Recebe este e-mail porque este endereço está na nossa lista de envio.',
      link: 'Cancelar a subscrição',
    },
  ],
  [
    'pl',
    {
      why: 'Otrzymujesz tę wiadomość, ponieważ ten adres jest na naszej liście mailingowej.',
      link: 'Wypisz się',
    },
  ],
]);

/**
 * Returns the footer of marketing mail: why it was sent, and the opt-out link. The text is in the
 * language of `locale` (primary tag: `de-AT` is German), otherwise in English.
 */
export function footerHtml(locale: string, unsubscribeUrl: string): string {
  const text = texts.get(primaryLanguage(locale)) ?? english;
  return (
    '<div style="margin:32px 0 0;padding:16px 0 0;border-top:1px solid #e5e5e5;' +
    'font-family:Arial,Helvetica,sans-serif;font-size:12px;line-height:18px;color:#6b6b6b;' +
    'text-align:center;">' +
    `${text.why} <a href="${escapeHtml(unsubscribeUrl)}" style="color:#6b6b6b;">${text.link}</a>` +
    '</div>'
  );
}

/**
 * The line at the end of mail from projects without a paid subscription, on a server with billing.
 */
export const badgeHtml =
  '<div style="margin:16px 0 0;font-family:Arial,Helvetica,sans-serif;font-size:12px;' +
  'line-height:18px;color:#6b6b6b;text-align:center;">Sent with Everpost</div>';

/** Inserts the footer where a reader sees it: before the last `</body>`, or at the end. */
export function withFooter(html: string, footer: string): string {
  if (footer === '') return html;
  const at = endOfBody(html);
  return html.slice(0, at) + footer + html.slice(at);
}
