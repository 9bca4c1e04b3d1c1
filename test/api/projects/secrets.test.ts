import { randomUUID } from 'node:crypto';
import { CompiledQuery, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { reEncrypt } from '../../../db/projects/re-encryption.ts';
import { listSecrets } from '../../../db/projects/secrets.ts';
import { createCipher } from '../../../providers/encryption.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';
import { recordStatements } from '../../support/statements.ts';

const shop = await useWorkflowApi();

const set = (name: string, value: unknown = 'tok_4f9a8c', as?: string) =>
  shop.call('PUT', `/secrets/${name}`, { value }, as);
const encrypted = () =>
  shop.api.db
    .selectFrom('secret')
    .select(['name', 'value'])
    .where('project_id', '=', shop.projectId)
    .orderBy('name')
    .execute();

/** Creates a workflow with one WEBHOOK step. */
async function webhookStep(config: object, as?: string) {
  const { id } = await shop.createWorkflow({}, as);
  const step = await shop.make(
    `/workflows/${id}/steps`,
    { type: 'WEBHOOK', name: 'Call', config: { url: 'https://crm.test/', ...config } },
    as,
  );
  return { workflowId: id as string, stepId: step.id as string, step };
}

describe('secrets', () => {
  it('are set and listed by name without their values, and stored encrypted', async () => {
    const value = `tok ${randomUUID()}`;
    expect((await set('B_TWO', value)).status).toBe(204);
    expect((await set('A1', 'other')).status).toBe(204);
    expect((await set('A1', 'newer')).status).toBe(204);
    const { status, body } = await shop.call('GET', '/secrets');
    expect(status).toBe(200);
    expect(body).toEqual([
      { name: 'A1', updatedAt: expect.any(String), usedIn: [] },
      { name: 'B_TWO', updatedAt: expect.any(String), usedIn: [] },
    ]);
    const rows = await encrypted();
    const { cipher } = shop.api.services;
    expect(rows.map((row) => [row.name, cipher.decrypt(row.value)])).toEqual([
      ['A1', 'newer'],
      ['B_TWO', value],
    ]);
    expect(rows[1]!.value.includes(value)).toBe(false);
  });

  it.each(['lower', '1A', '_A', 'A-B', 'A'.repeat(65)])('cannot be called %s', async (name) => {
    for (const answer of [await set(name), await shop.call('DELETE', `/secrets/${name}`)]) {
      expect(answer.status).toBe(422);
      expect(errorFields(answer.body)).toEqual(['name invalid_string']);
    }
  });

  it.each([
    ['', 'too_small'],
    ['x'.repeat(4097), 'too_big'],
    [7, 'invalid_type'],
    [undefined, 'invalid_type'],
  ])('cannot be %j', async (value, code) => {
    const { status, body } = await shop.call('PUT', '/secrets/VALUE', { value });
    expect(status).toBe(422);
    expect(errorFields(body)).toEqual([`value ${code}`]);
  });

  it('are removed, but not while a step names them', async () => {
    await set('USED');
    const mention = '{"a": "{{ secret.USED }}"}';
    const { workflowId, stepId } = await webhookStep({
      headers: { Authorization: 'Bearer {{secret.USED}}' },
      body: [mention],
    });
    const { stepId: second } = await webhookStep({ body: '{{secret.USED_NOT}} secret.USED' });
    const usedIn = [{ workflowId, stepId }];
    const listed = (await shop.call('GET', '/secrets')).body;
    expect(listed.find(({ name }: { name: string }) => name === 'USED').usedIn).toEqual(usedIn);
    expect(second).not.toBe(stepId);

    const refused = await shop.call('DELETE', '/secrets/USED');
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({ code: 'SECRET_IN_USE', details: { usedIn } });
    await shop.call('PATCH', `/workflows/${workflowId}/steps/${stepId}`, {
      config: { url: 'https://crm.test/' },
    });
    expect((await shop.call('DELETE', '/secrets/USED')).status).toBe(204);
    const gone = await shop.call('DELETE', '/secrets/USED');
    expect(gone.status).toBe(404);
    expect(gone.body.error).toMatchObject({
      code: 'SECRET_NOT_FOUND',
      details: { resource: 'secret', id: 'USED' },
    });
  });

  it('are looked for in the steps that may name one, however many others there are', async () => {
    const { db } = shop.api;
    await set('ANY');
    const statements = recordStatements();
    await listSecrets(db, shop.projectId);
    const { text = '', values = [] } = statements.take()[1] ?? {};
    const { rows } = await db.transaction().execute(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      return tx.executeQuery(CompiledQuery.raw(`explain ${text}`, [...values]));
    });
    expect(JSON.stringify(rows)).toContain('workflow_step_secret');
    expect(JSON.stringify(rows)).toContain('Index Cond: (project_id = ');
  });

  it('are 50 of a project at most, however many are set at once', async () => {
    const { secretKey } = await shop.api.createProject(shop.cookie);
    const names = Array.from({ length: 52 }, (_, index) => `N${index}`);
    const answers = await Promise.all(names.map((name) => set(name, 'x', secretKey)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 204)).toHaveLength(50);
    const refused = answers.find(({ status }) => status === 400)!;
    expect(refused.body.error.code).toBe('SECRET_LIMIT');
    const known = names[statuses.indexOf(204)]!;
    expect((await set(known, 'y', secretKey)).status).toBe(204);
    await shop.call('DELETE', `/secrets/${known}`, undefined, secretKey);
    expect((await set('LAST', 'x', secretKey)).status).toBe(204);
  });

  it('belong to their project', async () => {
    const { secretKey } = await shop.api.createProject(shop.cookie);
    await set('OWN');
    expect((await shop.call('GET', '/secrets', undefined, secretKey)).body).toEqual([]);
    expect((await shop.call('DELETE', '/secrets/OWN', undefined, secretKey)).status).toBe(404);
  });

  it('are changed by administrators alone, and listed by all', async () => {
    const member = await shop.api.signUp();
    await shop.api.db
      .insertInto('membership')
      .values({ project_id: shop.projectId, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const asMember = (method: string, path: string, body?: unknown) =>
      shop.api.request(method, path, {
        cookie: member.cookie,
        headers: { 'X-Project-Id': shop.projectId },
        ...(body === undefined ? {} : { body }),
      });
    for (const answer of [
      await asMember('PUT', '/secrets/ROLE', { value: 'x' }),
      await asMember('DELETE', '/secrets/A1'),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
    }
    expect((await asMember('GET', '/secrets')).status).toBe(200);
    const asOwner = await shop.api.request('PUT', '/secrets/ROLE', {
      cookie: shop.cookie,
      headers: { 'X-Project-Id': shop.projectId },
      body: { value: 'x' },
    });
    expect(asOwner.status).toBe(204);
  });

  it('come under the new key when the old one is replaced', async () => {
    await set('KEPT', 'kept value');
    const { jwtSecret } = shop.api.services.config;
    const before = { jwtSecretsPrevious: [], dataEncryptionKeysPrevious: [] };
    const rotated = createCipher({
      ...before,
      jwtSecret,
      dataEncryptionKey: Buffer.alloc(32, 7).toString('base64'),
    });
    expect(await reEncrypt(shop.api.db, rotated)).toBeGreaterThan(1);
    const row = (await encrypted()).find(({ name }) => name === 'KEPT')!;
    expect(rotated.decrypt(row.value)).toBe('kept value');
    expect(() => shop.api.services.cipher.decrypt(row.value)).toThrow('cannot be decrypted');
  });
});

describe('a WEBHOOK step with credentials', () => {
  const headers = { Authorization: 'Bearer clear', 'x-api-key': 'k', Cookie: 'c', 'X-Own': 'o' };
  const shown = { Authorization: '•••', 'x-api-key': '•••', Cookie: '•••', 'X-Own': 'o' };
  const stored = async (stepId: string) => {
    const { config } = await shop.api.db
      .selectFrom('workflow_step')
      .select('config')
      .where('id', '=', stepId)
      .executeTakeFirstOrThrow();
    return (config as { headers: unknown }).headers;
  };

  it('does not show them, neither alone nor in its workflow', async () => {
    const { workflowId, stepId, step } = await webhookStep({ headers });
    expect(step.config.headers).toEqual(shown);
    const { steps } = await shop.read(workflowId);
    expect(steps.find(({ id }: { id: string }) => id === stepId).config.headers).toEqual(shown);
    expect(await stored(stepId)).toEqual(headers);
  });

  it('keeps what a change leaves hidden', async () => {
    const { workflowId, stepId, step } = await webhookStep({ headers });
    const path = `/workflows/${workflowId}/steps/${stepId}`;
    const config = { ...step.config, headers: { ...shown, Cookie: 'new' } };
    const changed = await shop.call('PATCH', path, { config });
    expect(changed.status).toBe(200);
    expect(changed.body.config.headers).toEqual(shown);
    expect(await stored(stepId)).toEqual({ ...headers, Cookie: 'new' });
    const { version } = await shop.read(workflowId);
    await shop.call('PATCH', path, { config: changed.body.config });
    expect((await shop.read(workflowId)).version).toBe(version);
  });

  it('refuses a hidden value that stands for none', async () => {
    const { workflowId, stepId, step } = await webhookStep({ headers: { 'X-Own': 'o' } });
    const config = { ...step.config, headers: { authorization: '•••' } };
    const path = `/workflows/${workflowId}/steps`;
    for (const answer of [
      await shop.call('PATCH', `${path}/${stepId}`, { config }),
      await shop.call('POST', path, { type: 'WEBHOOK', name: 'Other', config }),
    ]) {
      expect(answer.status).toBe(422);
      expect(errorFields(answer.body)).toEqual(['config.headers.authorization not_allowed']);
    }
  });

  it('is copied with them', async () => {
    const { workflowId } = await webhookStep({ headers });
    const copy = await shop.call('POST', `/workflows/${workflowId}/duplicate`);
    const { steps } = await shop.read(copy.body.id);
    const [, step] = steps as { id: string; config: { headers: unknown } }[];
    expect(step!.config.headers).toEqual(shown);
    expect(await stored(step!.id)).toEqual(headers);
  });
});
