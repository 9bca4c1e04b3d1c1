import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { listPinned, type PinnedPart, textsInJson } from './pinned.ts';
import type { TriggerSchedule } from '../../schedules/schedules.ts';
import { listDynamicSegments } from '../../segments/segments.ts';
import { exitRulesOf, triggerWhereOf } from '../../workflows/workflows.ts';
import { openCampaignStatuses } from '../../../domain/campaign/campaign.ts';
import { conditionNamesField, type ContactField } from '../../../domain/contact/field.ts';
import { type Condition, fieldOf, filtersOf, segmentIdsOf } from '../../../domain/filter/filter.ts';
import {
  segmentsOfStep,
  stepNamesField,
  stepReadsEvent,
  typesWithEvents,
  typesWithFields,
  typesWithSegments,
  whereNamesField,
} from '../../../domain/workflow/field-uses.ts';
import { stepTypesWith } from '../../../domain/workflow/steps/registry.ts';

/**
 * Finds the users of a field, an event or a segment in conditions. A workflow is a user through its
 * edited graph, enabled or not, or through a version with active executions.
 */

interface Named {
  id: string;
  name: string;
}

/**
 * Lists the segments and workflows that use a field in a condition, and the unfinished campaigns
 * whose audience uses it.
 */
export async function findFieldUsers(
  db: Database,
  projectId: string,
  field: ContactField,
): Promise<{ segments: Named[]; campaigns: Named[]; workflows: Named[] }> {
  const segments = await listDynamicSegments(db, projectId);
  const campaigns = await listOpenAudiences(db, projectId);
  const steps = await db
    .selectFrom('workflow')
    .leftJoin('workflow_step as step', (join) =>
      join.onRef('step.workflow_id', '=', 'workflow.id').on('step.type', 'in', typesWithFields),
    )
    .select([
      'workflow.id',
      'workflow.name',
      'workflow.exit_rules',
      'workflow.trigger_where',
      'workflow.trigger_schedule',
      'step.type',
      'step.config',
    ])
    .where('workflow.project_id', '=', projectId)
    .orderBy('workflow.name')
    .orderBy('workflow.id')
    .execute();
  const names = ({ condition }: { condition: Condition }) => conditionNamesField(condition, field);
  const namesInStep = (type: string, config: unknown) =>
    stepNamesField({ type, config: config as Record<string, unknown> }, field);
  const startsBy = (workflow: { trigger_schedule: unknown }) => {
    const { filter } = (workflow.trigger_schedule ?? {}) as TriggerSchedule;
    return filter !== undefined && conditionNamesField(filter, field);
  };
  const using = steps.filter(
    ({ type, config, ...workflow }) =>
      (type !== null && namesInStep(type, config)) ||
      startsBy(workflow) ||
      whereNamesField(triggerWhereOf(workflow) ?? [], field) ||
      exitRulesOf(workflow).some(({ where }) => whereNamesField(where, field)),
  );
  const inside = (await listPinned(db, projectId, [textOf(field)])).filter(
    ({ step, rule }) =>
      (step && namesInStep(step.type, step.config)) || whereNamesField(rule?.where, field),
  );
  return {
    segments: segments.filter(names).map(named),
    campaigns: campaigns.filter(names).map(named),
    workflows: workflowsOf(using, inside),
  };
}

/** Returns a text that occurs in every step that uses the field. */
function textOf(field: ContactField): string {
  if (field.kind === 'data') return field.key;
  if (field.kind === 'time') return field.name;
  // A part of both `subscribed` and `subscriptionAction`.
  return field.kind === 'subscribed' ? 'subscri' : field.kind;
}

const waitingTypes: readonly string[] = stepTypesWith(
  ({ rests }) => rests === 'wait' || rests === 'digest',
);

export interface EventUsers {
  segments: (Named & { condition: Condition })[];
  workflows: Named[];
  campaigns: Named[];
}

/**
 * Lists the segments and workflows that use an event, and the unfinished campaigns that use it in
 * their audience, goal or experiment.
 */
export async function findEventUsers(
  db: Database,
  projectId: string,
  eventName: string,
): Promise<EventUsers> {
  const segments = await listDynamicSegments(db, projectId);
  const workflows = await db
    .selectFrom('workflow')
    .select(['id', 'name', 'trigger_schedule'])
    .select(
      sql<boolean>`(trigger_type = 'EVENT' and trigger_event_name = ${eventName}
        or exists (select from workflow_step step
          where step.workflow_id = workflow.id and step.type = ${anyOf(waitingTypes, 'text')}
            and step.config ->> 'eventName' = ${eventName})
        or exit_rules @> ${JSON.stringify([{ eventName }])}::jsonb
        or goal ->> 'eventName' = ${eventName})`.as('isNamed'),
    )
    .where('project_id', '=', projectId)
    .orderBy('name')
    .orderBy('id')
    .execute();
  const reading = await listStepsWith(db, projectId, typesWithEvents, [eventName]);
  const readers = new Set(
    reading.filter((step) => stepReadsEvent(step, eventName)).map(({ workflowId }) => workflowId),
  );
  const isUser = (row: { id: string; isNamed: boolean; trigger_schedule: unknown }) => {
    const { filter } = (row.trigger_schedule ?? {}) as TriggerSchedule;
    const startsBy = filter !== undefined && namesEvent(filter, eventName);
    return row.isNamed || startsBy || readers.has(row.id);
  };
  const inside = (await listPinned(db, projectId, [eventName])).filter(
    ({ step, rule }) =>
      rule?.eventName === eventName ||
      (step && waitingTypes.includes(step.type) && step.config['eventName'] === eventName),
  );
  const campaigns = await listOpenAudiences(db, projectId);
  const names = ({ condition }: { condition: Condition }) => namesEvent(condition, eventName);
  return {
    segments: segments.filter(names),
    workflows: workflowsOf(workflows.filter(isUser), inside),
    campaigns: withNames([
      ...campaigns.filter(names),
      ...(await listOpenGoals(db, projectId, eventName)),
      ...(await listOpenExperiments(db, projectId, eventName)),
    ]),
  };
}

/** Lists unfinished campaigns whose goal is an event. */
async function listOpenGoals(db: Database, projectId: string, eventName: string): Promise<Named[]> {
  return db
    .selectFrom('campaign')
    .innerJoin('goal', 'goal.owner_id', 'campaign.id')
    .select(['campaign.id', 'campaign.name'])
    .where('goal.project_id', '=', projectId)
    .where('goal.event_name', '=', eventName)
    .where('campaign.status', 'in', openCampaignStatuses)
    .orderBy('campaign.name')
    .orderBy('campaign.id')
    .execute();
}

/** Lists unfinished campaigns whose experiment counts an event. */
async function listOpenExperiments(
  db: Database,
  projectId: string,
  eventName: string,
): Promise<Named[]> {
  return db
    .selectFrom('campaign')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('status', 'in', openCampaignStatuses)
    .where(sql<boolean>`experiment ->> 'eventName' = ${eventName}`)
    .orderBy('name')
    .orderBy('id')
    .execute();
}

interface DrawnStep {
  workflowId: string;
  type: string;
  config: Record<string, unknown>;
}

/**
 * Lists the steps of these types with one of the texts in their config. The caller checks if the
 * text really refers to its object.
 */
async function listStepsWith(
  db: Database,
  projectId: string,
  types: readonly string[],
  texts: readonly string[],
): Promise<DrawnStep[]> {
  const { rows } = await sql<DrawnStep>`
    select workflow_id as "workflowId", type, config from workflow_step
      where project_id = ${projectId} and type = ${anyOf(types, 'text')}
        and exists (select from unnest(${textsInJson(texts)}::text[]) as written
          where strpos(config::text, written) > 0)`.execute(db);
  return rows;
}

function namesEvent(condition: Condition, eventName: string): boolean {
  return filtersOf(condition).some(({ field: text }) => {
    const field = fieldOf(text);
    return field?.kind === 'event' && field.name === eventName;
  });
}

/** Objects that would break or change their meaning if a segment was deleted. */
export interface SegmentUsers {
  campaigns: (Named & { status: string })[];
  segments: Named[];
  workflows: Named[];
}

/**
 * Lists the unfinished campaigns, the segments and the workflows that refer to a segment, oldest
 * first. A workflow refers to the segment in its schedule or a step, or in a version with active
 * executions.
 */
export async function listSegmentUsers(
  db: Database,
  projectId: string,
  id: string,
): Promise<SegmentUsers> {
  // The text may also occur elsewhere in a condition, so the exact check follows.
  const mentions = (column: 'audience_condition' | 'condition') =>
    sql<boolean>`strpos(${sql.ref(column)}::text, ${`"segment.${id}"`}) > 0`;
  const names = (condition: unknown) =>
    condition !== null && segmentIdsOf(condition as Condition).includes(id);
  const campaigns = await db
    .selectFrom('campaign')
    .select(['id', 'name', 'status', 'segment_id', 'audience_condition'])
    .where('project_id', '=', projectId)
    .where('status', 'in', openCampaignStatuses)
    .where((or) => or.or([or('segment_id', '=', id), mentions('audience_condition')]))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const segments = await db
    .selectFrom('segment')
    .select(['id', 'name', 'condition'])
    .where('project_id', '=', projectId)
    .where('id', '<>', id)
    .where(mentions('condition'))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const written = [`segment.${id}`];
  const isReader = (step: { type: string; config: Record<string, unknown> } | null) =>
    step !== null && segmentsOfStep(step).includes(id);
  const reading = await listStepsWith(db, projectId, typesWithSegments, written);
  const readers = reading.filter(isReader).map(({ workflowId }) => workflowId);
  const workflows = await db
    .selectFrom('workflow')
    .select(['id', 'name', 'trigger_schedule'])
    .where('project_id', '=', projectId)
    .where(sql<boolean>`(strpos(trigger_schedule::text, ${id}) > 0 or id = ${anyOf(readers)})`)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const uses = (row: { id: string; trigger_schedule: unknown }) => {
    const { segmentId, filter } = (row.trigger_schedule ?? {}) as TriggerSchedule;
    return readers.includes(row.id) || segmentId === id || names(filter ?? null);
  };
  const pinned = await listPinned(db, projectId, written);
  const inside = pinned.filter(({ step }) => isReader(step));
  return {
    workflows: workflowsOf(workflows.filter(uses), inside),
    campaigns: campaigns
      .filter((row) => row.segment_id === id || names(row.audience_condition))
      .map(({ id, name, status }) => ({ id, name, status })),
    segments: segments.filter((row) => names(row.condition)).map(named),
  };
}

/** Lists the unfinished campaigns whose audience is a condition. */
async function listOpenAudiences(
  db: Database,
  projectId: string,
): Promise<(Named & { condition: Condition })[]> {
  const rows = await db
    .selectFrom('campaign')
    .select(['id', 'name', 'audience_condition as condition'])
    .where('project_id', '=', projectId)
    .where('audience_type', '=', 'FILTERED')
    .where('status', 'in', openCampaignStatuses)
    .where('audience_condition', 'is not', null)
    .orderBy('name')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, condition: row.condition as unknown as Condition }));
}

/** Removes repeated objects. */
function withNames(all: readonly Named[]): Named[] {
  return [...new Map(all.map((one) => [one.id, named(one)])).values()];
}

/**
 * Lists each workflow once: first those whose edited graph matches, then those of which only a
 * version matches.
 */
function workflowsOf(drawn: readonly Named[], inside: readonly PinnedPart[]): Named[] {
  const pinned = inside.map(({ workflowId, workflowName }) => ({
    id: workflowId,
    name: workflowName,
  }));
  return withNames([...drawn, ...pinned]);
}

function named({ id, name }: Named): Named {
  return { id, name };
}
