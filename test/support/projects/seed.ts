import { randomUUID } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import { writeMail } from '../mail-tables.ts';

/** Ids of one row of each kind, by the name of the path parameter that takes it. */
export type Seed = Record<
  | 'projectId'
  | 'contactId'
  | 'segmentId'
  | 'templateId'
  | 'workflowId'
  | 'stepId'
  | 'transitionId'
  | 'executionId'
  | 'emailId'
  | 'eventId'
  | 'domainId',
  string
>;

/**
 * Inserts one row of each kind into a project. All texts contain `mark`, so that a leak can be
 * noticed.
 */
export async function seedProject(db: Database, projectId: string, mark: string): Promise<Seed> {
  const seed: Seed = {
    projectId,
    contactId: randomUUID(),
    segmentId: randomUUID(),
    templateId: randomUUID(),
    workflowId: randomUUID(),
    stepId: randomUUID(),
    transitionId: randomUUID(),
    executionId: randomUUID(),
    emailId: randomUUID(),
    eventId: randomUUID(),
    domainId: randomUUID(),
  };
  const project = { project_id: projectId };
  const email = `${mark}@contacts.test`;
  await db
    .insertInto('domain')
    .values({
      ...project,
      id: seed.domainId,
      name: `${mark}.test`,
      status: 'verified',
      dkim_tokens: ['a', 'b', 'c'],
    })
    .execute();
  await db
    .insertInto('contact')
    .values({
      ...project,
      id: seed.contactId,
      email,
      subscribed: true,
      data: JSON.stringify({ plan: mark }),
    })
    .execute();
  await db
    .insertInto('segment')
    .values({ ...project, id: seed.segmentId, name: mark, type: 'STATIC', member_count: 1 })
    .execute();
  await db
    .insertInto('segment_member')
    .values({ ...project, segment_id: seed.segmentId, contact_id: seed.contactId })
    .execute();
  await db
    .insertInto('event')
    .values({ ...project, id: seed.eventId, contact_id: seed.contactId, name: mark })
    .execute();
  await db
    .insertInto('template')
    .values({
      ...project,
      id: seed.templateId,
      name: mark,
      subject: mark,
      body: mark,
      type: 'TRANSACTIONAL',
      from_email: `hello@${mark}.test`,
    })
    .execute();
  await seedWorkflow(db, seed, mark);
  await writeMail(db, (tx) =>
    tx
      .insertInto('email')
      .values({
        ...project,
        id: seed.emailId,
        contact_id: seed.contactId,
        to_email: email,
        subject: mark,
        body: mark,
        from_email: `hello@${mark}.test`,
        message_class: 'TRANSACTIONAL',
        source_type: 'TRANSACTIONAL',
      })
      .execute(),
  );
  return seed;
}

async function seedWorkflow(db: Database, seed: Seed, mark: string): Promise<void> {
  const project = { project_id: seed.projectId };
  const triggerId = randomUUID();
  await db
    .insertInto('workflow')
    .values({
      ...project,
      id: seed.workflowId,
      name: mark,
      enabled: false,
      trigger_event_name: mark,
    })
    .execute();
  const step = { ...project, workflow_id: seed.workflowId, position_x: 0, position_y: 0 };
  await db
    .insertInto('workflow_step')
    .values([
      {
        ...step,
        id: triggerId,
        type: 'TRIGGER',
        key: 'trigger',
        name: mark,
        config: JSON.stringify({ eventName: mark }),
      },
      {
        ...step,
        id: seed.stepId,
        type: 'EXIT',
        key: 'exit',
        name: mark,
        config: JSON.stringify({ reason: mark }),
      },
    ])
    .execute();
  await db
    .insertInto('workflow_transition')
    .values({
      ...project,
      id: seed.transitionId,
      workflow_id: seed.workflowId,
      from_step_id: triggerId,
      to_step_id: seed.stepId,
    })
    .execute();
  const drawn = { name: mark, templateId: null, position: { x: 0, y: 0 } };
  await db
    .insertInto('workflow_version')
    .values({
      ...project,
      workflow_id: seed.workflowId,
      version: 1,
      graph: JSON.stringify({
        triggerType: 'EVENT',
        steps: [
          { ...drawn, id: triggerId, key: 'trigger', type: 'TRIGGER', config: { eventName: mark } },
          { ...drawn, id: seed.stepId, key: 'exit', type: 'EXIT', config: { reason: mark } },
        ],
        transitions: [
          {
            id: seed.transitionId,
            fromStepId: triggerId,
            toStepId: seed.stepId,
            branch: null,
          },
        ],
      }),
    })
    .execute();
  await db
    .insertInto('execution')
    .values({
      ...project,
      id: seed.executionId,
      workflow_id: seed.workflowId,
      workflow_version: 1,
      workflow_name: mark,
      contact_id: seed.contactId,
      current_step_id: seed.stepId,
    })
    .execute();
}
