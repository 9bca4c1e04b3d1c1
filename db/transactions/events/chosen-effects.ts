import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import {
  eventScopes,
  type EventScopesJson,
  namedContext,
  namesContext,
  readEventScopes,
} from '../../sql/event-conditions.ts';
import { digestOf } from '../../workflows/executions/digest-events.ts';
import { newSlot, startRefusal } from '../../workflows/executions/start-rules.ts';
import {
  chooseEffects as chooseAmong,
  type EventEffects,
  type StartCandidate,
  type StartChoice,
  type WaitCandidate,
} from '../../../domain/workflow/event-effects.ts';

/**
 * Effects that depend on the data of an event, or whose refusal is recorded in `not_started`: ends
 * of waits with conditions, digests, and starts with conditions, keys or other rules of re-entry.
 * This file chooses them, and the statement in `record-events.ts` makes them.
 */

/**
 * SQL that is true if this file must decide whether an event starts the workflow in the row
 * `workflow`. The statement in `record-events.ts` starts other workflows without a decision.
 */
export const mustBeChosen = sql<boolean>`(workflow.trigger_where is not null
  or workflow.execution_key is not null or workflow.reentry_mode = 'parallel'
  or workflow.reentry_min_interval is not null)`;

/**
 * SQL that is true for a workflow, in the row `workflow`, that an event triggers.
 * @param event the alias of the event's row
 */
export function isTriggeredBy(event: string) {
  return sql<boolean>`workflow.trigger_event_name = ${sql.ref(`${event}.name`)}
    and workflow.enabled and workflow.trigger_type = 'EVENT'`;
}

/** SQL that is true for a `recorded` event that may end a wait, or that a digest may take. */
export function isEnding(wait: string): RawBuilder<boolean> {
  const ofWait = (name: string) => sql.ref(`${wait}.${name}`);
  return sql`${ofWait('contact_id')} = recorded.contact_id
          and ${ofWait('event_name')} = recorded.name and ${ofWait('event_id')} is null
          -- A digest takes events until it is closed, which may be a little after its end, so no
          -- event is lost.
          and (${ofWait('digest')} is not null or ${ofWait('expires_at')} is null
            or ${ofWait('expires_at')} > recorded.recorded_at)`;
}

/**
 * SQL that is false if the data of an event lack values that the conditions of a wait require
 * (`required_data`). Both parameters are aliases.
 */
export function hasRequired(wait: string, event: string): RawBuilder<boolean> {
  const required = sql.ref(`${wait}.required_data`);
  return sql`(${required} is null or ${sql.ref(`${event}.data`)} @> ${required})`;
}

/** SQL that is true for a `wait` and a `recorded` event that was chosen to end it. */
export function isChosenEnd(chosen: EventEffects['waits']): RawBuilder<boolean> {
  return sql`(wait.step_execution_id, recorded.id) in (
            select inner_chosen.id, inner_chosen.event_id
              from unnest(${chosen.map(({ id }) => id)}::uuid[],
                ${chosen.map(({ eventId }) => eventId)}::uuid[]) as inner_chosen(id, event_id))`;
}

interface Candidates {
  waits: WaitCandidate[];
  starts: StartCandidate[];
  scopes: EventScopesJson;
}

/**
 * Chooses the effects of just recorded events of one project. One statement reads all candidates.
 */
export async function chooseEffects(
  tx: Database,
  projectId: string,
  events: readonly { id: string }[],
): Promise<EventEffects> {
  const { rows } = await sql<Candidates>`
    with recorded as materialized (
      select id, contact_id, name, data, recorded_at from event
        where id = ${anyOf(events.map(({ id }) => id))} and contact_id is not null
    )
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', wait.step_execution_id,
            'eventId', recorded.id, 'where', wait.conditions, 'digest', digest.candidate,
            'context', case when ${namesContext(sql`wait.conditions`)} then (
              select ${namedContext(sql`execution.context`, sql`wait.conditions`)}
                from execution where execution.id = wait.execution_id) end)
            order by recorded.recorded_at, recorded.id, digest.began_at, wait.execution_id), '[]')
          from recorded join wait on ${isEnding('wait')} and ${hasRequired('wait', 'recorded')}
          left join lateral ${digestOf('wait')} digest on true
          where wait.digest is null or digest.candidate is not null) as waits,
      (select coalesce(jsonb_agg(jsonb_build_object('workflowId', workflow.id,
            'eventId', recorded.id, 'where', workflow.trigger_where,
            'executionKey', workflow.execution_key)), '[]')
          from recorded join workflow
            on workflow.project_id = ${projectId} and ${isTriggeredBy('recorded')}) as starts,
      ${eventScopes(sql`in (select id from recorded)`)} as scopes`.execute(tx);
  const { scopes, ...candidates } = rows[0] ?? { waits: [], starts: [], scopes: {} };
  return chooseAmong(candidates, readEventScopes(scopes));
}

/**
 * SQL that makes a table `judged`: the chosen starts, each with the reason why it is refused, or
 * null. It also records some of the refusals in `not_started`.
 */
export function judging(chosen: readonly StartChoice[]) {
  const start = { contactId: sql`recorded.contact_id`, key: sql`given.key` };
  return sql`judged as materialized (
      select given."eventId" as event_id, given."workflowId" as workflow_id, given.key,
          coalesce(given.fault, ${startRefusal('workflow', start)}) as refusal,
          ${newSlot('workflow', sql`given.key`)} as slot
        from jsonb_to_recordset(${JSON.stringify(chosen)}::jsonb)
          as given("eventId" uuid, "workflowId" uuid, key text, fault text)
        join recorded on recorded.id = given."eventId"
        join workflow on workflow.id = given."workflowId"
    ), noted as (
      insert into not_started (project_id, workflow_id, contact_id, event_name, reason, at)
        select workflow.project_id, workflow.id, recorded.contact_id, recorded.name,
            judged.refusal, recorded.created_at
          from judged join recorded on recorded.id = judged.event_id
          join workflow on workflow.id = judged.workflow_id
          join project on project.id = workflow.project_id and project.disabled_reason is null
          where judged.refusal in ('no_key', 'key_too_long', 'too_many')
    )`;
}
