import { escapeHtml } from '../template/html.ts';
import { primaryLanguage } from '../template/html-document.ts';

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
 * The footer of marketing mail: why it was sent, and the opt-out link. In the language of `locale`
 * (primary tag: `de-AT` is German), else in English.
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

/** The line below mail of projects without a subscription, on a server with billing. */
export const badgeHtml =
  '<div style="margin:16px 0 0;font-family:Arial,Helvetica,sans-serif;font-size:12px;' +
  'line-height:18px;color:#6b6b6b;text-align:center;">Sent with Everpost</div>';

/** Inserts the footer before the last `</body>`, or at the end. */
export function withFooter(html: string, footer: string): string {
  const at = [...html.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? html.length;
  return html.slice(0, at) + footer + html.slice(at);
}
