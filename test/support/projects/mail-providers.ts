import { hash, randomBytes } from 'node:crypto';
import { type Insertable, sql } from 'kysely';
import type { DB } from '../../../db/tables.ts';
import type { Database } from '../../../db/database.ts';
import type { TestApi } from '../api.ts';
import { recordProviderFailures } from '../../../db/delivery/provider-circuit.ts';
import { takeProviderTokens } from '../../../db/delivery/send-rate.ts';
import { circuitName } from '../../../domain/provider/provider.ts';
import { writeMail } from '../mail-tables.ts';

/** Inserts a mail provider of a project. Returns its id and the path of its webhooks. */
export async function insertTestProvider(
  { db, services }: Pick<TestApi, 'db' | 'services'>,
  projectId: string,
  given: { feedback: string; feedbackSecret?: string } & Partial<Insertable<DB['mail_provider']>>,
): Promise<{ id: string; path: string }> {
  const { feedbackSecret, ...fields } = given;
  const token = randomBytes(32).toString('hex');
  const { id } = await db
    .insertInto('mail_provider')
    .values({
      project_id: projectId,
      name: `Provider ${token.slice(0, 8)}`,
      kind: 'smtp',
      settings: JSON.stringify({
        host: 'smtp.service.example',
        port: 587,
        security: 'starttls',
        user: null,
      }),
      feedback_secret:
        feedbackSecret === undefined ? null : services.cipher.encrypt(feedbackSecret),
      feedback_token_hash: hash('sha256', token, 'buffer'),
      ...fields,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, path: `/webhooks/providers/${id}/${token}` };
}

/** Inserts sent mails to new contacts, as accepted by a provider. */
export async function insertTakenMails(
  db: Database,
  {
    projectId,
    providerId,
    campaignId,
  }: {
    projectId: string;
    /** null: the default provider. */
    providerId: string | null;
    campaignId?: string;
  },
  count: number,
): Promise<{ emailId: string; to: string; contactId: string }[]> {
  const { rows: contacts } = await sql<{ id: string; email: string }>`
    insert into contact (project_id, email, subscribed)
      select ${projectId}, n || '-' || gen_random_uuid() || '@x.example', true
        from generate_series(1, ${count}::int) n
      returning id, email`.execute(db);
  const mails = await writeMail(db, (tx) =>
    tx
      .insertInto('email')
      .values(
        contacts.map(({ id, email }) => ({
          project_id: projectId,
          contact_id: id,
          campaign_id: campaignId ?? null,
          to_email: email,
          subject: 'Hi',
          body: null,
          from_email: 'team@shop.test',
          message_class: 'MARKETING',
          source_type: campaignId ? 'CAMPAIGN' : 'TRANSACTIONAL',
          status: 'SENT',
          sent_at: new Date(),
          provider_id: providerId,
        })),
      )
      .returning(['id', 'to_email', 'contact_id'])
      .execute(),
  );
  return mails.map(({ id, to_email, contact_id }) => ({
    emailId: id,
    to: to_email,
    contactId: contact_id,
  }));
}

/**
 * Inserts the rows that mail of a provider may leave in the database: an open circuit, and token
 * buckets.
 */
export async function insertProviderState(db: Database, providerId: string): Promise<void> {
  const failures = { count: 3, isProbe: false, hasAccepted: false };
  await recordProviderFailures(db, circuitName(providerId), failures);
  const limit = { providerId, ratePerSecond: 10, waitMsMax: 1_000 };
  await takeProviderTokens(db, limit, 1, { urgent: false });
}

/** Counts the circuits and token buckets of a provider. */
export async function countProviderState(db: Database, providerId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from provider_circuit where provider like ${`%${providerId}`})::int
        + (select count(*) from token_bucket where key like ${`%${providerId}`})::int as count`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}
