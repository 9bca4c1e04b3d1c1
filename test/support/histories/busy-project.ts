import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Engine } from '../engine.ts';
import { createTemplate, createWorkflow } from './executions.ts';
import { newAddress } from '../projects/shop.ts';
import { waitFor } from '../wait-for.ts';

/** Lists every table of the database with rows of projects. */
export async function projectTables(engine: Engine): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id'
      order by 1`.execute(engine.api.db);
  return rows.map((row) => row.name);
}

/** Returns the number of rows of a project in each table, without empty tables. */
export async function rowsOf(engine: Engine, projectId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await projectTables(engine)) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(table)}
        where project_id = ${projectId}`.execute(engine.api.db);
    if (rows[0]?.count) counts[table] = rows[0].count;
  }
  return counts;
}

export async function busyProject(engine: Engine) {
  const { api } = engine;
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  const domain = `${randomUUID()}.test`;
  const call: Engine['call'] = (method, path, body) =>
    api.request(method, path, { key: project.secretKey, body });
  const within: Engine = { ...engine, project, domain, call };
  await call('POST', '/domains', { domain });
  await call('PUT', '/secrets/CRM_TOKEN', { value: 'tok_4f9a8c' });
  const templateId = await createTemplate(within);
  const workflow = await createWorkflow(within, {
    eventName: 'signed up',
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } },
    ],
  });
  const people = [newAddress(), newAddress()];
  const attachments = [{ filename: 'a.txt', content: 'aGk=', contentType: 'text/plain' }];
  const mail = { from: `team@${domain}`, subject: 'Hi', body: '<p>Hi</p>', attachments };
  for (const email of people) {
    await call('POST', '/v1/track', { event: 'signed up', email });
    await call('POST', '/v1/send', { ...mail, to: email });
  }
  const { body: executions } = await waitFor('waiting executions', async () => {
    const answer = await call('GET', `/workflows/${workflow.id}/executions?status=WAITING`);
    return answer.body.total === people.length ? answer : null;
  });
  const runs = executions.executions.map(
    (row: { id: string }) => `execution-${row.id}`,
  ) as string[];
  await api.request('POST', '/segments', {
    key: project.secretKey,
    body: { name: 'Some', type: 'STATIC' },
  });
  const news = { name: 'News', subject: 'News', body: 'News', from: mail.from };
  const campaign = await call('POST', '/campaigns', { ...news, audienceType: 'ALL' });
  if (campaign.status !== 201) throw new Error(JSON.stringify(campaign.body));
  return { ...project, cookie, domain, call, mail, people, workflowId: workflow.id, runs };
}

/** Returns Temporal's status of a run. */
export async function statusOf(engine: Engine, runId: string): Promise<string> {
  const { status } = await engine.temporal.client.workflow.getHandle(runId).describe();
  return status.name;
}

/** Waits until a run has ended. */
export const ended = (engine: Engine, runId: string) =>
  waitFor(
    `${runId} to end`,
    async () =>
      (await statusOf(engine, runId).catch(() => 'not yet')) === 'COMPLETED' ? true : null,
    60_000,
  );
