import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { holdBackCommits } from '../../support/held-insert.ts';
import { useApiProcess } from '../../support/processes/processes.ts';
import { passStaleTime } from '../../support/processes/restarted.ts';
import { waitFor } from '../../support/wait-for.ts';

/** An API process that dies between making a key, or its new value, and the response. */

const engine = await useEngine({}, { worker: false });
const { db } = engine.api;
const named = { name: 'Shop', scopes: ['contacts:read'] };

async function newRotation() {
  const { body } = await engine.call('POST', '/api-keys', named);
  return { path: `/api-keys/${body.id}/rotate`, given: { overlapSeconds: 3_600 }, old: body.key };
}
const newKey = async () => ({ path: '/api-keys', given: named, old: null });

const changes = async () =>
  (
    await sql`select from security_event where event in ('api_key.created', 'api_key.rotated')`.execute(
      db,
    )
  ).rows.length;

it.each([
  ['a new key', 'after the commit', newKey, false],
  ['a new key', 'before the commit', newKey, true],
  ['a rotation', 'after the commit', newRotation, false],
  ['a rotation', 'before the commit', newRotation, true],
])(
  '%s whose process dies %s is answered by the repeat, and made once',
  async (_, _when, prepare, isLost) => {
    const { path, given, old } = await prepare();
    const before = await changes();
    const key = randomUUID();
    const held = await holdBackCommits(db, 'security_event');
    const first = await useApiProcess(engine);
    const headers = { 'Idempotency-Key': key };
    const lost = first.call('POST', path, given, headers).catch(() => null);
    await held.isReached();
    await first.kill();
    if (isLost) await held.endWaiting();
    await held.release();
    expect(await lost).toBeNull();
    if (isLost) await passStaleTime(db, key);
    const next = await useApiProcess(engine);
    const answer = await waitFor('the answer', async () => {
      const repeated = await next.call('POST', path, given, headers);
      return repeated.status === 409 ? null : repeated;
    });
    expect(answer.headers.get('idempotency-replayed')).toBe(isLost ? null : 'true');
    expect(await changes()).toBe(before + 1);
    for (const value of [answer.body.key, ...(old === null ? [] : [old])]) {
      const bearer = { Authorization: `Bearer ${value}` };
      expect((await next.call('GET', '/api-keys/@me', undefined, bearer)).status).toBe(200);
    }
  },
  120_000,
);
