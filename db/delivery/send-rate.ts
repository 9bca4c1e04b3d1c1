import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf, onlyRow } from '../expressions.ts';

/** Sending limits in messages per second; 0: no limit. */
export interface SendingRates {
  perSecond: number;
  perProjectPerSecond: number;
}

/** The limit that a campaign sets for its own mail. */
export interface CampaignRate {
  campaignId: string;
  /** null: no limit. */
  maxPerMinute: number | null;
}

/**
 * Takes up to `wanted` sending tokens. Each token is taken from all buckets that apply: of the
 * server, the project and the campaign. A full bucket has one token less than its limit per second,
 * and at least one. Returns the number of granted tokens, and a wait in milliseconds. If no token
 * was granted, a token is free after this wait. If `urgent` has reserved tokens, they may be used
 * after this wait.
 * @param projectId null: mail of the platform, for which only the server's limit counts.
 * @param options.urgent goes before other mail: if a bucket is empty, reserves its next tokens,
 * first come, first served.
 */
export async function takeSendingTokens(
  db: Database,
  rates: SendingRates,
  projectId: string | null,
  wanted: number,
  { urgent = false, campaign }: { urgent?: boolean; campaign?: CampaignRate } = {},
): Promise<{ granted: number; waitMs: number }> {
  const buckets = bucketsOf(rates, projectId, campaign);
  if (buckets.length === 0) return { granted: wanted, waitMs: 0 };
  return takeTokens(db, buckets, wanted, urgent);
}

async function takeTokens(
  db: Database,
  buckets: readonly { key: string; rate: number }[],
  wanted: number,
  urgent: boolean,
): Promise<{ granted: number; waitMs: number }> {
  const { rows } = await sql<{ granted: number; wait_ms: number }>`
    select granted, wait_ms from take_sending_tokens(${buckets.map(({ key }) => key)}::text[],
      ${buckets.map(({ rate }) => rate)}::float8[], ${wanted}, ${urgent})`.execute(db);
  const taken = onlyRow(rows);
  return { granted: taken.granted, waitMs: taken.wait_ms };
}

/**
 * Takes tokens for a mail provider with a rate limit. Returns the number of messages that may be
 * sent, and the milliseconds until they may be sent. If the number is 0, the caller may ask again
 * after this time.
 * @param limit.waitMsMax tokens that can be used only later than this are not taken
 */
export async function takeProviderTokens(
  db: Database,
  limit: { providerId: string; ratePerSecond: number; waitMsMax: number },
  wanted: number,
  { urgent }: { urgent: boolean },
): Promise<{ granted: number; waitMs: number }> {
  const key = providerBucket(limit.providerId);
  const taken = await takeTokens(db, [{ key, rate: limit.ratePerSecond }], wanted, urgent);
  if (taken.granted === 0 || taken.waitMs <= limit.waitMsMax) return taken;
  await returnTokens(db, [key], taken.granted);
  return { granted: 0, waitMs: taken.waitMs };
}

/** Returns the buckets that limit a project's mail, or the mail of one campaign. */
export function bucketsOf(
  rates: SendingRates,
  projectId: string | null,
  campaign?: CampaignRate,
): { key: string; rate: number }[] {
  const perMinute = campaign?.maxPerMinute ?? 0;
  return [
    ...(campaign ? [{ key: campaignBucket(campaign.campaignId), rate: perMinute / 60 }] : []),
    { key: `project ${projectId}`, rate: projectId === null ? 0 : rates.perProjectPerSecond },
    { key: 'server', rate: rates.perSecond },
  ].filter((bucket) => bucket.rate > 0);
}

function campaignBucket(campaignId: string): string {
  return `campaign ${campaignId}`;
}

function providerBucket(providerId: string): string {
  return `provider ${providerId}`;
}

/** Deletes the buckets of deleted mail providers. */
export async function deleteProviderBuckets(
  tx: Database,
  providerIds: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('token_bucket')
    .where('key', '=', anyOf(providerIds.map(providerBucket), 'text'))
    .execute();
}

/** Deletes the bucket of a campaign that has ended. */
export async function deleteCampaignBucket(tx: Database, campaignId: string): Promise<void> {
  await tx.deleteFrom('token_bucket').where('key', '=', campaignBucket(campaignId)).execute();
}

/**
 * Returns the milliseconds for which non-urgent mail pauses when a bucket is empty: until the
 * bucket is full, about a second. 0: each bucket has a token.
 */
export async function findTokensDue(
  db: Database,
  rates: SendingRates,
  projectId: string,
  campaign?: CampaignRate,
): Promise<number> {
  const buckets = bucketsOf(rates, projectId, campaign);
  if (buckets.length === 0) return 0;
  const { rows } = await sql<{ ms: number }>`
    select coalesce(ceil(max((greatest(rate - 1, 1) - tokens) / rate * 1000)), 0)::float8 as ms
      from (select rate,
            tokens + extract(epoch from clock_timestamp() - refilled_at)::float8 * rate as tokens
          from token_bucket join unnest(${buckets.map(({ key }) => key)}::text[],
            ${buckets.map(({ rate }) => rate)}::float8[]) as wanted(key, rate) using (key)) bucket
      where tokens < 1`.execute(db);
  return rows[0]?.ms ?? 0;
}

/** Returns unused tokens to their buckets. */
export async function returnSendingTokens(
  db: Database,
  rates: SendingRates,
  projectId: string,
  unused: number,
  campaign?: CampaignRate,
): Promise<void> {
  const keys = bucketsOf(rates, projectId, campaign).map(({ key }) => key);
  if (keys.length > 0 && unused > 0) await returnTokens(db, keys, unused);
}

async function returnTokens(db: Database, keys: readonly string[], unused: number): Promise<void> {
  // Lock the buckets in the order of `take_sending_tokens`, so that the two cannot deadlock.
  await sql`
    with held as (
      select key from token_bucket where key = any(${keys}::text[]) order by key for update
    )
    update token_bucket set tokens = tokens + ${unused}
      from held where token_bucket.key = held.key`.execute(db);
}
