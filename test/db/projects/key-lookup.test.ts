import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { hashKey } from '../../../api/access/keys.ts';
import { findKeyOwners } from '../../../db/projects/key-lookup.ts';
import { useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { rowsRead } from '../../support/rows-read.ts';

it('finds keys by their hash, however many keys others have', async () => {
  const { db, signUp, createProject } = await useApi();
  const { cookie } = await signUp();
  const project = await createProject(cookie);
  await sql`insert into api_key
      (project_id, name, kind, key_hash, key_last4, previous_hash, rotates_until, scopes, created_by)
    select ${project.id}, 'Key', 'secret', sha256(('new ' || n)::bytea), '9f3a',
        sha256(('old ' || n)::bytea), now(), '{*}', 'key:secret'
      from generate_series(1, 20000) as n`.execute(db);
  await sql`analyze api_key`.execute(db);
  const { id, key } = await insertNamedKey(db, project.id);
  const sent = [
    { hash: hashKey(key) },
    { hash: hashKey(project.secretKey) },
    { hash: hashKey(project.publicKey), publicKey: project.publicKey },
    { hash: hashKey('old 7') },
    { hash: hashKey('none') },
  ];
  const owners = await findKeyOwners(db, sent);
  expect(owners.map((owner) => owner && [owner.project.id, owner.key?.ended ?? null])).toEqual([
    [project.id, null],
    [project.id, null],
    [project.id, null],
    [project.id, 'expired'],
    undefined,
  ]);
  expect(owners[0]?.key?.id).toBe(id);
  expect(await rowsRead(db, () => findKeyOwners(db, sent))).toBeLessThan(30);
});
