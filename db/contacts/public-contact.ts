import type { Database } from '../database.ts';

/**
 * A contact as the public pages show it. The URL of these pages contains the contact's id and needs
 * no sign-in.
 */
export interface PublicContact {
  id: string;
  project_id: string;
  email: string;
  subscribed: boolean;
  /** The state of the contact's newest opt-in request; null: there was none. */
  consent: string | null;
  data: Record<string, unknown> | null;
  project_language: string;
  project_name: string;
  /**
   * True if a subscription through a page must be confirmed by mail. A link in a mail to the
   * contact needs no confirmation, because it proves the address.
   */
  opt_in_required: boolean;
  /**
   * Address that got the mail with the link, if this is not the contact's address. The page then
   * names this address, and `subscribed` says if this address may get marketing mail. Absent: the
   * contact reads the page.
   */
  reader?: string;
}

/** Finds a contact in any project by its id; undefined when there is none. */
export async function findPublicContact(
  db: Database,
  id: string,
): Promise<PublicContact | undefined> {
  const row = await publicContact(db, id).executeTakeFirst();
  return row as PublicContact | undefined;
}

export function publicContact(db: Database, id: string) {
  return db
    .selectFrom('contact')
    .innerJoin('project', 'project.id', 'contact.project_id')
    .select(['contact.id', 'contact.project_id', 'contact.email', 'contact.subscribed'])
    .select(['contact.data', 'contact.consent', 'project.language as project_language'])
    .select(['project.name as project_name', 'project.opt_in_required'])
    .where('contact.id', '=', id)
    .where('project.removal', 'is', null);
}
