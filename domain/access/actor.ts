/** Actors: who caused something. They are stored as `<type>:<id>`, for example `key:secret`. */

/** Parts of the system that act on their own, without a request of a person or key. */
export const systemActors = ['schedule', 'segment', 'inbound', 'feedback', 'server'] as const;

export type SystemActor = (typeof systemActors)[number];

export const actorTypes = ['user', 'key', 'contact', 'system'] as const;

export interface StoredActor {
  type: (typeof actorTypes)[number];
  /** If the type is `system`, the id is one of `systemActors`. */
  id: string;
}

/** Parses a stored actor; null: the actor is unknown. */
export function readActor(stored: string | null): StoredActor | null {
  const [word, id = ''] = stored?.split(':') ?? [];
  const type = actorTypes.find((one) => one === word);
  return type ? { type, id } : null;
}

const ofPerson = new Set(['public_page', 'one_click', 'double_opt_in']);
const ofReports = new Set(['bounce', 'complaint', 'provider']);
const byReader = new Set(['email.open', 'email.click', 'email.human_open', 'email.human_click']);
const reports = new Set(['email.delivery', 'email.bounce', 'email.complaint']);

/**
 * Returns the actor of an event that no request caused: the contact (through a link or page), a
 * mail server's report, received mail, a segment, or else the server.
 */
export function actorOfEvent(event: {
  name: string;
  contactId: string | null;
  data: Record<string, unknown> | null;
}): string {
  const { name, contactId, data } = event;
  const source = String(data?.['source']);
  const byContact = byReader.has(name) || ofPerson.has(source);
  if (byContact && contactId !== null) return `contact:${contactId}`;
  if (reports.has(name) || ofReports.has(source)) return systemActor('feedback');
  if (name === 'email.received' || source === 'inbound') return systemActor('inbound');
  return systemActor(name.startsWith('segment.') ? 'segment' : 'server');
}

export function systemActor(word: SystemActor): string {
  return `system:${word}`;
}

/**
 * Returns the name of an actor in the consent log: `pk`, `sk`, or the id of a user or named key.
 */
export function consentNameOf(stored: string | null): string | null {
  if (stored === 'key:secret') return 'sk';
  if (stored === 'key:public') return 'pk';
  return readActor(stored)?.id ?? null;
}
