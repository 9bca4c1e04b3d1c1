import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { insertDomain, type NewClaim } from '../../../db/transactions/projects/register-domain.ts';
import { recordDomainCheck } from '../../../db/domains/checks.ts';
import { forgetUnclaimedIdentity, insertSesIdentity } from '../../../db/domains/ses-identities.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const { cookie } = await api.signUp();
const projects = [1, 2, 3].map(() => api.createProject(cookie));
const projectIds = (await Promise.all(projects)).map(({ id }) => id);

const newName = () => `${randomUUID()}.dev`;
const claim = (name: string, which = 0) =>
  insertDomain(api.db, { projectId: projectIds[which]!, name });
const claimed = async (name: string, which = 0) => (await claim(name, which)) as NewClaim;
const release = ({ id }: { id: string }) =>
  api.db.deleteFrom('domain').where('id', '=', id).execute();
const notToBeCalled = () => Promise.reject(new Error('not to be called'));

/** Returns the claims of a name, in the order of `projectIds`. */
async function claimsOf(name: string) {
  const rows = await api.db
    .selectFrom('domain')
    .select(['project_id', 'name', 'status'])
    .where('name', '=', name)
    .execute();
  return projectIds.flatMap((id) => rows.find((row) => row.project_id === id) ?? []);
}

describe('the identity of a name', () => {
  it('is deleted when it is ours and the name has no claim', async () => {
    const name = newName();
    await insertSesIdentity(api.db, name);
    let forgotten = 0;
    const forget = async () => void (forgotten += 1);
    await forgetUnclaimedIdentity(api.db, name, forget);
    await forgetUnclaimedIdentity(api.db, name, forget);
    expect(forgotten).toBe(1);
  });

  it('is kept when it is not ours, or the name has a claim', async () => {
    const name = newName();
    await forgetUnclaimedIdentity(api.db, name, notToBeCalled);
    await insertSesIdentity(api.db, name);
    await claim(name);
    await forgetUnclaimedIdentity(api.db, name, notToBeCalled);
  });

  it('cannot be claimed while one process deletes it', async () => {
    const name = newName();
    await insertSesIdentity(api.db, name);
    await forgetUnclaimedIdentity(api.db, name, async () => {
      expect(await claim(name)).toBe('releasing');
      // Another name can be claimed meanwhile, and a second call does not delete this identity.
      expect(await claim(`x.${name}`)).toMatchObject({ name: `x.${name}` });
      await forgetUnclaimedIdentity(api.db, name, notToBeCalled);
    });
    expect(await claim(name)).toMatchObject({ name });
  });

  it('is forgotten at the next try when the provider fails', async () => {
    const name = newName();
    await insertSesIdentity(api.db, name);
    const fail = () => Promise.reject(new Error('away'));
    await expect(forgetUnclaimedIdentity(api.db, name, fail)).rejects.toThrow('away');
    let forgotten = false;
    await forgetUnclaimedIdentity(api.db, name, async () => void (forgotten = true));
    expect(forgotten).toBe(true);
  });

  it('is deleted by the next process when one dies at it', async () => {
    const name = newName();
    await insertSesIdentity(api.db, name);
    const overdue = sql<Date>`now() - interval '1 second'`;
    await api.db
      .updateTable('ses_identity')
      .set({ removing_until: overdue })
      .where('name', '=', name)
      .execute();
    let forgotten = false;
    await forgetUnclaimedIdentity(api.db, name, async () => void (forgotten = true));
    expect(forgotten).toBe(true);
  });
});

describe('claims of one name', () => {
  const finding = { records: {}, isProven: true, isFormerlyProven: false, signing: null };
  const prove = async (domain: NewClaim) => {
    const claim = { ...domain, revision: 0 };
    const row = await recordDomainCheck(api.db, claim, finding, { isScheduled: false });
    return row === 'changed' ? undefined : row;
  };
  const complete = () => api.db.updateTable('domain').set({ is_registered: true }).execute();

  it('are verified one at a time: of several at one moment one is, the others stay', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = newName();
      const claims = [await claimed(name), await claimed(name, 1), await claimed(name, 2)];
      await complete();
      const checks = await Promise.all(claims.map(prove));
      const statuses = checks.map((check) => check?.status).toSorted();
      expect(statuses).toEqual(['pending', 'pending', 'verified']);
    }
  });

  it('are verified in turn: the next one when the holder gives the name up', async () => {
    const name = newName();
    const [first, second] = [await claimed(name), await claimed(name, 1)];
    await complete();
    expect((await prove(first))?.status).toBe('verified');
    expect((await prove(second))?.status).toBe('pending');
    expect(await claim(name, 2)).toBe('taken');
    await release(first);
    expect((await prove(second))?.status).toBe('verified');
    expect(await prove(first)).toBeUndefined();
    expect(await claimsOf(name)).toEqual([{ project_id: projectIds[1], name, status: 'verified' }]);
  });
});
