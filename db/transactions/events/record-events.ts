import { sql } from 'kysely';
import { notifyAfterCommit } from '../../commits.ts';
import type { Database } from '../../database.ts';
import { lockContacts } from '../../contacts/contacts.ts';
import { anyOf, isoTime } from '../../expressions.ts';
import { replacingEarlier, signalExecutions } from '../../outbox/outbox.ts';
import { isExitEvent, isGoalEvent, mayBeEnded } from '../../sql/event-conditions.ts';
import { takeEvents } from '../../workflows/executions/digest-events.ts';
import { isTaken, unlessStarted } from '../../workflows/executions/start-rules.ts';
import { itemsMatch } from '../../sql/subscribed-events.ts';
import {
  chooseEffects,
  hasRequired,
  isChosenEnd,
  isEnding,
  isTriggeredBy,
  judging,
  mustBeChosen,
} from './chosen-effects.ts';
import { recordConversions } from './conversions.ts';
import { applyExitRules } from '../executions/exit-executions.ts';
import { limits } from '../../../domain/limits.ts';
import { actorOfEvent } from '../../../domain/access/actor.ts';
import type { EventEffects, StartChoice } from '../../../domain/workflow/event-effects.ts';
import { notedSubscription } from '../../../domain/runs/runs.ts';
import { bug } from '../../../domain/errors.ts';

export interface NewEvent {
  contactId: string | null;
  name: string;
  data: Record<string, unknown> | null;
  emailId?: string | null;
  /** The actor that caused the event; null or absent: see `actorOfEvent`. */
  causedBy?: string | null;
}

export interface ProjectEvent extends NewEvent {
  projectId: string;
}

export interface RecordedEvent {
  id: string;
  contactId: string | null;
  createdAt: Date;
}

/**
 * Records events with all their effects, in the caller's transaction. First, goals get their
 * conversions. Then the events end executions by exit rules. Last, they end waits, are taken by
 * digests, and start executions: each event starts at most one execution of each enabled workflow
 * that it triggers.
 *
 * In a disabled project, no execution starts. Events still occur there, because people can opt out
 * and providers report. An execution at the end of a long chain of causes fails as soon as it
 * starts (`chainFault`).
 *
 * The contacts are locked first and in order, unless the caller holds them. So a wait that is being
 * registered (see `registerWait`) comes before or after these events, never in between.
 * @param options.executionId the execution whose step caused the events. Events of mail do not need
 * it, because the row of the mail has its execution.
 */
export async function recordEvents(
  tx: Database,
  projectId: string,
  events: readonly NewEvent[],
  options: { contactsLocked?: boolean; executionId?: string | undefined } = {},
): Promise<RecordedEvent[]> {
  if (!options.contactsLocked) {
    await lockContacts(
      tx,
      events.flatMap(({ contactId }) => contactId ?? []),
    );
  }
  const ofProject = events.map((event) => ({ ...event, projectId }));
  return recordEventsOfProjects(tx, ofProject, options);
}

/**
 * Records events of any projects by one statement, as `recordEvents` does, in the transaction of a
 * caller who holds their contacts. The effects are applied project by project, in the order of the
 * projects' ids.
 */
export async function recordEventsOfProjects(
  tx: Database,
  events: readonly ProjectEvent[],
  options: { executionId?: string | undefined } = {},
): Promise<RecordedEvent[]> {
  // A separate statement after the locks, so that its snapshot has every wait that was registered
  // before the locks.
  const { rows } = await sql<InsertedEvent>`
    insert into event (project_id, contact_id, email_id, name, data)
      select project_id, contact_id, email_id, name, nullif(data, 'null')
        from jsonb_to_recordset(${recordsOf(events)}::jsonb)
          as given(project_id uuid, contact_id uuid, email_id uuid, name text, data jsonb)
      returning id, project_id as "projectId", contact_id as "contactId", name,
        created_at as "createdAt",
        -- Not "exists", because the planner expects a hundred events, and would read all waits.
        -- Null: no wait may take the event.
        (select case when count(*) > 0 then count(coalesce(conditions, digest))::int end from wait
          where wait.contact_id = event.contact_id and wait.event_name = event.name
            and wait.event_id is null and ${hasRequired('wait', 'event')}) as "chosenWaits",
        (select bool_or(${mustBeChosen}) from workflow
          where workflow.project_id = event.project_id and ${isTriggeredBy('event')}) as "choosesStarts",
        case when ${isExitEvent('event')}
          then coalesce((select true from execution where ${mayBeEnded('execution', 'event')} limit 1), false)
          end as "mayExit",
        ${isGoalEvent('event')} as "isGoal",
        (select array_agg(id) from event_subscription subscription
          where subscription.project_id = event.project_id and enabled
            and ${itemsMatch(sql`subscription.events`, sql`event.name`)}) as "subscriptionIds"`.execute(
    tx,
  );
  notifyAfterCommit(
    tx,
    rows.flatMap(({ projectId, subscriptionIds }) =>
      (subscriptionIds ?? []).map((id) => notedSubscription(projectId, id)),
    ),
  );
  await recordConversions(
    tx,
    rows.filter(({ isGoal }) => isGoal).map(({ id }) => id),
  );
  const causes = new Map(events.map((event) => [causeKey(event), event]));
  const caused = rows.map((row) => {
    const event = causes.get(causeKey(row))!;
    return { ...row, causedBy: event.causedBy ?? actorOfEvent(event) };
  });
  const effective = caused.filter((event) => hasEffects(event) || event.mayExit !== null);
  for (const projectId of [...new Set(effective.map((row) => row.projectId))].toSorted()) {
    const own = effective.filter((row) => row.projectId === projectId);
    for (const [turn, events] of inTurns(own).entries()) {
      // Later events may end executions that earlier ones have started.
      const isExit = ({ mayExit }: CausedEvent) => mayExit || (mayExit !== null && turn > 0);
      const exits = events.filter(isExit).map(({ id }) => id);
      if (exits.length > 0) await applyExitRules(tx, exits);
      const others = events.filter(hasEffects);
      const plain = others.filter((event) => !isChoice(event));
      const { executionId = null } = options;
      if (plain.length > 0) await applyEffects(tx, { projectId, executionId, events: plain });
      const choices = others.filter(isChoice);
      for (const page of inPages(choices)) {
        const chosen = await chooseEffects(tx, projectId, page);
        await fillDigests(tx, chosen);
        if (chosen.waits.length + chosen.starts.length === 0) continue;
        await applyEffects(tx, { projectId, executionId, events: page, chosen });
      }
    }
  }
  return rows;
}

/** The events of one request with the same contact and name have the same cause. */
function causeKey({ projectId, contactId, name }: Omit<ProjectEvent, 'data'>): string {
  return `${projectId} ${contactId} ${name}`;
}

/** An event with its actor. */
type CausedEvent = InsertedEvent & { causedBy: string };

/** An event that was just recorded, and which effects it may have. */
interface InsertedEvent extends RecordedEvent {
  projectId: string;
  name: string;
  /**
   * Number of waits with conditions, and of digests, that may use the event. 0: only waits without
   * conditions may end. null: no wait or digest may use the event.
   */
  chosenWaits: number | null;
  /**
   * True if the event triggers a workflow whose starts must be chosen; false if it triggers only
   * other workflows; null: it triggers none.
   */
  choosesStarts: boolean | null;
  /**
   * True if an exit rule uses the event, and the event's contact is in the workflow of the rule;
   * false if the contact is in no such workflow; null: no exit rule uses the event.
   */
  mayExit: boolean | null;
  /** True if the event is the goal of a campaign or workflow. */
  isGoal: boolean | null;
  /** Subscriptions that deliver the event; null: none. */
  subscriptionIds: string[] | null;
}

/** Returns true if an event may end a wait, be taken by a digest or start an execution. */
function hasEffects({ chosenWaits, choosesStarts }: InsertedEvent): boolean {
  return chosenWaits !== null || choosesStarts !== null;
}

/** Returns true if effects of an event must be chosen: see `chosen-effects.ts`. */
function isChoice({ chosenWaits, choosesStarts }: InsertedEvent): boolean {
  return (chosenWaits ?? 0) > 0 || choosesStarts === true;
}

/**
 * Splits events into turns that are applied one after the other, each with at most one event of a
 * contact. One turn is enough if no event may end an execution that an earlier event has started,
 * or prevent a later start.
 */
function inTurns(events: readonly CausedEvent[]): CausedEvent[][] {
  if (events.every((event) => event.mayExit === null && !isChoice(event))) return [[...events]];
  const counts = new Map<string | null, number>();
  const turns: CausedEvent[][] = [];
  for (const event of events) {
    const turn = counts.get(event.contactId) ?? 0;
    counts.set(event.contactId, event.contactId === null ? 0 : turn + 1);
    (turns[turn] ??= []).push(event);
  }
  return turns;
}

/** Lets digests take their events, and signals the runs of digests that are full. */
async function fillDigests(tx: Database, { digests }: EventEffects): Promise<void> {
  const taken = digests.map(({ id, eventId }) => ({ id: eventId, stepExecutionId: id }));
  await signalExecutions(tx, await takeEvents(tx, taken));
}

/**
 * Maximum number of events on a page, because the waits that they may end are in memory together.
 */
const eventsAtOnce = 100;
/** Maximum number of waits with conditions that the events on a page may end. */
const waitsAtOnce = 1_000;

/**
 * Splits events into pages whose candidates fit into memory. An event with more than `waitsAtOnce`
 * waits is a page of its own.
 */
function inPages(events: readonly CausedEvent[]): CausedEvent[][] {
  const pages: CausedEvent[][] = [];
  let waits = 0;
  for (const event of events) {
    const page = pages.at(-1);
    waits += event.chosenWaits ?? 0;
    if (page && page.length < eventsAtOnce && waits <= waitsAtOnce) page.push(event);
    else {
      pages.push([event]);
      waits = event.chosenWaits ?? 0;
    }
  }
  return pages;
}

/**
 * Lets just recorded events end waits and start executions. A separate statement, because most
 * events have no effect, and preparing to write all these tables costs more than recording an
 * event.
 */
async function applyEffects(
  tx: Database,
  given: {
    projectId: string;
    executionId: string | null;
    events: readonly { id: string; causedBy: string }[];
    chosen?: EventEffects;
  },
): Promise<void> {
  const { projectId, executionId, events, chosen } = given;
  const starts = chosen ? chosenStarts(chosen.starts) : plainStarts(projectId);
  const { rows } = await sql<{ runId: string; isStart: boolean }>`
    with recorded as (
      select id, contact_id, email_id, name, data, created_at, recorded_at, actor.caused_by
        from event join unnest(
            ${events.map(({ id }) => id)}::uuid[],
            ${events.map(({ causedBy }) => causedBy)}::text[]) as actor(id, caused_by) using (id)
        where id = ${anyOf(events.map(({ id }) => id))}
    ), ${starts.tables} matched as (
      update wait set event_id = recorded.id
        from recorded
        where ${isEnding('wait')}
          ${chosen ? sql`and ${isChosenEnd(chosen.waits)}` : sql``}
        returning wait.step_execution_id, wait.execution_id
    ), started as (
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
          current_step_id, context, starting_event_id, depth, status, error, completed_at, key, slot,
          caused_by)
        select workflow.project_id, workflow.id, workflow.version, workflow.name,
            recorded.contact_id, step.id, recorded.data, recorded.id, cause.depth,
            case when chain.fault is null then 'RUNNING' else 'FAILED' end, chain.fault,
            case when chain.fault is not null then clock_timestamp() end,
            ${starts.key}, ${starts.slot},
            case when cause.depth > 0 then cause.actor else recorded.caused_by end
          from recorded ${starts.choices}
          join workflow on ${starts.isStarted}
          join workflow_step step on step.workflow_id = workflow.id and step.type = 'TRIGGER'
          cross join lateral ${causeOf(executionId)} cause
          cross join lateral ${chainFault} chain
          where recorded.contact_id is not null
            and not exists (select from project
              where project.id = ${projectId} and project.disabled_reason is not null)
            and ${starts.mayStart}
          order by workflow.id
          -- If the workflow is being deleted, this waits for the deletion, and then starts nothing.
          for key share of workflow
        ${unlessStarted}
        returning id, project_id, current_step_id, started_at, workflow_id, status
    ), triggered as (
      insert into step_execution (project_id, execution_id, step_id, status, output,
          started_at, completed_at)
        select started.project_id, started.id, started.current_step_id, 'COMPLETED',
            jsonb_build_object('triggered', true, 'eventName', workflow.trigger_event_name,
              'timestamp', ${isoTime(sql`started.started_at`)}),
            started.started_at, started.started_at
          from started join workflow on workflow.id = started.workflow_id
    ), enqueued as (
      ${enqueueing(projectId)}
    )
    select run_id as "runId", action = 'start' as "isStart" from enqueued`.execute(tx);
  notifyAfterCommit(
    tx,
    rows.map((run) => ({ ...run, projectId })),
  );
}

/** Returns the parts of the statement in `applyEffects` for starts that need no choice. */
function plainStarts(projectId: string) {
  return {
    tables: sql``,
    choices: sql``,
    isStarted: sql`workflow.project_id = ${projectId} and ${isTriggeredBy('recorded')}`,
    mayStart: sql`not ${isTaken('workflow', sql`recorded.contact_id`)}`,
    key: sql`null::text`,
    slot: sql`''`,
  };
}

/** Returns the parts of the statement in `applyEffects` for chosen starts. */
function chosenStarts(chosen: readonly StartChoice[]) {
  return {
    tables: sql`${judging(chosen)},`,
    choices: sql`join judged on judged.event_id = recorded.id`,
    isStarted: sql`workflow.id = judged.workflow_id and workflow.enabled`,
    mayStart: sql`judged.refusal is null`,
    key: sql`judged.key`,
    slot: sql`judged.slot`,
  };
}

function recordsOf(events: readonly ProjectEvent[]): string {
  return JSON.stringify(
    events.map(({ projectId, contactId, emailId = null, name, data }) => ({
      project_id: projectId,
      contact_id: contactId,
      email_id: emailId,
      name,
      data,
    })),
  );
}

/**
 * SQL for an execution that a `recorded` event starts. It selects `depth`, the position of the
 * execution in a chain of executions that start each other, and `actor`, the cause of the first one.
 * If no execution caused the event, the depth is 0. Otherwise the depth is one more than that of the
 * execution that caused the event: by its mail, by a step (`executionId`), or by a change that moved
 * its contact into or out of a segment.
 */
function causeOf(executionId: string | null) {
  return sql`(
    select coalesce(max(inner_before.depth) + 1, 0)::smallint as depth,
        max(inner_before.caused_by) as actor
      from execution inner_before
      where inner_before.id = coalesce(${executionId}::uuid,
        (select inner_mail_of.workflow_execution_id from email inner_mail_of
          where inner_mail_of.id = recorded.email_id),
        case when recorded.name like 'segment.%' then ${causeOfMembership} end))`;
}

/**
 * SQL that selects the execution that may have caused a contact to enter or leave a segment. This
 * is the deepest one with a step that has changed the contact, or sent it mail, within ten minutes:
 * memberships are computed every five minutes, and one computation may be late.
 */
const causeOfMembership = sql`(
  select inner_cause.id from execution inner_cause
    where inner_cause.contact_id = recorded.contact_id
      and inner_cause.updated_at > now() - interval '10 minutes'
      and exists (select from step_execution inner_step
        where inner_step.execution_id = inner_cause.id
          and inner_step.completed_at > now() - interval '10 minutes'
          and (inner_step.output ? 'newData' or inner_step.output ? 'emailId'))
    order by inner_cause.depth desc limit 1)`;

/**
 * SQL that selects the reason why an execution that a `recorded` event starts fails at once; null:
 * it runs. Without this limit, workflows that start each other would fill the database.
 */
const chainFault = sql`(
  select case
    when cause.depth > ${limits.chainDepth} then ${
      `Executions have started one another more than ${limits.chainDepth} times in a row. ` +
      'Change the trigger of one of the workflows that start each other.'
    }
    when cause.depth > 0 and (select count(*) from (
        select from execution inner_caused
          where inner_caused.contact_id = recorded.contact_id
            and inner_caused.workflow_id = workflow.id
            and inner_caused.started_at > now() - interval '1 hour' and inner_caused.depth > 0
          limit ${limits.causedPerHour}) inner_counted) = ${limits.causedPerHour} then ${
            `Other executions have started this workflow ${limits.causedPerHour} times for the contact ` +
            'within an hour. Change the trigger of one of the workflows that start each other.'
          }
  end as fault)`;

/**
 * SQL that writes to the outbox: executions in `started`, and executions whose wait is in
 * `matched`.
 */
function enqueueing(projectId: string) {
  return sql`
      insert into outbox (run_id, project_id, kind, action, input)
        select 'execution-' || id, ${projectId}::uuid, 'customerWorkflow', 'start', '{}'::jsonb
          from started where status = 'RUNNING'
        union all
        -- At most one row per execution, because the branches of a graph never run in parallel.
        select 'execution-' || matched.execution_id, ${projectId}::uuid, 'customerWorkflow',
            'signal', jsonb_build_object('stepId', step_execution.step_id)
          from matched
          join step_execution on step_execution.id = matched.step_execution_id
      ${replacingEarlier}
      returning run_id, action`;
}

/**
 * Records an event of a contact, of an email or of neither, in the caller's transaction. If the
 * project does not have that contact or email, it returns which one is missing, and records
 * nothing.
 */
export async function recordContactEvent(
  tx: Database,
  projectId: string,
  event: NewEvent,
): Promise<{ event: RecordedEvent } | { missing: 'CONTACT' | 'EMAIL'; id: string }> {
  const { contactId, emailId = null } = event;
  const ofProject = (id: string) => ({ project_id: projectId, id });
  if (contactId !== null) {
    const contact = await tx
      .selectFrom('contact')
      .select('id')
      .where((eb) => eb.and(ofProject(contactId)))
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!contact) return { missing: 'CONTACT', id: contactId };
  }
  if (emailId !== null) {
    const email = await tx
      .selectFrom('email')
      .select('id')
      .where((eb) => eb.and(ofProject(emailId)))
      .executeTakeFirst();
    if (!email) return { missing: 'EMAIL', id: emailId };
  }
  const [recorded] = await recordEvents(tx, projectId, [event], { contactsLocked: true });
  if (!recorded) throw bug('A recorded event has no row.');
  return { event: recorded };
}
