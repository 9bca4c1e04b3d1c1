import { primaryLanguage } from '../template/html.ts';

/**
 * A page that asks for confirmation. `{address}` stands for the masked address, `{project}` for the
 * sender's name.
 */
interface Question {
  title: string;
  ask: string;
  button: string;
  /** Heading of the next page. */
  done: string;
  /** The new state. */
  doneText: string;
}

export interface OptOutTexts {
  language: string;
  unsubscribe: Question;
  subscribe: Question;
  manage: { title: string; subscribed: string; unsubscribed: string };
  /** The link is invalid. */
  unknown: { title: string; text: string };
}

const english: OptOutTexts = {
  language: 'en',
  unsubscribe: {
    title: 'Unsubscribe',
    ask: 'Do you want to remove {address} from the mailing list of {project}?',
    button: 'Unsubscribe',
    done: 'You are unsubscribed',
    doneText: '{address} is no longer on the mailing list of {project}.',
  },
  subscribe: {
    title: 'Subscribe',
    ask: 'Do you want to add {address} to the mailing list of {project}?',
    button: 'Subscribe',
    done: 'You are subscribed',
    doneText: '{address} is on the mailing list of {project}.',
  },
  manage: {
    title: 'Your subscription',
    subscribed: '{address} is on the mailing list of {project}.',
    unsubscribed: '{address} is not on the mailing list of {project}.',
  },
  unknown: {
    title: 'Page not found',
    text: 'This link is not valid. Please open the complete link of the email.',
  },
};

const dutch: OptOutTexts = {
  language: 'nl',
  unsubscribe: {
    title: 'Afmelden',
    ask: 'Wilt u {address} van de mailinglijst van {project} verwijderen?',
    button: 'Afmelden',
    done: 'U bent afgemeld',
    doneText: '{address} staat niet meer op de mailinglijst van {project}.',
  },
  subscribe: {
    title: 'Aanmelden',
    ask: 'Wilt u {address} aan de mailinglijst van {project} toevoegen?',
    button: 'Aanmelden',
    done: 'U bent aangemeld',
    doneText: '{address} staat op de mailinglijst van {project}.',
  },
  manage: {
    title: 'Uw aanmelding',
    subscribed: '{address} staat op de mailinglijst van {project}.',
    unsubscribed: '{address} staat niet op de mailinglijst van {project}.',
  },
  unknown: {
    title: 'Pagina niet gevonden',
    text: 'Deze link is niet geldig. Open de volledige link uit de e-mail.',
  },
};

const french: OptOutTexts = {
  language: 'fr',
  unsubscribe: {
    title: 'Désabonnement',
    ask: 'Voulez-vous retirer {address} de la liste de diffusion « {project} » ?',
    button: 'Se désabonner',
    done: 'Vous êtes désabonné(e)',
    doneText: '{address} ne figure plus sur la liste de diffusion « {project} ».',
  },
  subscribe: {
    title: 'Abonnement',
    ask: 'Voulez-vous ajouter {address} à la liste de diffusion « {project} » ?',
    button: 'S’abonner',
    done: 'Vous êtes abonné(e)',
    doneText: '{address} figure sur la liste de diffusion « {project} ».',
  },
  manage: {
    title: 'Votre abonnement',
    subscribed: '{address} figure sur la liste de diffusion « {project} ».',
    unsubscribed: '{address} ne figure pas sur la liste de diffusion « {project} ».',
  },
  unknown: {
    title: 'Page introuvable',
    text: 'Ce lien n’est pas valide. Veuillez ouvrir le lien complet de l’e-mail.',
  },
};

const german: OptOutTexts = {
  language: 'de',
  unsubscribe: {
    title: 'Abmelden',
    ask: 'Möchten Sie {address} von der Verteilerliste von {project} streichen?',
    button: 'Abmelden',
    done: 'Sie sind abgemeldet',
    doneText: '{address} steht nicht mehr auf der Verteilerliste von {project}.',
  },
  subscribe: {
    title: 'Anmelden',
    ask: 'Möchten Sie {address} in die Verteilerliste von {project} aufnehmen?',
    button: 'Anmelden',
    done: 'Sie sind angemeldet',
    doneText: '{address} steht auf der Verteilerliste von {project}.',
  },
  manage: {
    title: 'Ihre Anmeldung',
    subscribed: '{address} steht auf der Verteilerliste von {project}.',
    unsubscribed: '{address} steht nicht auf der Verteilerliste von {project}.',
  },
  unknown: {
    title: 'Seite nicht gefunden',
    text: 'Dieser Link ist nicht gültig. Bitte öffnen Sie den vollständigen Link aus der E-Mail.',
  },
};

const spanish: OptOutTexts = {
  language: 'es',
  unsubscribe: {
    title: 'Darse de baja',
    ask: '¿Quiere quitar {address} de la lista de correo de {project}?',
    button: 'Darse de baja',
    done: 'Se ha dado de baja',
    doneText: '{address} ya no está en la lista de correo de {project}.',
  },
  subscribe: {
    title: 'Suscribirse',
    ask: '¿Quiere añadir {address} a la lista de correo de {project}?',
    button: 'Suscribirse',
    done: 'Se ha suscrito',
    doneText: '{address} está en la lista de correo de {project}.',
  },
  manage: {
    title: 'Su suscripción',
    subscribed: '{address} está en la lista de correo de {project}.',
    unsubscribed: '{address} no está en la lista de correo de {project}.',
  },
  unknown: {
    title: 'Página no encontrada',
    text: 'Este enlace no es válido. Abra el enlace completo del correo.',
  },
};

const italian: OptOutTexts = {
  language: 'it',
  unsubscribe: {
    title: 'Annulla l’iscrizione',
    ask: 'Vuole rimuovere {address} dalla lista di distribuzione di {project}?',
    button: 'Annulla l’iscrizione',
    done: 'Iscrizione annullata',
    doneText: '{address} non è più nella lista di distribuzione di {project}.',
  },
  subscribe: {
    title: 'Iscrizione',
    ask: 'Vuole aggiungere {address} alla lista di distribuzione di {project}?',
    button: 'Iscriviti',
    done: 'Iscrizione confermata',
    doneText: '{address} è nella lista di distribuzione di {project}.',
  },
  manage: {
    title: 'La Sua iscrizione',
    subscribed: '{address} è nella lista di distribuzione di {project}.',
    unsubscribed: '{address} non è nella lista di distribuzione di {project}.',
  },
  unknown: {
    title: 'Pagina non trovata',
    text: 'Questo link non è valido. Apra il link completo dell’e-mail.',
  },
};

const portuguese: OptOutTexts = {
  language: 'pt',
  unsubscribe: {
    title: 'Cancelar a subscrição',
    ask: 'Quer retirar {address} da lista de envio de {project}?',
    button: 'Cancelar a subscrição',
    done: 'A subscrição foi cancelada',
    doneText: '{address} já não está na lista de envio de {project}.',
  },
  subscribe: {
    title: 'Subscrever',
    ask: 'Quer adicionar {address} à lista de envio de {project}?',
    button: 'Subscrever',
    done: 'A subscrição está confirmada',
    doneText: '{address} está na lista de envio de {project}.',
  },
  manage: {
    title: 'A sua subscrição',
    subscribed: '{address} está na lista de envio de {project}.',
    unsubscribed: '{address} não está na lista de envio de {project}.',
  },
  unknown: {
    title: 'Página não encontrada',
    text: 'Esta ligação não é válida. Abra a ligação completa do e-mail.',
  },
};

const polish: OptOutTexts = {
  language: 'pl',
  unsubscribe: {
    title: 'Wypisz się',
    ask: 'Czy chcesz usunąć {address} z listy mailingowej „{project}”?',
    button: 'Wypisz się',
    done: 'Wypisano z listy',
    doneText: 'Adresu {address} nie ma już na liście mailingowej „{project}”.',
  },
  subscribe: {
    title: 'Zapisz się',
    ask: 'Czy chcesz dodać {address} do listy mailingowej „{project}”?',
    button: 'Zapisz się',
    done: 'Zapisano na listę',
    doneText: 'Adres {address} jest na liście mailingowej „{project}”.',
  },
  manage: {
    title: 'Twoja subskrypcja',
    subscribed: 'Adres {address} jest na liście mailingowej „{project}”.',
    unsubscribed: 'Adresu {address} nie ma na liście mailingowej „{project}”.',
  },
  unknown: {
    title: 'Nie znaleziono strony',
    text: 'Ten link jest nieprawidłowy. Otwórz pełny link z wiadomości.',
  },
};

const texts = new Map(
  [english, dutch, french, german, spanish, italian, portuguese, polish].map((text) => [
    text.language,
    text,
  ]),
);

/** The languages of the pages. */
export const optOutLanguages: readonly string[] = [...texts.keys()];

/**
 * The texts of the opt-out pages in the first available language of `locales` (by its primary tag:
 * `de-AT` is German), else in English.
 */
export function optOutTexts(...locales: readonly string[]): OptOutTexts {
  const known = locales.flatMap((locale) => texts.get(primaryLanguage(locale)) ?? []);
  return known[0] ?? english;
}
