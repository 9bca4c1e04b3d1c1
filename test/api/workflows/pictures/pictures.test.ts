import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../../support/projects/workflow-api.ts';
import { requireXml } from '../../../support/svg.ts';

const { api, cookie, projectId, call, make, createWorkflow, addDelay, read } =
  await useWorkflowApi();
const { db } = api;

async function pictureAt(path: string): Promise<string> {
  const { status, body, headers } = await call('GET', path);
  expect([status, body.error]).toEqual([200, undefined]);
  expect(headers.get('content-type')).toBe('image/svg+xml');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'unsafe-inline'",
  );
  requireXml(body);
  expect(body).not.toContain('<script');
  return body;
}

/** Returns the group of one step in a picture. */
const stepIn = (svg: string, name: string) =>
  svg.split('<g class="step').find((part) => part.includes(`>${name}</text>`)) ?? '';

/** Creates an enabled workflow of a delay and a webhook, with an execution that failed there. */
async function withFailed() {
  const { id } = await createWorkflow();
  const delay = await addDelay(id, '<b>&"');
  const call_ = await make(`/workflows/${id}/steps`, {
    type: 'WEBHOOK',
    name: 'Tell the warehouse',
    config: { url: 'https://warehouse.test' },
  });
  await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'End', config: {} });
  await call('PATCH', `/workflows/${id}`, { enabled: true });
  const contact = await make('/contacts', { email: `${crypto.randomUUID()}@people.test` });
  const execution = await make(`/workflows/${id}/executions`, { contactId: contact.id });
  await sql`insert into step_execution (project_id, execution_id, step_id, status, started_at,
      completed_at, error)
    values (${projectId}, ${execution.id}, ${delay.id}, 'COMPLETED', now(), now(), null),
      (${projectId}, ${execution.id}, ${call_.id}, 'FAILED', now() + interval '1 day',
        now() + interval '1 day', 'The receiver answered 404.')`.execute(db);
  await sql`update execution set status = 'FAILED', current_step_id = ${call_.id},
      error = 'The receiver answered 404.', completed_at = now() + interval '1 day'
    where id = ${execution.id}`.execute(db);
  return { id, execution, delay, path: `/workflows/${id}/executions/${execution.id}/graph.svg` };
}

describe('the picture of a workflow', () => {
  it('has every step, also one whose name is markup', async () => {
    const { id } = await withFailed();
    const svg = await pictureAt(`/workflows/${id}/graph.svg`);
    expect(svg).toContain('&lt;b&gt;&amp;&quot;');
    expect(svg).not.toContain('<b>');
    for (const { name, type } of (await read(id)).steps) {
      if (type === 'DELAY') continue;
      expect(stepIn(svg, name)).not.toBe('');
    }
    expect(svg).not.toContain('entered');
  });

  it('has the numbers of its steps, when asked', async () => {
    const { id } = await withFailed();
    const svg = await pictureAt(`/workflows/${id}/graph.svg?stats=true`);
    expect(stepIn(svg, 'Tell the warehouse')).toContain('1 entered · 1 failed');
    const { version } = await read(id);
    expect(svg).toContain(`Version ${version} · 1 execution in all versions<`);
    const ofVersion = await pictureAt(`/workflows/${id}/graph.svg?stats=true&version=${version}`);
    expect(ofVersion).toContain(`Version ${version} · 1 execution<`);
  });

  it('is of the workflow as it is drawn, or of a version', async () => {
    const { id, delay } = await withFailed();
    const { version } = await read(id);
    await call('PATCH', `/workflows/${id}/steps/${delay.id}`, { name: 'Three days' });
    expect(await pictureAt(`/workflows/${id}/graph.svg`)).toContain('>Three days</text>');
    const before = await pictureAt(`/workflows/${id}/graph.svg?version=${version}`);
    expect(before).toContain('&lt;b&gt;');
    expect(before).toContain(`Version ${version}`);
    const unknown = await call('GET', `/workflows/${id}/graph.svg?version=99`);
    expect([unknown.status, ...errorFields(unknown.body)]).toEqual([422, 'version not_found']);
  });

  it('is refused for too many steps', async () => {
    const { id } = await createWorkflow();
    await sql`insert into workflow_step (project_id, workflow_id, type, key, name, config,
        position_x, position_y)
      select ${projectId}, ${id}, 'DELAY', n, 'Step', '{}', 0, 0 from generate_series(1, 1000) n`.execute(
      db,
    );
    const { status, body } = await call('GET', `/workflows/${id}/graph.svg`);
    expect([status, body.error.code]).toEqual([422, 'PICTURE_TOO_LARGE']);
  });
});

describe('the picture of an execution', () => {
  it('shows what was done, and what failed and why', async () => {
    const { path } = await withFailed();
    const svg = await pictureAt(path);
    expect(stepIn(svg, 'Tell the warehouse')).toMatch(/^ failed"/);
    expect(stepIn(svg, 'Tell the warehouse')).toContain('>The receiver answered 404.</text>');
    expect(stepIn(svg, '&lt;b&gt;&amp;&quot;')).toMatch(/^ done"/);
    // The time of the event, not the time of its recording.
    expect(stepIn(svg, '&lt;b&gt;&amp;&quot;')).toContain(' · 1 d</text>');
    expect(stepIn(svg, 'End')).toMatch(/^ untouched"/);
    expect(svg).toContain('FAILED');
  });
});

describe('pictures', () => {
  it('are not of other projects', async () => {
    const { id, path } = await withFailed();
    const other = await api.createProject(cookie);
    const refused = async (url: string, key?: string) => {
      const { status, body } = await api.request('GET', url, key === undefined ? {} : { key });
      return [status, body.error.code];
    };
    for (const url of [`/workflows/${id}/graph.svg`, path]) {
      expect(await refused(url, other.secretKey)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
      expect(await refused(url)).toEqual([401, 'MISSING_AUTH']);
      expect(await refused(url, other.publicKey)).toEqual([401, 'INVALID_API_KEY']);
    }
    const { id: second } = await createWorkflow();
    const elsewhere = await call('GET', path.replace(id, second));
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([404, 'EXECUTION_NOT_FOUND']);
  });
});
