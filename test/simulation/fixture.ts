import type pg from 'pg';

/** The project, workflow and contacts with which every history begins. */

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export const ids = {
  project: id(1),
  template: id(2),
  workflow: id(3),
  contacts: [id(11), id(12), id(13), id(14)],
};

const steps = [
  { id: id(20), type: 'TRIGGER', name: 'Begin', config: {} },
  { id: id(21), type: 'SEND_EMAIL', name: 'First', config: {}, templateId: id(2) },
  {
    id: id(22),
    type: 'WAIT_FOR_EVENT',
    name: 'Wait',
    config: { eventName: 'clicked', timeout: 120 },
  },
  { id: id(23), type: 'DELAY', name: 'Rest', config: { amount: 1, unit: 'minutes' } },
  { id: id(24), type: 'SEND_EMAIL', name: 'Second', config: {}, templateId: id(2) },
];
const graph = {
  steps: steps.map((step) => ({ templateId: null, ...step })),
  transitions: steps.slice(1).map((step, index) => ({
    id: id(30 + index),
    fromStepId: steps[index]!.id,
    toStepId: step.id,
    branch: null,
  })),
};

/** Tables that keep their rows between histories. */
const kept = ['project', 'domain', 'template', 'workflow', 'workflow_step', 'workflow_version'];

export async function createFixture(client: pg.Client): Promise<void> {
  await client.query(`
    insert into project (id, name, public_key, secret_key_hash, secret_key_last4,
        webhook_signing_secret)
      values ('${ids.project}', 'Shop', 'pk', '', '0000', '');
    insert into domain (project_id, name, status, dkim_tokens, next_check_at)
      values ('${ids.project}', 'shop.test', 'verified', '{}', null);
    insert into template (id, project_id, name, subject, body, type, from_email)
      values ('${ids.template}', '${ids.project}', 'Hi', 'Hi', '<p>Hi</p>', 'TRANSACTIONAL',
        'team@shop.test');
    insert into workflow (id, project_id, name, enabled, trigger_event_name)
      values ('${ids.workflow}', '${ids.project}', 'Welcome', true, 'began');`);
  for (const { id: stepId, type, name, config } of steps) {
    await client.query(
      `insert into workflow_step (id, project_id, workflow_id, type, key, name, position_x, position_y,
          config) values ($1::uuid, $2, $3, $4, $1::uuid::text, $5, 0, 0, $6)`,
      [stepId, ids.project, ids.workflow, type, name, config],
    );
  }
  await client.query(
    'insert into workflow_version (workflow_id, version, project_id, graph) values ($1, 1, $2, $3)',
    [ids.workflow, ids.project, JSON.stringify(graph)],
  );
}

/** Resets the database to the fixture. */
export async function resetFixture(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select string_agg(quote_ident(relname), ', ') as names from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r'
        and relname not like 'kysely%' and relname <> all($1) and pg_relation_size(oid) > 0`,
    [kept],
  );
  if (rows[0].names) await client.query(`truncate ${rows[0].names} cascade`);
  await client.query('alter sequence simulated_tick restart');
  await client.query(`insert into watermark (name, at) values ('email_tally', '-infinity')`);
  for (const contact of ids.contacts) {
    await client.query(
      `insert into contact (id, project_id, email, subscribed) values ($1, $2, $3, true)`,
      [contact, ids.project, `${contact}@people.test`],
    );
  }
}
