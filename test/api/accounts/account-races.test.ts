import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../db/database.ts';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { overtaken } from '../../support/overtaken.ts';

const stripe = await useFakeStripe();
const api = await useApi(stripe.environment);
const owner = await api.signUp();

describe('a membership that ends meanwhile', () => {
  it.each([
    ['DELETE', undefined],
    ['PATCH', { role: 'ADMIN' }],
  ] as const)('answers %s 404 MEMBER_NOT_FOUND', async (method, body) => {
    const { id } = await api.createProject(owner.cookie);
    const bob = await api.signUp();
    await api.request('POST', `/projects/${id}/members`, {
      cookie: owner.cookie,
      body: { email: bob.email },
    });
    const answer = await overtaken(
      api,
      (tx) => tx.deleteFrom('membership').where('user_id', '=', bob.userId).execute(),
      () =>
        api.request(method, `/projects/${id}/members/${bob.userId}`, {
          cookie: owner.cookie,
          ...(body ? { body } : {}),
        }),
    );
    expect(answer).toEqual([404, 'MEMBER_NOT_FOUND']);
  });
});

describe('an invitation', () => {
  const invited = async () => {
    const { id } = await api.createProject(owner.cookie);
    const bob = await api.signUp();
    const invitation = { project_id: id, user_id: bob.userId, role: 'MEMBER' };
    await api.db.insertInto('invitation').values(invitation).execute();
    return { id, bob, path: `/users/@me/invitations/${id}/accept` };
  };

  it.each([
    [
      'whose project is deleted meanwhile',
      (tx: Database, id: string) =>
        tx
          .updateTable('project')
          .set({ removal: 'delete', public_key: randomUUID() })
          .where('id', '=', id)
          .execute(),
    ],
    [
      'that is taken back meanwhile',
      (tx: Database, id: string) =>
        tx.deleteFrom('invitation').where('project_id', '=', id).execute(),
    ],
  ])('%s cannot be accepted: 404 PROJECT_NOT_FOUND', async (_, change) => {
    const { id, bob, path } = await invited();
    const answer = await overtaken(
      api,
      (tx) => change(tx, id),
      () => api.request('POST', path, { cookie: bob.cookie }),
    );
    expect(answer).toEqual([404, 'PROJECT_NOT_FOUND']);
    const rows = await api.db
      .selectFrom('membership')
      .select('role')
      .where('user_id', '=', bob.userId)
      .execute();
    expect(rows).toEqual([]);
  });
});

describe('a project that is deleted meanwhile', () => {
  const mine = '/users/@me/projects/:id';
  it.each([
    ['POST', `${mine}/regenerate-keys`, undefined],
    ['POST', `${mine}/regenerate-webhook-secret`, undefined],
    ['PUT', `${mine}/billing-limits`, { campaigns: 5 }],
    ['POST', '/projects/:id/members', 'a member'],
  ] as const)('answers %s %s 404 PROJECT_NOT_FOUND', async (method, path, given) => {
    const { id } = await api.createProject(owner.cookie);
    const change = (tx: Database, values: object) =>
      tx.updateTable('project').set(values).where('id', '=', id).execute();
    await api.db.transaction().execute((tx) => change(tx, { subscription: `sub_${id}` }));
    const body = given === 'a member' ? { email: (await api.signUp()).email } : given;
    const answer = await overtaken(
      api,
      (tx) => change(tx, { removal: 'delete', public_key: randomUUID() }),
      () =>
        api.request(method, path.replace(':id', id), {
          cookie: owner.cookie,
          ...(body ? { body } : {}),
        }),
    );
    expect(answer).toEqual([404, 'PROJECT_NOT_FOUND']);
  });
});
