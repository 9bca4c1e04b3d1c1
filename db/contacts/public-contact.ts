import type { Database } from '../database.ts';

/** A contact as the public pages show it. These pages are called with the contact's id alone. */
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
   * Address to which the mail with the link went, if not to the contact: the page then names it,
   * and `subscribed` says if that address may get marketing mail. Absent: the contact itself reads
   * the page.
   */
  reader?: string;
}

/** Finds the contact in any project; undefined when there is none. */
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
