import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const { cookie } = await api.signUp();
const { secretKey: key, id: projectId } = await api.createProject(cookie);

const call = (method: string, path: string, body?: unknown, as = key) =>
  api.request(method, path, { key: as, ...(body === undefined ? {} : { body }) });

const welcome = {
  name: 'Welcome',
  subject: 'Hi {{name ?? there}}',
  body: '<p>Welcome!</p>',
  type: 'MARKETING',
};

async function createTemplate(more: object = {}, as = key) {
  const { status, body } = await call('POST', '/templates', { ...welcome, ...more }, as);
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
}

async function addDomain(name: string, status: string) {
  await api.db
    .insertInto('domain')
    .values({ project_id: projectId, name, status, dkim_tokens: ['a', 'b', 'c'] })
    .execute();
}

/** Creates a workflow whose only step sends the template. */
async function useInWorkflow(templateId: string) {
  const workflow = (await call('POST', '/workflows', { name: 'W' })).body;
  const step = await call('POST', `/workflows/${workflow.id}/steps`, {
    type: 'SEND_EMAIL',
    name: 'Mail',
    config: {},
    templateId,
  });
  return { workflow, step: step.body };
}

describe('creating a template', () => {
  it('answers 201 with the whole record', async () => {
    expect(await createTemplate()).toEqual({
      id: expect.any(String),
      ...welcome,
      description: null,
      from: null,
      fromName: null,
      replyTo: null,
      projectId,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
  });

  it('answers 422 with every fault at once', async () => {
    const { status, body } = await call('POST', '/templates', {
      subject: 'a\nb',
      body: '',
      from: 'nobody',
    });
    expect(status).toBe(422);
    expect(
      body.error.errors.map(
        (fault: Record<string, string>) => `${fault['field']} ${fault['code']}`,
      ),
    ).toEqual([
      'name invalid_type',
      'subject invalid_string',
      'body too_small',
      'type invalid_type',
      'from invalid_string',
    ]);
  });

  it.each([
    ['body', '{% if x %}'],
    ['body', '{% include "x" %}'],
    ['body', '{{ a | nonsense }}'],
    ['subject', '{% nonsense %}'],
  ])('refuses a %s of %s as invalid_template', async (field, source) => {
    const { status, body } = await call('POST', '/templates', { ...welcome, [field]: source });
    expect(status).toBe(422);
    expect(body.error.errors).toMatchObject([{ field, code: 'invalid_template' }]);
  });

  it('refuses a sender of a domain that is not its own or not verified', async () => {
    await addDomain('verified.test', 'verified');
    await addDomain('pending.test', 'pending');
    const from = (email: string) => call('POST', '/templates', { ...welcome, from: email });
    expect((await from('Team@Verified.test')).body.from).toBe('team@verified.test');
    for (const [domain, code] of [
      ['pending.test', 'DOMAIN_NOT_VERIFIED'],
      ['other.test', 'DOMAIN_NOT_REGISTERED'],
      ['sub.verified.test', 'DOMAIN_NOT_REGISTERED'],
    ]) {
      const { status, body } = await from(`a@${domain}`);
      expect([status, body.error.code, body.error.details]).toEqual([403, code, { domain }]);
    }
  });
});

describe('changing a template', () => {
  it('changes what is sent, and checks a sender only when it is sent', async () => {
    await addDomain('lost.test', 'verified');
    const { id } = await createTemplate({ from: 'a@lost.test', fromName: 'A' });
    await api.db
      .updateTable('domain')
      .set({ status: 'failed' })
      .where('name', '=', 'lost.test')
      .execute();
    const changed = await call('PATCH', `/templates/${id}`, { name: 'Hello', fromName: null });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ name: 'Hello', fromName: null, from: 'a@lost.test' });
    const refused = await call('PATCH', `/templates/${id}`, { from: 'a@lost.test' });
    expect(refused.body.error.code).toBe('DOMAIN_NOT_VERIFIED');
    expect((await call('PATCH', `/templates/${id}`, { from: null })).body.from).toBeNull();
    expect((await call('PATCH', `/templates/${id}`, { body: '{% if %}' })).status).toBe(422);
    expect((await call('PATCH', `/templates/${id}`, {})).body.name).toBe('Hello');
  });
});

describe('listing templates', () => {
  it('searches name, description and subject, filters by type, sorts and pages', async () => {
    const { secretKey } = await api.createProject(cookie);
    const list = async (query: string) =>
      (await call('GET', `/templates${query}`, undefined, secretKey)).body;
    expect(await list('')).toEqual({ data: [], total: 0, page: 1, pageSize: 20, totalPages: 0 });
    await createTemplate({ name: 'Alpha', subject: '100% off' }, secretKey);
    await createTemplate({ name: 'Beta', description: 'About ALPHA' }, secretKey);
    await createTemplate({ name: 'Gamma', subject: 'alpha', type: 'HEADLESS' }, secretKey);
    const names = async (query: string) =>
      (await list(query)).data.map(({ name }: { name: string }) => name);
    expect(await names('')).toEqual(['Gamma', 'Beta', 'Alpha']);
    expect(await names('?search=aLpHa&sort=name&dir=asc')).toEqual(['Alpha', 'Beta', 'Gamma']);
    expect(await names('?search=%25')).toEqual(['Alpha']);
    expect(await names('?type=HEADLESS')).toEqual(['Gamma']);
    expect(await list('?pageSize=2&page=2')).toMatchObject({
      data: [{ name: 'Alpha' }],
      total: 3,
      totalPages: 2,
    });
    for (const query of ['?type=FOO', '?sort=steps', '?pageSize=101']) {
      expect((await call('GET', `/templates${query}`)).status).toBe(422);
    }
  });
});

describe('a template of another project', () => {
  it('answers 404 TEMPLATE_NOT_FOUND everywhere', async () => {
    const { secretKey } = await api.createProject(cookie);
    const { id } = await createTemplate({}, secretKey);
    for (const [method, path] of [
      ['GET', `/templates/${id}`],
      ['PATCH', `/templates/${id}`],
      ['DELETE', `/templates/${id}`],
      ['POST', `/templates/${id}/duplicate`],
      ['GET', `/templates/${id}/usage`],
    ] as const) {
      const body = method === 'PATCH' ? { name: 'x' } : undefined;
      const answer = await call(method, path, body);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    }
    const bulk = await call('POST', '/templates/bulk-update', { ids: [id], delete: true });
    expect(bulk.body.error.details).toEqual({ resource: 'template', id });
    expect((await call('GET', `/templates/${id}`, undefined, secretKey)).status).toBe(200);
  });
});

describe('duplicating a template', () => {
  it('makes a new record each time, with the name cut to 100 characters', async () => {
    const original = await createTemplate({ fromName: 'Shop' });
    const copies = [
      (await call('POST', `/templates/${original.id}/duplicate`)).body,
      (await call('POST', `/templates/${original.id}/duplicate`)).body,
    ];
    expect(new Set([original.id, ...copies.map(({ id }) => id)]).size).toBe(3);
    for (const copy of copies) {
      expect(copy).toMatchObject({ ...welcome, name: 'Welcome (Copy)', fromName: 'Shop' });
    }
    const { id } = await createTemplate({ name: 'x'.repeat(96) });
    const long = await call('POST', `/templates/${id}/duplicate`);
    expect(long.body.name).toBe(`${'x'.repeat(96)} (Co`);
  });
});

describe('a template in use', () => {
  it('cannot be deleted; its usage lists the step', async () => {
    const { id } = await createTemplate();
    const { workflow, step } = await useInWorkflow(id);
    const user = { id: step.id, name: 'Mail', workflowId: workflow.id, workflowName: 'W' };
    const usage = await call('GET', `/templates/${id}/usage`);
    expect(usage.body).toEqual({ campaigns: [], workflowSteps: [user], emailsSent: 0 });
    const refused = await call('DELETE', `/templates/${id}`);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'TEMPLATE_IN_USE']);
    expect(refused.body.error.details).toEqual({ workflowSteps: [user] });
    expect((await call('DELETE', `/workflows/${workflow.id}`)).status).toBe(204);
    expect((await call('DELETE', `/templates/${id}`)).status).toBe(204);
    expect((await call('GET', `/templates/${id}`)).status).toBe(404);
  });

  it('is never lost to a race between deleting it and using it', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { id } = await createTemplate();
        const workflow = (await call('POST', '/workflows', { name: 'W' })).body;
        const [used, deleted] = await Promise.all([
          call('POST', `/workflows/${workflow.id}/steps`, {
            type: 'SEND_EMAIL',
            name: 'Mail',
            config: { templateId: id },
          }),
          call('DELETE', `/templates/${id}`),
        ]);
        return `${used.status} ${deleted.status}`;
      }),
    );
    for (const outcome of outcomes) expect(['201 409', '404 204']).toContain(outcome);
  });
});

describe('bulk-update of templates', () => {
  it('deletes all or none', async () => {
    const [a, b, c] = [await createTemplate(), await createTemplate(), await createTemplate()];
    await useInWorkflow(c.id);
    const bulk = (ids: string[], more: object = { delete: true }) =>
      call('POST', '/templates/bulk-update', { ids, ...more });
    expect((await bulk([a.id, randomUUID()])).body.error.code).toBe('TEMPLATE_NOT_FOUND');
    expect((await bulk([a.id, c.id])).body.error.code).toBe('TEMPLATE_IN_USE');
    expect((await bulk([a.id, b.id], {})).body).toEqual({ updated: 0 });
    expect((await call('GET', `/templates/${a.id}`)).status).toBe(200);
    expect((await bulk([a.id, b.id, a.id])).body).toEqual({ deleted: 2 });
    expect((await call('GET', `/templates/${a.id}`)).status).toBe(404);
    expect((await bulk([])).status).toBe(422);
    expect((await bulk(Array.from({ length: 1001 }, () => randomUUID()))).status).toBe(422);
  });
});
