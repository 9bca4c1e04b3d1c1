import { type RawBuilder, sql } from 'kysely';
import { addressDomain, isoTime } from '../expressions.ts';
import type { StoredEntry, TraceEntry } from './mail-trace.ts';

/**
 * SQL that is true if a message that had to wait has lost its sender: the domain is no longer
 * verified in its project. Other mail is sent so soon after it was accepted that it needs no second
 * check.
 * @param email the table or its alias.
 */
export function isSenderGone(email: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`((${column('scheduled_for')} is not null or ${column('held_until')} is not null
      or ${column('retried_at')} is not null)
    and not exists (select from domain inner_domain
    where inner_domain.project_id = ${column('project_id')} and inner_domain.status = 'verified'
      and inner_domain.name = ${addressDomain(column('from_email'))}))`;
}

/**
 * SQL that returns the host for the tracked links of mail from an address; null: that of the API.
 * @param email the table with `project_id` and `from_email`, or its alias.
 */
export function trackingHost(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql`(select inner_tracked.tracking_subdomain || '.' || inner_tracked.name
    from domain inner_tracked where inner_tracked.project_id = ${column('project_id')}
      and inner_tracked.name = ${addressDomain(column('from_email'))}
      and inner_tracked.status = 'verified' and inner_tracked.tracking_active)`;
}

/**
 * SQL that returns the arm of a message in the experiment of its campaign: the message's own arm in
 * the test group, otherwise the arm of the decision; null: none.
 * @param email the table with `arm` and `campaign_id`, or its alias.
 */
export function armOf(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<
    string | null
  >`coalesce(${column('arm')}, case when ${column('campaign_id')} is not null
    then (select inner_decided.arm from experiment inner_decided
      where inner_decided.campaign_id = ${column('campaign_id')}) end)`;
}

/**
 * SQL that returns the arm whose content a message gets, as `campaign_content.arm` has it. All
 * messages of a chunk have the same arm.
 * @param campaign the table or its alias.
 */
export function contentArm(campaign: string, emailId: RawBuilder<unknown>): RawBuilder<string> {
  const column = (name: string) => sql.ref(`${campaign}.${name}`);
  return sql<string>`case when ${column('experiment')} is null then '' else coalesce(
    (select inner_armed.arm from email inner_armed where inner_armed.id = ${emailId}),
    (select inner_won.arm from experiment inner_won
      where inner_won.campaign_id = ${column('id')}),
    -- All messages of the chunk were deleted.
    ${column('experiment')} -> 'arms' -> 0 ->> 'id') end`;
}

/**
 * SQL that reads the start of a message's first attempt from its trace. If the message had failed
 * and was retried, attempts before the retry do not count. Use this SQL only if the attempt was not
 * accepted, because the trace of an accepted first attempt may not have its start: see `traceOf`.
 * @param email the table or its alias.
 */
export function firstAttemptAt(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const since = sql`jsonb_build_object('since', coalesce(${isoTime(column('retried_at'))}, ''))`;
  return sql`jsonb_path_query_first(${column('trace')},
    '$[*] ? (@.state == "handed_over" && @.at >= $since)', ${since}) ->> 'at'`;
}

/**
 * SQL that is true if a project has, or has had, entries in its suppression list. If false, the
 * list need not be read.
 */
export function hasAddressKey(projectId: string) {
  return sql<boolean>`(select exists (select from suppression_key inner_address_key
    where inner_address_key.owner_id = (
      select coalesce(inner_owner_of_key.public_id, inner_owner_of_key.id)
        from project inner_owner_of_key where inner_owner_of_key.id = ${projectId})))`;
}

/**
 * SQL that is true if a project has or had routes to mail providers. Mail may still be bound to a
 * provider of a removed route.
 */
export function hasRouting(projectId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from mail_routing inner_routing
    where inner_routing.project_id = ${projectId})`;
}

/** Messages of a claimed chunk that go to one provider: an item of `campaign_chunk.routed`. */
export interface RoutedPart {
  /** null: the default provider, without a route. */
  providerId: string | null;
  /** Trace entries that the messages get with their outcomes. */
  trace: readonly TraceEntry[];
  /** Trace entries of messages whose first attempt is accepted: see `shortRouted`. */
  plain: readonly StoredEntry[];
  emailIds: readonly string[];
}

/**
 * SQL that selects the providers that chunks name for their messages, as a subquery with the
 * columns `id` (of the message), `provider_id`, `trace` and `plain`.
 * @param chunks SQL of a table or query with the column `routed`
 */
export function routedIn(chunks: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select inner_routed_id::uuid as id, inner_part ->> 'providerId' as provider_id,
      inner_part -> 'trace' as trace, inner_part -> 'plain' as plain
    from ${chunks} as inner_chunk cross join jsonb_array_elements(inner_chunk.routed) as inner_part
      cross join jsonb_array_elements_text(inner_part -> 'emailIds') as inner_routed_id)`;
}

/** SQL like that of `routedIn`, for the chunk that an attempt has claimed. */
export function routedBy(attemptId: string): RawBuilder<unknown> {
  return routedIn(sql`(select inner_claim.routed from campaign_chunk inner_claim
    where inner_claim.attempt_id = ${attemptId})`);
}

/**
 * SQL that returns the mail provider that has a message, or has had it last; null: the default
 * provider, without a route. While a chunk is claimed, the row of the chunk has the providers of
 * its messages, and the rows of the messages do not have them yet.
 * @param email the table or its alias.
 */
export function providerOf(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<string | null>`(case when ${column('status')} = 'PENDING'
      and ${column('campaign_id')} is not null
    then coalesce((select inner_own -> 'providerId' from campaign_chunk inner_holder
        cross join jsonb_array_elements(inner_holder.routed) as inner_own
      where inner_holder.project_id = ${column('project_id')}
        and inner_holder.attempt_id is not null
        and ${column('id')} = any(inner_holder.email_ids)
        and inner_own -> 'emailIds' ? ${column('id')}::text),
      to_jsonb(${column('provider_id')})) #>> '{}'
    else ${column('provider_id')} end)`;
}

/**
 * SQL that is true if a message is sent once more although its provider may have accepted it. No
 * other provider may get it.
 * @param email the table or its alias.
 */
export function isBound(email: string): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${email}.attempts`)} > 0
    and ${sql.ref(`${email}.trace`)} @> '[{"state": "settled"}]')`;
}
