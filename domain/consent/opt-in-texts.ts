import { escapeHtml, primaryLanguage } from '../template/html.ts';

/**
 * The texts of the confirmation mail and its page. `{address}` stands for the masked address,
 * `{project}` for the sender's name.
 */
export interface OptInTexts {
  language: string;
  title: string;
  /** The question when all mail is asked for. Names of topics may follow. */
  ask: string;
  /** The question when only topics are asked for. The names of the topics follow. */
  askTopics: string;
  button: string;
  /** Heading of the page after the confirmation. */
  done: string;
  doneText: string;
  mail: {
    subject: string;
    why: string;
    whyTopics: string;
    ignore: string;
  };
}

const all: readonly OptInTexts[] = [
  {
    language: 'en',
    title: 'Confirm your subscription',
    ask: 'Do you want to add {address} to the mailing list of {project}?',
    askTopics: 'Do you want to get this mail of {project} at {address}?',
    button: 'Confirm',
    done: 'You are subscribed',
    doneText: '{address} is on the mailing list of {project}.',
    mail: {
      subject: 'Please confirm your subscription',
      why: 'Someone, hopefully you, wants to add this address to the mailing list of {project}.',
      whyTopics: 'Someone, hopefully you, wants this address to get mail of {project}:',
      ignore: 'If it was not you, do nothing.',
    },
  },
  {
    language: 'nl',
    title: 'Bevestig uw aanmelding',
    ask: 'Wilt u {address} aan de mailinglijst van {project} toevoegen?',
    askTopics: 'Wilt u deze e-mail van {project} op {address} ontvangen?',
    button: 'Bevestigen',
    done: 'U bent aangemeld',
    doneText: '{address} staat op de mailinglijst van {project}.',
    mail: {
      subject: 'Bevestig uw aanmelding',
      why: 'Iemand, hopelijk u, wil dit adres aan de mailinglijst van {project} toevoegen.',
      whyTopics: 'Iemand, hopelijk u, wil op dit adres e-mail van {project} ontvangen:',
      ignore: 'Was u het niet? Dan hoeft u niets te doen.',
    },
  },
  {
    language: 'fr',
    title: 'Confirmez votre abonnement',
    ask: 'Voulez-vous ajouter {address} à la liste de diffusion « {project} » ?',
    askTopics: 'Voulez-vous recevoir ces e-mails de « {project} » à l’adresse {address} ?',
    button: 'Confirmer',
    done: 'Vous êtes abonné(e)',
    doneText: '{address} figure sur la liste de diffusion « {project} ».',
    mail: {
      subject: 'Confirmez votre abonnement',
      why: 'Quelqu’un, sans doute vous, veut ajouter cette adresse à la liste de diffusion « {project} ».',
      whyTopics:
        'Quelqu’un, sans doute vous, veut recevoir à cette adresse des e-mails de « {project} » :',
      ignore: 'Si ce n’était pas vous, ne faites rien.',
    },
  },
  {
    language: 'de',
    title: 'Anmeldung bestätigen',
    ask: 'Möchten Sie {address} in die Verteilerliste von „{project}“ aufnehmen?',
    askTopics: 'Möchten Sie diese E-Mails von „{project}“ an {address} erhalten?',
    button: 'Bestätigen',
    done: 'Sie sind angemeldet',
    doneText: '{address} steht auf der Verteilerliste von „{project}“.',
    mail: {
      subject: 'Bitte bestätigen Sie Ihre Anmeldung',
      why: 'Jemand, hoffentlich Sie, möchte diese Adresse auf die Verteilerliste von „{project}“ setzen.',
      whyTopics:
        'Jemand, hoffentlich Sie, möchte an diese Adresse E-Mails von „{project}“ bekommen:',
      ignore: 'Wenn Sie es nicht waren, brauchen Sie nichts zu tun.',
    },
  },
  {
    language: 'es',
    title: 'Confirme su suscripción',
    ask: '¿Quiere añadir {address} a la lista de correo de «{project}»?',
    askTopics: '¿Quiere recibir estos correos de «{project}» en {address}?',
    button: 'Confirmar',
    done: 'Se ha suscrito',
    doneText: '{address} está en la lista de correo de «{project}».',
    mail: {
      subject: 'Confirme su suscripción',
      why: 'Alguien, esperamos que usted, quiere añadir esta dirección a la lista de correo de «{project}».',
      whyTopics:
        'Alguien, esperamos que usted, quiere recibir en esta dirección correos de «{project}»:',
      ignore: 'Si no fue usted, no haga nada.',
    },
  },
  {
    language: 'it',
    title: 'Confermi l’iscrizione',
    ask: 'Vuole aggiungere {address} alla lista di distribuzione di «{project}»?',
    askTopics: 'Vuole ricevere queste e-mail di «{project}» all’indirizzo {address}?',
    button: 'Confermare',
    done: 'Iscrizione effettuata',
    doneText: '{address} è nella lista di distribuzione di «{project}».',
    mail: {
      subject: 'Confermi la Sua iscrizione',
      why: 'Qualcuno, speriamo Lei, vuole aggiungere questo indirizzo alla lista di distribuzione di «{project}».',
      whyTopics:
        'Qualcuno, speriamo Lei, vuole ricevere le seguenti e-mail di «{project}» a questo indirizzo:',
      ignore: 'Se non è stato Lei, non faccia nulla.',
    },
  },
  {
    language: 'pt',
    title: 'Confirme a sua subscrição',
    ask: 'Quer adicionar {address} à lista de envio de «{project}»?',
    askTopics: 'Quer receber estes e-mails de «{project}» em {address}?',
    button: 'Confirmar',
    done: 'A subscrição está feita',
    doneText: '{address} está na lista de envio de «{project}».',
    mail: {
      subject: 'Confirme a sua subscrição',
      why: 'Alguém, esperamos que você, quer adicionar este endereço à lista de envio de «{project}».',
      whyTopics: 'Alguém, esperamos que você, quer receber neste endereço e-mails de «{project}»:',
      ignore: 'Se não foi você, não faça nada.',
    },
  },
  {
    language: 'pl',
    title: 'Potwierdź zapis',
    ask: 'Czy chcesz dodać adres {address} do listy mailingowej „{project}”?',
    askTopics: 'Czy chcesz otrzymywać te wiadomości od „{project}” na adres {address}?',
    button: 'Potwierdź',
    done: 'Zapis został potwierdzony',
    doneText: 'Adres {address} jest na liście mailingowej „{project}”.',
    mail: {
      subject: 'Potwierdź zapis',
      why: 'Ktoś, mamy nadzieję, że Ty, chce dodać ten adres do listy mailingowej „{project}”.',
      whyTopics:
        'Ktoś, mamy nadzieję, że Ty, chce otrzymywać na ten adres wiadomości od „{project}”:',
      ignore: 'Jeśli to nie Ty, nic nie rób.',
    },
  },
];

const texts = new Map(all.map((text) => [text.language, text]));

/**
 * Returns the texts in the language of a locale (by its primary tag: `de-AT` is German), otherwise
 * in English.
 */
export function optInTexts(locale: string): OptInTexts {
  return texts.get(primaryLanguage(locale)) ?? texts.get('en')!;
}

/**
 * Builds the built-in confirmation mail.
 * @param given.url the link, which contains only characters that HTML need not escape
 */
export function builtInMail(
  { mail, button }: OptInTexts,
  given: { project: string; isOfMail: boolean; topics: readonly string[]; url: string },
): { subject: string; body: string } {
  const { project, isOfMail, topics, url } = given;
  const why = (isOfMail ? mail.why : mail.whyTopics).replaceAll('{project}', () => project);
  const items = topics.map((name) => `<li>${escapeHtml(name)}</li>`);
  return {
    subject: mail.subject,
    body: [
      `<p>${escapeHtml(why)}</p>`,
      ...(items.length > 0 ? [`<ul>${items.join('')}</ul>`] : []),
      `<p><a href="${url}">${escapeHtml(button)}</a></p>`,
      `<p>${url}</p>`,
      `<p>${escapeHtml(mail.ignore)}</p>`,
    ].join('\n'),
  };
}
