import { sql } from 'kysely';
import { interpolate, type TextTemplate } from '../../domain/mail/skeleton.ts';
import type { Database } from '../database.ts';

/** The stored form of a body: the body itself, or a body template with the values of the row. */
export interface KeptBody {
  body: string | null;
  body_template: string | null;
  body_values: unknown;
  campaign_id: string | null;
  /** Values of the slots `emailId` and `contactId`. */
  email_id: string | null;
  contact_id: string | null;
}

/** Returns the bodies of emails, in the same order; null for a deleted one. */
export async function readBodies(
  db: Database,
  projectId: string,
  emails: readonly KeptBody[],
): Promise<(string | null)[]> {
  const keyOf = (campaignId: string | null, template: string | null) => `${campaignId} ${template}`;
  const templated = emails.filter((email) => email.body_values !== null);
  const wanted = new Map(
    templated.map((email) => [keyOf(email.campaign_id, email.body_template), email]),
  );
  if (wanted.size === 0) return emails.map(({ body }) => body);
  const found = await db
    .selectFrom('body_template')
    .select(['campaign_id', 'hash', 'body'])
    .where('project_id', '=', projectId)
    .where(
      sql<boolean>`(campaign_id, hash) in (select named.campaign_id, named.hash from unnest(
        ${[...wanted.values()].map((email) => email.campaign_id)}::uuid[],
        ${[...wanted.values()].map((email) => email.body_template)}::text[]) as named(campaign_id, hash))`,
    )
    .execute();
  const templates = new Map(
    found.map((row) => [keyOf(row.campaign_id, row.hash), row.body as unknown as TextTemplate]),
  );
  return emails.map((email) => {
    if (email.body_values === null) return email.body;
    const template = templates.get(keyOf(email.campaign_id, email.body_template));
    return template ? bodyOf(template, email) : null;
  });
}

function bodyOf(template: TextTemplate, email: KeptBody): string {
  const values = email.body_values as string[];
  const ids = { contactId: email.contact_id ?? '', emailId: email.email_id ?? '' };
  return interpolate(template, (slot) =>
    typeof slot === 'number' ? (values[slot] ?? '') : ids[slot],
  );
}
