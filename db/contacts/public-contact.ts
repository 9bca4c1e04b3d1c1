import type { Database } from '../database.ts';

/** A contact for the public pages, which are called with its id alone. */
export interface PublicContact {
  id: string;
  project_id: string;
  email: string;
  subscribed: boolean;
  /** The state of its newest opt-in request; null: there was none. */
  consent: string | null;
  data: Record<string, unknown> | null;
  project_language: string;
  project_name: string;
  /** True if a request for mail must be confirmed, unless a mail to the contact proves who asks. */
  opt_in_required: boolean;
  /**
   * Absent: the contact itself reads the page. Else the address to which the mail with the link went: the
   * page speaks of it, and `subscribed` says whether it may get marketing mail.
   */
  reader?: string;
}

/** The contact of any project; undefined when there is none. */
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
