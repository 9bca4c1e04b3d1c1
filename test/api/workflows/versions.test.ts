import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { PortableGraph } from '../../../client/api.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const { api, cookie, projectId, call, make, createWorkflow, addDelay, read } =
  await useWorkflowApi();

type Listed = { version: number; changes: { kind: string; text: string }[] };

const list = async (id: string, query = '') =>
  (await call('GET', `/workflows/${id}/versions${query}`)).body;
const getVersion = (id: string, version: number | string) =>
  call('GET', `/workflows/${id}/versions/${version}`);
const restore = (id: string, version: number | string) =>
  call('POST', `/workflows/${id}/versions/${version}/restore`);
const patchStep = (id: string, stepId: string, body: object) =>
  call('PATCH', `/workflows/${id}/steps/${stepId}`, body);

type Fields = Record<string, unknown>;

/** Returns the current workflow without the order of its parts and the times of edits. */
async function drawnNow(id: string) {
  const { steps, transitions, triggerType, triggerConfig, exitRules } = await read(id);
  const without = ({ createdAt: _c, updatedAt: _u, ...part }: Fields) => part;
  const ofStep = ({ outgoingTransitions: _o, incomingTransitions: _i, ...step }: Fields) =>
    without(step);
  return {
    triggerType,
    triggerConfig,
    exitRules,
    steps: byId(steps.map(ofStep)),
    transitions: byId(transitions.map(without)),
  };
}

const byId = (parts: Fields[]) => new Map(parts.map((part) => [part['id'], part]));

/**
 * Creates a workflow with a delay and an exit after it: versions 1 to 4, the last with a changed
 * delay.
 */
async function edited() {
  const { id } = await createWorkflow();
  const delay = await addDelay(id, 'Two days');
  const exit = await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  await patchStep(id, delay.id, { config: { amount: 3, unit: 'days' } });
  return { id, delay, exit };
}

describe('the versions of a workflow', () => {
  it('are listed newest first, each with its changes in words, also while it is disabled', async () => {
    const { id, delay } = await edited();
    const { data, total, hasMore } = await list(id);
    expect([total, hasMore]).toEqual([4, false]);
    expect(
      data.map(({ version, changes }: Listed) => [version, ...changes.map(({ text }) => text)]),
    ).toEqual([
      [4, 'Two days: amount 1 → 3'],
      [3, 'Out: added', 'Two days → Out: added'],
      [2, 'Two days: added', 'Trigger: signed_up → Two days: added'],
      [1, 'Created'],
    ]);
    expect(data[0]).toEqual({
      version: 4,
      at: expect.any(String),
      causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
      changes: [
        {
          kind: 'step_changed',
          stepId: delay.id,
          name: 'Two days',
          text: 'Two days: amount 1 → 3',
        },
      ],
      restoredFrom: null,
      active: 0,
      current: true,
    });
    expect(data.map(({ current }: { current: boolean }) => current).slice(1)).not.toContain(true);
  });

  it('are listed in pages that end with the first version', async () => {
    const { id } = await edited();
    const first = await list(id, '?limit=3');
    expect([first.data.length, first.hasMore, first.total]).toEqual([3, true, 4]);
    const second = await list(id, `?limit=3&cursor=${first.cursor}`);
    expect(second).toMatchObject({ data: [{ version: 1 }], hasMore: false, total: 0 });
    const wrong = await call('GET', `/workflows/${id}/versions?cursor=x`);
    expect([wrong.status, ...errorFields(wrong.body)]).toEqual([422, 'cursor invalid_string']);
  });

  it('can be read, each with the graph it was drawn with and the ids of its steps', async () => {
    const { id, delay, exit } = await edited();
    const { body: second } = await getVersion(id, 2);
    expect(second).toMatchObject({ version: 2, current: false, restoredFrom: null });
    expect(second.graph).toEqual({
      trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
      exitRules: [],
      steps: [
        expect.objectContaining({ key: 'trigger', type: 'TRIGGER' }),
        {
          id: delay.id,
          key: 'two-days',
          type: 'DELAY',
          name: 'Two days',
          config: { amount: 1, unit: 'days' },
          position: { x: 100, y: 220 },
        },
      ],
      transitions: [{ from: 'trigger', to: 'two-days' }],
    });
    const { body: now } = await call('GET', `/workflows/${id}/graph`);
    const { steps, ...rest } = (await getVersion(id, 4)).body.graph;
    const ids = steps.map((step: { id: string }) => step.id);
    expect(ids.slice(1)).toEqual([delay.id, exit.id]);
    expect(now).toMatchObject({
      ...rest,
      steps: steps.map(({ id: _id, ...step }: { id: string }) => step),
    });
  });

  it('are counted with their active executions', async () => {
    const { id } = await edited();
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const started = await call('POST', '/v1/track', { event: 'signed_up', email: 'a@people.test' });
    expect(started.status).toBe(200);
    await addDelay(id, 'Later');
    const active = (await list(id)).data.map((row: { version: number; active: number }) => [
      row.version,
      row.active,
    ]);
    expect(active.slice(0, 2)).toEqual([
      [5, 0],
      [4, 1],
    ]);
    await sql`update execution set status = 'CANCELLED' where workflow_id = ${id}`.execute(api.db);
  });

  it('name the member who made them, and no address once the account is gone', async () => {
    const { cookie: other, userId, email } = await api.signUp();
    await sql`insert into membership (project_id, user_id, role)
      values (${projectId}, ${userId}, 'MEMBER')`.execute(api.db);
    const { id } = await createWorkflow();
    const asMember = (method: string, path: string, body?: object) =>
      api.request(method, `/workflows/${id}${path}`, {
        cookie: other,
        headers: { 'X-Project-Id': projectId },
        ...(body && { body }),
      });
    const step = { type: 'EXIT', name: 'Out', config: {} };
    expect((await asMember('POST', '/steps', step)).status).toBe(201);
    expect((await asMember('POST', '/versions/1/restore')).body.version).toBe(3);
    expect((await asMember('GET', '/versions')).body.total).toBe(3);
    expect((await asMember('GET', '/versions/2')).body.causedBy.id).toBe(userId);
    const causedBy = async () => (await list(id)).data[0].causedBy;
    expect(await causedBy()).toEqual({ type: 'user', id: userId, name: email });
    const { body: listed } = await call('GET', '/workflows?pageSize=100');
    const versionBy = listed.data.map((one: Fields) => [one['id'], one['versionBy']]);
    expect(new Map(versionBy).get(id)).toEqual(await causedBy());
    const { body: copy } = await call('POST', `/workflows/${id}/duplicate`);
    expect(copy.versionBy).toEqual({ type: 'key', id: 'secret', name: 'Secret key' });
    await sql`delete from app_user where id = ${userId}`.execute(api.db);
    expect(await causedBy()).toEqual({ type: 'user', id: userId, name: null });
    expect((await read(id)).versionBy).toEqual(await causedBy());
  });

  it('show no value of a header that is a credential', async () => {
    const { id } = await createWorkflow();
    const config = (token: string) => ({
      url: 'https://x.example/',
      headers: { Authorization: token },
    });
    const hook = await make(`/workflows/${id}/steps`, {
      type: 'WEBHOOK',
      name: 'Hook',
      config: config('first-token'),
    });
    await patchStep(id, hook.id, { config: config('second-token') });
    await restore(id, 2);
    const answers = [
      await list(id),
      (await getVersion(id, 2)).body,
      (await getVersion(id, 4)).body,
    ];
    expect(JSON.stringify(answers)).not.toMatch(/(first|second)-token/);
    expect(answers[1].graph.steps[1].config.headers).toEqual({ Authorization: '•••' });
    expect(answers[0].data.map(({ changes }: Listed) => changes.at(-1)?.text).slice(0, 2)).toEqual([
      'Hook: headers.Authorization changed',
      'Hook: headers.Authorization changed',
    ]);
  });

  it.each(['0', '-1', '1.5', 'x'])('refuse the number %s with 422', async (version) => {
    const { id } = await createWorkflow();
    for (const answer of [await getVersion(id, version), await restore(id, version)]) {
      expect([answer.status, ...errorFields(answer.body)]).toEqual([422, 'version invalid_string']);
    }
  });

  it('answer 404 for a version that never was, another project and a workflow that is gone', async () => {
    const { id } = await createWorkflow();
    const codes = async (request: ReturnType<typeof call>) => {
      const { status, body } = await request;
      return [status, body.error.code];
    };
    for (const version of [99, 999_999_999_999]) {
      expect(await codes(getVersion(id, version))).toEqual([404, 'VERSION_NOT_FOUND']);
      expect(await codes(restore(id, version))).toEqual([404, 'VERSION_NOT_FOUND']);
    }
    const { secretKey } = await api.createProject(cookie);
    for (const [owner, workflowId] of [
      [secretKey, id],
      [undefined, randomUUID()],
    ] as const) {
      const path = `/workflows/${workflowId}/versions`;
      for (const request of [
        call('GET', path, undefined, owner),
        call('GET', `${path}/1`, undefined, owner),
        call('POST', `${path}/1/restore`, undefined, owner),
      ]) {
        expect(await codes(request)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
      }
    }
  });

  it('can each be simulated', async () => {
    const { id } = await edited();
    const simulate = async (version: number) =>
      call('POST', `/workflows/${id}/simulate`, { contact: { email: 'a@b.test' }, version });
    const played = [];
    for (const version of [2, 3, 4]) {
      const { path } = (await simulate(version)).body.data;
      played.push(path.slice(1).map((step: { name: string }) => step.name));
    }
    expect(played).toEqual([['Two days'], ['Two days', 'Out'], ['Two days', 'Out']]);
    expect((await simulate(1)).body.error.code).toBe('WORKFLOW_INVALID');
  });
});

describe('restoring a version', () => {
  it('draws it again as one version more, with the ids of its steps and transitions', async () => {
    const { id } = await createWorkflow();
    const delay = await addDelay(id, 'Two days');
    await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'Out', config: {} });
    await call('PATCH', `/workflows/${id}`, {
      exitRules: [{ eventName: 'bought', reason: 'Bought' }],
    });
    const fourth = await drawnNow(id);
    await call('DELETE', `/workflows/${id}/steps/${delay.id}`);
    await call('PATCH', `/workflows/${id}`, {
      triggerType: 'SCHEDULE',
      triggerConfig: { cron: '0 8 * * 1', timeZone: 'UTC' },
      exitRules: [],
    });
    const other = await make(`/workflows/${id}/steps`, {
      type: 'DELAY',
      name: 'Two days',
      config: { amount: 9, unit: 'days' },
    });
    expect(other.id).not.toBe(delay.id);

    const answer = await restore(id, 4);
    expect([answer.status, answer.body.version]).toEqual([200, 8]);
    expect(await drawnNow(id)).toEqual(fourth);
    const [newest] = (await list(id)).data;
    expect(newest).toMatchObject({ version: 8, restoredFrom: 4, current: true });
    expect(newest.changes.map(({ kind }: { kind: string }) => kind)).toEqual([
      'restored',
      'trigger',
      'exit_rules',
      'step_added',
      'step_added',
      'step_removed',
      'transition_added',
      'transition_added',
      'transition_removed',
    ]);

    const again = await restore(id, 4);
    expect([again.status, again.body.version]).toEqual([200, 8]);
    expect((await restore(id, 8)).body.version).toBe(8);
  });

  it('leaves name, settings and open executions as they are', async () => {
    const { id } = await edited();
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    await call('POST', '/v1/track', { event: 'signed_up', email: 'b@people.test' });
    await call('PATCH', `/workflows/${id}`, { name: 'New name', allowReentry: true });
    const { body } = await restore(id, 3);
    expect(body).toMatchObject({ name: 'New name', allowReentry: true, enabled: true, version: 5 });
    const { executions } = (await call('GET', `/workflows/${id}/executions`)).body;
    expect(executions.map((one: { workflowVersion: number }) => one.workflowVersion)).toEqual([4]);
    await sql`update execution set status = 'CANCELLED' where workflow_id = ${id}`.execute(api.db);
  });

  it('refuses a graph that cannot run while the workflow is enabled, and changes nothing', async () => {
    const { id } = await edited();
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const before = await read(id);
    const refused = await restore(id, 1);
    expect([refused.status, refused.body.error.code]).toEqual([422, 'WORKFLOW_INVALID']);
    expect(await read(id)).toEqual(before);
    await call('PATCH', `/workflows/${id}`, { enabled: false });
    expect((await restore(id, 1)).body.version).toBe(5);
  });

  it('returns 404 when a template, a topic or a segment of it is gone, and changes nothing', async () => {
    const template = await make('/templates', {
      name: 'T',
      subject: 's',
      body: 'b',
      type: 'MARKETING',
    });
    const topic = await make('/topics', { key: 'news', name: 'News', default: 'subscribed' });
    const segment = await make('/segments', { name: 'S', type: 'STATIC' });
    const { id } = await createWorkflow();
    const restoring = async (version: number) => {
      const { status, body } = await restore(id, version);
      return [status, body.error?.code];
    };
    const mail = await make(`/workflows/${id}/steps`, {
      type: 'SEND_EMAIL',
      name: 'Mail',
      config: {},
      templateId: template.id,
    });
    await patchStep(id, mail.id, { templateId: null, config: { topicId: topic.id } });
    await patchStep(id, mail.id, { config: {} });
    const schedule = async (more: object) =>
      call('PATCH', `/workflows/${id}`, {
        triggerType: 'SCHEDULE',
        triggerConfig: { cron: '0 8 * * 1', timeZone: 'UTC', ...more },
      });
    const filter = {
      logic: 'AND',
      groups: [{ filters: [{ field: `segment.${segment.id}`, operator: 'memberOfSegment' }] }],
    };
    expect((await schedule({ segmentId: segment.id })).body.version).toBe(5);
    expect((await schedule({ filter })).body.version).toBe(6);
    expect((await schedule({})).body.version).toBe(7);
    for (const path of [`/templates/${template.id}`, `/topics/${topic.id}`]) {
      expect((await call('DELETE', path)).status).toBe(204);
    }
    expect((await call('DELETE', `/segments/${segment.id}`)).status).toBe(204);
    const before = await read(id);
    expect([
      await restoring(2),
      await restoring(3),
      await restoring(5),
      await restoring(6),
    ]).toEqual([
      [404, 'TEMPLATE_NOT_FOUND'],
      [404, 'TOPIC_NOT_FOUND'],
      [404, 'SEGMENT_NOT_FOUND'],
      [404, 'SEGMENT_NOT_FOUND'],
    ]);
    expect(await read(id)).toEqual(before);
    const { template: shown } = (await getVersion(id, 2)).body.graph.steps[1];
    expect(shown).toEqual({ id: template.id, name: null });
  });

  it('and edits at the same moment each make their version, none is lost', async () => {
    const { id, delay } = await edited();
    const answers = await Promise.all([
      restore(id, 2),
      restore(id, 3),
      addDelay(id, 'Another'),
      patchStep(id, delay.id, { config: { amount: 7, unit: 'days' } }),
      patchStep(id, delay.id, { config: { amount: 8, unit: 'days' } }),
    ]);
    const { version } = await read(id);
    expect(answers.filter(({ status }) => status !== undefined && status >= 400)).toEqual([]);
    const { data } = await list(id);
    expect(data.map((row: Listed) => row.version)).toEqual(
      Array.from({ length: version }, (_, index) => version - index),
    );
    const { graph } = (await getVersion(id, version)).body;
    const now = (await call('GET', `/workflows/${id}/graph`)).body;
    expect(graph.transitions).toEqual(expect.arrayContaining(now.transitions));
    expect(graph.steps).toHaveLength(now.steps.length);
  });
});

describe('a large graph that is edited often', () => {
  it('is stored as differences, and every version is read as it was drawn', async () => {
    const steps = Array.from({ length: 200 }, (_, index) => ({
      key: `wait-${index}`,
      type: 'DELAY',
      name: `Wait ${index}`,
      config: { amount: 1 + index, unit: 'hours' },
    }));
    const transitions = steps.map(({ key }, index) => ({
      from: index === 0 ? 'trigger' : `wait-${index - 1}`,
      to: key,
    }));
    const { id } = await make('/workflows', {
      name: 'Large',
      graph: { steps: [{ type: 'TRIGGER' }, ...steps], transitions },
    });
    const graphs: PortableGraph[] = [];
    const keep = async () => graphs.push((await call('GET', `/workflows/${id}/graph`)).body);
    await keep();
    const drawn = await read(id);
    const stepAt = (index: number) => drawn.steps[index].id as string;
    await patchStep(id, stepAt(5), { name: 'Renamed' });
    await keep();
    await call('DELETE', `/workflows/${id}/steps/${stepAt(7)}?splice=true`);
    await keep();
    await addDelay(id, 'Last');
    await keep();
    await restore(id, 1);
    await keep();
    await call('PATCH', `/workflows/${id}`, {
      exitRules: [{ eventName: 'bought', reason: 'Bought' }],
    });
    await keep();
    const { rows } = await sql<{ version: number; isWhole: boolean; bytes: number }>`
      select version, graph is not null as "isWhole",
          octet_length(coalesce(graph, difference)::text) as bytes
        from workflow_version where workflow_id = ${id} order by version`.execute(api.db);
    expect(rows.map(({ isWhole }) => isWhole)).toEqual([true, ...rows.slice(1).map(() => false)]);
    expect(Math.max(...rows.slice(1).map(({ bytes }) => bytes))).toBeLessThan(3_000);
    const sorted = ({ exitRules, steps: drawnSteps, transitions: ways }: PortableGraph) => ({
      exitRules,
      steps: new Map(drawnSteps.map((step) => [step.key, { ...step, id: undefined }])),
      transitions: new Set(ways.map((way) => JSON.stringify(way))),
    });
    for (const [index, graph] of graphs.entries()) {
      expect(sorted((await getVersion(id, index + 1)).body.graph)).toEqual(sorted(graph));
    }
  });
});
