import { primaryLanguage } from './html-document.ts';

/** A page that asks before it changes something. `{address}` stands for the masked address. */
interface Question {
  title: string;
  ask: string;
  button: string;
  /** Heading of the page that follows. */
  done: string;
  /** What holds from now on. */
  doneText: string;
}

export interface OptOutTexts {
  language: string;
  unsubscribe: Question;
  subscribe: Question;
  manage: { title: string; subscribed: string; unsubscribed: string };
  /** The link leads nowhere. */
  unknown: { title: string; text: string };
}

const english: OptOutTexts = {
  language: 'en',
  unsubscribe: {
    title: 'Unsubscribe',
    ask: 'Do you want to remove {address} from our mailing list?',
    button: 'Unsubscribe',
    done: 'You are unsubscribed',
    doneText: '{address} is no longer on our mailing list.',
  },
  subscribe: {
    title: 'Subscribe',
    ask: 'Do you want to add {address} to our mailing list?',
    button: 'Subscribe',
    done: 'You are subscribed',
    doneText: '{address} is on our mailing list.',
  },
  manage: {
    title: 'Your subscription',
    subscribed: '{address} is on our mailing list.',
    unsubscribed: '{address} is not on our mailing list.',
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
    ask: 'Wilt u {address} van onze mailinglijst verwijderen?',
    button: 'Afmelden',
    done: 'U bent afgemeld',
    doneText: '{address} staat niet meer op onze mailinglijst.',
  },
  subscribe: {
    title: 'Aanmelden',
    ask: 'Wilt u {address} aan onze mailinglijst toevoegen?',
    button: 'Aanmelden',
    done: 'U bent aangemeld',
    doneText: '{address} staat op onze mailinglijst.',
  },
  manage: {
    title: 'Uw aanmelding',
    subscribed: '{address} staat op onze mailinglijst.',
    unsubscribed: '{address} staat niet op onze mailinglijst.',
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
    ask: 'Voulez-vous retirer {address} de notre liste de diffusion ?',
    button: 'Se désabonner',
    done: 'Vous êtes désabonné(e)',
    doneText: '{address} ne figure plus sur notre liste de diffusion.',
  },
  subscribe: {
    title: 'Abonnement',
    ask: 'Voulez-vous ajouter {address} à notre liste de diffusion ?',
    button: 'S’abonner',
    done: 'Vous êtes abonné(e)',
    doneText: '{address} figure sur notre liste de diffusion.',
  },
  manage: {
    title: 'Votre abonnement',
    subscribed: '{address} figure sur notre liste de diffusion.',
    unsubscribed: '{address} ne figure pas sur notre liste de diffusion.',
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
    ask: 'Möchten Sie {address} von unserer Verteilerliste streichen?',
    button: 'Abmelden',
    done: 'Sie sind abgemeldet',
    doneText: '{address} steht nicht mehr auf unserer Verteilerliste.',
  },
  subscribe: {
    title: 'Anmelden',
    ask: 'Möchten Sie {address} in unsere Verteilerliste aufnehmen?',
    button: 'Anmelden',
    done: 'Sie sind angemeldet',
    doneText: '{address} steht auf unserer Verteilerliste.',
  },
  manage: {
    title: 'Ihre Anmeldung',
    subscribed: '{address} steht auf unserer Verteilerliste.',
    unsubscribed: '{address} steht nicht auf unserer Verteilerliste.',
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
    ask: '¿Quiere quitar {address} de nuestra lista de correo?',
    button: 'Darse de baja',
    done: 'Se ha dado de baja',
    doneText: '{address} ya no está en nuestra lista de correo.',
  },
  subscribe: {
    title: 'Suscribirse',
    ask: '¿Quiere añadir {address} a nuestra lista de correo?',
    button: 'Suscribirse',
    done: 'Se ha suscrito',
    doneText: '{address} está en nuestra lista de correo.',
  },
  manage: {
    title: 'Su suscripción',
    subscribed: '{address} está en nuestra lista de correo.',
    unsubscribed: '{address} no está en nuestra lista de correo.',
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
    ask: 'Vuole rimuovere {address} dalla nostra lista di distribuzione?',
    button: 'Annulla l’iscrizione',
    done: 'Iscrizione annullata',
    doneText: '{address} non è più nella nostra lista di distribuzione.',
  },
  subscribe: {
    title: 'Iscrizione',
    ask: 'Vuole aggiungere {address} alla nostra lista di distribuzione?',
    button: 'Iscriviti',
    done: 'Iscrizione confermata',
    doneText: '{address} è nella nostra lista di distribuzione.',
  },
  manage: {
    title: 'La Sua iscrizione',
    subscribed: '{address} è nella nostra lista di distribuzione.',
    unsubscribed: '{address} non è nella nostra lista di distribuzione.',
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
    ask: 'Quer retirar {address} da nossa lista de envio?',
    button: 'Cancelar a subscrição',
    done: 'A subscrição foi cancelada',
    doneText: '{address} já não está na nossa lista de envio.',
  },
  subscribe: {
    title: 'Subscrever',
    ask: 'Quer adicionar {address} à nossa lista de envio?',
    button: 'Subscrever',
    done: 'A subscrição está confirmada',
    doneText: '{address} está na nossa lista de envio.',
  },
  manage: {
    title: 'A sua subscrição',
    subscribed: '{address} está na nossa lista de envio.',
    unsubscribed: '{address} não está na nossa lista de envio.',
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
    ask: 'Czy chcesz usunąć {address} z naszej listy mailingowej?',
    button: 'Wypisz się',
    done: 'Wypisano z listy',
    doneText: 'Adresu {address} nie ma już na naszej liście mailingowej.',
  },
  subscribe: {
    title: 'Zapisz się',
    ask: 'Czy chcesz dodać {address} do naszej listy mailingowej?',
    button: 'Zapisz się',
    done: 'Zapisano na listę',
    doneText: 'Adres {address} jest na naszej liście mailingowej.',
  },
  manage: {
    title: 'Twoja subskrypcja',
    subscribed: 'Adres {address} jest na naszej liście mailingowej.',
    unsubscribed: 'Adresu {address} nie ma na naszej liście mailingowej.',
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

/** The languages in which the pages can be read. */
export const optOutLanguages: readonly string[] = [...texts.keys()];

/**
 * The texts of the opt-out pages in the first language of `locales` there is (by its primary tag:
 * `de-AT` is German), else in English.
 */
export function optOutTexts(...locales: readonly string[]): OptOutTexts {
  const known = locales.flatMap((locale) => texts.get(primaryLanguage(locale)) ?? []);
  return known[0] ?? english;
}
