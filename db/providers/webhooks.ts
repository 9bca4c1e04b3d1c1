import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** A mail provider whose service sends reports to a webhook of Everpost. */
export interface ReportingProvider {
  id: string;
  projectId: string;
  feedback: string;
  /** The secret that protects the provider's webhooks, encrypted; null: it has none. */
  secret: Buffer | null;
}

/**
 * Finds a provider by its id and token. A token that was replaced in the last 24 hours is still
 * accepted.
 * @param tokenHash SHA-256 of the token
 */
export async function findReportingProvider(
  db: Database,
  id: string,
  tokenHash: Buffer,
): Promise<ReportingProvider | undefined> {
  return db
    .selectFrom('mail_provider')
    .select(['id', 'project_id as projectId', 'feedback', 'feedback_secret as secret'])
    .where('id', '=', id)
    .where((is) =>
      is.or([
        is('feedback_token_hash', '=', tokenHash),
        is.and([
          is('former_token_hash', '=', tokenHash),
          is('former_token_until', '>', is.fn<Date>('now')),
        ]),
      ]),
    )
    .executeTakeFirst();
}

/**
 * Maximum number of providers that are found for one topic; several projects may share an account.
 * The oldest come first, so that providers added later never hide them.
 */
const topicProvidersMax = 100;

/** Returns the providers that report through an Amazon SNS topic. */
export async function findTopicProviders(
  db: Database,
  topic: string,
): Promise<{ providerId: string; projectId: string }[]> {
  return db
    .selectFrom('mail_provider')
    .select(['id as providerId', 'project_id as projectId'])
    .where(sql<boolean>`settings->>'snsTopicArn' = ${topic}`)
    .orderBy('created_at')
    .orderBy('id')
    .limit(topicProvidersMax)
    .execute();
}
