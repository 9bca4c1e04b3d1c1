import { primaryLanguage } from '../template/html.ts';

/**
 * The texts of a page that asks for confirmation. `{address}` stands for the masked address,
 * `{project}` for the sender's name.
 */
interface Question {
  title: string;
  ask: string;
  button: string;
  /** Heading of the page after the confirmation. */
  done: string;
  /** Text of the page after the confirmation, which names the new state. */
  doneText: string;
}

export interface OptOutTexts {
  language: string;
  unsubscribe: Question;
  subscribe: Question;
  manage: { title: string; subscribed: string; unsubscribed: string };
  /** Texts about topics. `{topic}` stands for the name of a topic. */
  topics: {
    leave: string;
    left: string;
    join: string;
    joined: string;
    /** Text above the boxes of the preference page. */
    choose: string;
    save: string;
    /** Heading of the page after saving. */
    saved: string;
    /** Button that unsubscribes from everything. */
    all: string;
  };
  /** Texts for an invalid link. */
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
  topics: {
    leave: 'Do you want to remove {address} from the list “{topic}” of {project}?',
    left: '{address} is no longer on the list “{topic}” of {project}.',
    join: 'Do you want to add {address} to the list “{topic}” of {project}?',
    joined: '{address} is on the list “{topic}” of {project}.',
    choose: 'Which mail of {project} do you want to get at {address}?',
    save: 'Save',
    saved: 'Your choice is saved',
    all: 'Unsubscribe from all',
  },
  unknown: {
    title: 'Page not found',
    text: 'This link is not valid. Please open the complete link from the email.',
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
  topics: {
    leave: 'Wilt u {address} van de lijst ‘{topic}’ van {project} verwijderen?',
    left: '{address} staat niet meer op de lijst ‘{topic}’ van {project}.',
    join: 'Wilt u {address} aan de lijst ‘{topic}’ van {project} toevoegen?',
    joined: '{address} staat op de lijst ‘{topic}’ van {project}.',
    choose: 'Welke e-mail van {project} wilt u op {address} ontvangen?',
    save: 'Opslaan',
    saved: 'Uw keuze is opgeslagen',
    all: 'Voor alles afmelden',
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
  topics: {
    leave: 'Voulez-vous retirer {address} de la liste « {topic} » ({project}) ?',
    left: '{address} ne figure plus sur la liste « {topic} » ({project}).',
    join: 'Voulez-vous ajouter {address} à la liste « {topic} » ({project}) ?',
    joined: '{address} figure sur la liste « {topic} » ({project}).',
    choose: 'Quels e-mails de « {project} » voulez-vous recevoir à l’adresse {address} ?',
    save: 'Enregistrer',
    saved: 'Votre choix est enregistré',
    all: 'Se désabonner de tout',
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
    ask: 'Möchten Sie {address} von der Verteilerliste von „{project}“ streichen?',
    button: 'Abmelden',
    done: 'Sie sind abgemeldet',
    doneText: '{address} steht nicht mehr auf der Verteilerliste von „{project}“.',
  },
  subscribe: {
    title: 'Anmelden',
    ask: 'Möchten Sie {address} in die Verteilerliste von „{project}“ aufnehmen?',
    button: 'Anmelden',
    done: 'Sie sind angemeldet',
    doneText: '{address} steht auf der Verteilerliste von „{project}“.',
  },
  manage: {
    title: 'Ihre Anmeldung',
    subscribed: '{address} steht auf der Verteilerliste von „{project}“.',
    unsubscribed: '{address} steht nicht auf der Verteilerliste von „{project}“.',
  },
  topics: {
    leave: 'Möchten Sie {address} von der Liste „{topic}“ von „{project}“ streichen?',
    left: '{address} steht nicht mehr auf der Liste „{topic}“ von „{project}“.',
    join: 'Möchten Sie {address} in die Liste „{topic}“ von „{project}“ aufnehmen?',
    joined: '{address} steht auf der Liste „{topic}“ von „{project}“.',
    choose: 'Welche E-Mails von „{project}“ möchten Sie an {address} erhalten?',
    save: 'Speichern',
    saved: 'Ihre Auswahl ist gespeichert',
    all: 'Von allem abmelden',
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
    ask: '¿Quiere quitar {address} de la lista de correo de «{project}»?',
    button: 'Darse de baja',
    done: 'Se ha dado de baja',
    doneText: '{address} ya no está en la lista de correo de «{project}».',
  },
  subscribe: {
    title: 'Suscribirse',
    ask: '¿Quiere añadir {address} a la lista de correo de «{project}»?',
    button: 'Suscribirse',
    done: 'Se ha suscrito',
    doneText: '{address} está en la lista de correo de «{project}».',
  },
  manage: {
    title: 'Su suscripción',
    subscribed: '{address} está en la lista de correo de «{project}».',
    unsubscribed: '{address} no está en la lista de correo de «{project}».',
  },
  topics: {
    leave: '¿Quiere quitar {address} de la lista «{topic}» de «{project}»?',
    left: '{address} ya no está en la lista «{topic}» de «{project}».',
    join: '¿Quiere añadir {address} a la lista «{topic}» de «{project}»?',
    joined: '{address} está en la lista «{topic}» de «{project}».',
    choose: '¿Qué correos de «{project}» quiere recibir en {address}?',
    save: 'Guardar',
    saved: 'Su selección se ha guardado',
    all: 'Darse de baja de todo',
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
    ask: 'Vuole rimuovere {address} dalla lista di distribuzione di «{project}»?',
    button: 'Annulla l’iscrizione',
    done: 'Iscrizione annullata',
    doneText: '{address} non è più nella lista di distribuzione di «{project}».',
  },
  subscribe: {
    title: 'Iscrizione',
    ask: 'Vuole aggiungere {address} alla lista di distribuzione di «{project}»?',
    button: 'Iscriviti',
    done: 'Iscrizione confermata',
    doneText: '{address} è nella lista di distribuzione di «{project}».',
  },
  manage: {
    title: 'La Sua iscrizione',
    subscribed: '{address} è nella lista di distribuzione di «{project}».',
    unsubscribed: '{address} non è nella lista di distribuzione di «{project}».',
  },
  topics: {
    leave: 'Vuole rimuovere {address} dalla lista «{topic}» di «{project}»?',
    left: '{address} non è più nella lista «{topic}» di «{project}».',
    join: 'Vuole aggiungere {address} alla lista «{topic}» di «{project}»?',
    joined: '{address} è nella lista «{topic}» di «{project}».',
    choose: 'Quali e-mail di «{project}» vuole ricevere all’indirizzo {address}?',
    save: 'Salva',
    saved: 'La Sua scelta è stata salvata',
    all: 'Annulla tutte le iscrizioni',
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
    ask: 'Quer retirar {address} da lista de envio de «{project}»?',
    button: 'Cancelar a subscrição',
    done: 'A subscrição foi cancelada',
    doneText: '{address} já não está na lista de envio de «{project}».',
  },
  subscribe: {
    title: 'Subscrever',
    ask: 'Quer adicionar {address} à lista de envio de «{project}»?',
    button: 'Subscrever',
    done: 'A subscrição está confirmada',
    doneText: '{address} está na lista de envio de «{project}».',
  },
  manage: {
    title: 'A sua subscrição',
    subscribed: '{address} está na lista de envio de «{project}».',
    unsubscribed: '{address} não está na lista de envio de «{project}».',
  },
  topics: {
    leave: 'Quer retirar {address} da lista «{topic}» de «{project}»?',
    left: '{address} já não está na lista «{topic}» de «{project}».',
    join: 'Quer adicionar {address} à lista «{topic}» de «{project}»?',
    joined: '{address} está na lista «{topic}» de «{project}».',
    choose: 'Que e-mails de «{project}» quer receber em {address}?',
    save: 'Guardar',
    saved: 'A sua escolha foi guardada',
    all: 'Cancelar todas as subscrições',
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
  topics: {
    leave: 'Czy chcesz usunąć {address} z listy „{topic}” („{project}”)?',
    left: 'Adresu {address} nie ma już na liście „{topic}” („{project}”).',
    join: 'Czy chcesz dodać {address} do listy „{topic}” („{project}”)?',
    joined: 'Adres {address} jest na liście „{topic}” („{project}”).',
    choose: 'Jakie wiadomości od „{project}” chcesz otrzymywać na adres {address}?',
    save: 'Zapisz',
    saved: 'Twój wybór został zapisany',
    all: 'Wypisz się ze wszystkiego',
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

export const optOutLanguages: readonly string[] = [...texts.keys()];

/**
 * Returns the texts of the opt-out pages in the first of `locales` whose language exists, otherwise
 * in English. Only the primary tag counts: `de-AT` is German.
 */
export function optOutTexts(...locales: readonly string[]): OptOutTexts {
  const known = locales.flatMap((locale) => texts.get(primaryLanguage(locale)) ?? []);
  return known[0] ?? english;
}
