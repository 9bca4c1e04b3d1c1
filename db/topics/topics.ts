import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { listedUses, listPinned, type StepUse, withPinned } from '../sql/pinned-versions.ts';
import { hadLeftTopic } from '../sql/topic-choices.ts';
import type { Topic } from '../tables.ts';

/** Topics: the kinds of marketing mail of a project. */

export type TopicRow = Selectable<Topic>;

/** The topics of a project, oldest first; at most `limits.topics`. */
export async function listTopics(db: Database, projectId: string): Promise<TopicRow[]> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function findTopic(
  db: Database,
  projectId: string,
  id: string,
): Promise<TopicRow | undefined> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** The topics of a project with these keys. */
export async function listTopicsByKey(
  db: Database,
  projectId: string,
  keys: readonly string[],
): Promise<TopicRow[]> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('key', '=', anyOf(keys, 'text'))
    .execute();
}

/** Of several that make topics of a project, one comes after the other: the limit holds for all. */
export async function lockTopics(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`topics ${projectId}`}, 0))`.execute(
    tx,
  );
}

export async function insertTopic(tx: Database, values: Insertable<Topic>): Promise<TopicRow> {
  return tx
    .insertInto('topic')
    .values(values)
    .returning(columnsOf('topic'))
    .executeTakeFirstOrThrow();
}

/** Changes a topic; undefined when there is none. */
export async function updateTopic(
  db: Database,
  projectId: string,
  id: string,
  values: Updateable<Topic>,
): Promise<TopicRow | undefined> {
  return db
    .updateTable('topic')
    .set({ ...values, updated_at: sql<Date>`now()` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returning(columnsOf('topic'))
    .executeTakeFirst();
}

/** Locks a topic until the transaction ends: nothing can start to use it. */
export async function lockTopic(
  tx: Database,
  projectId: string,
  id: string,
): Promise<TopicRow | undefined> {
  return tx
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** The topics that exist of these; none can be deleted until the transaction ends. */
export async function holdTopics(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return tx
    .selectFrom('topic')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export interface TopicUses {
  templates: { id: string; name: string }[];
  campaigns: { id: string; name: string; status: string }[];
  workflowSteps: StepUse[];
}

/** States of a campaign whose mail is still to come. */
const usingStates = ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED'];

/** What uses a topic, which the caller has locked: steps as drawn now, or in a version with active executions. */
export async function listTopicUses(
  tx: Database,
  projectId: string,
  id: string,
): Promise<TopicUses> {
  const templates = await tx
    .selectFrom('template')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('topic_id', '=', id)
    .orderBy('created_at')
    .orderBy('id')
    .limit(listedUses)
    .execute();
  const campaigns = await tx
    .selectFrom('campaign')
    .select(['id', 'name', 'status'])
    .where('project_id', '=', projectId)
    .where('topic_id', '=', id)
    .where('status', 'in', usingStates)
    .orderBy('created_at')
    .orderBy('id')
    .limit(listedUses)
    .execute();
  const drawn = await tx
    .selectFrom('workflow_step as step')
    .innerJoin('workflow', 'workflow.id', 'step.workflow_id')
    .select(['step.id as id', 'step.name as name'])
    .select(['workflow.id as workflowId', 'workflow.name as workflowName'])
    .where('step.project_id', '=', projectId)
    .where(stepTopic('step'), '=', id)
    .orderBy('step.created_at')
    .orderBy('step.id')
    .limit(listedUses)
    .execute();
  const pinned = await listPinned(tx, projectId, [id]);
  const steps = withPinned(drawn, pinned, ({ config }) => config['topicId'] === id);
  return { templates, campaigns, workflowSteps: steps.slice(0, listedUses) };
}

/** SQL of the topic that a step's config names, as the index `workflow_step_topic` has it. */
function stepTopic(step: string): RawBuilder<string | null> {
  return sql<string | null>`${sql.ref(`${step}.config`)} ->> 'topicId'`;
}

/** Deletes a locked topic. What contacts have chosen is deleted later, in pages: see `removals.ts`. */
export async function deleteTopic(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('topic').where('id', '=', id).execute();
}

/** Whether a contact was not subscribed to a topic at a moment. */
export async function hadLeftTopicAt(
  db: Database,
  contactId: string,
  topicId: string | null,
  at: Date,
): Promise<boolean> {
  if (topicId === null) return false;
  const hadLeft = hadLeftTopic(sql`${contactId}::uuid`, sql`${topicId}::uuid`, sql`${at}`);
  const { rows } = await sql<{ hadLeft: boolean }>`select ${hadLeft} as "hadLeft"`.execute(db);
  return rows[0]?.hadLeft ?? false;
}
