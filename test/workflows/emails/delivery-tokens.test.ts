import { sql } from 'kysely';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { takeSendingTokens } from '../../../db/delivery/send-rate.ts';
import { useEngine } from '../../support/engine.ts';
import { newAddress } from '../../support/projects/shop.ts';

const engine = await useEngine({ EMAIL_RATE_LIMIT_PER_SECOND: '100' }, { worker: false });

it('a delivery whose mail is locked leaves the tokens of the server to the others', async () => {
  const { db } = engine.api;
  const to = Array.from({ length: 20 }, newAddress);
  const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>', to };
  expect((await engine.call('POST', '/v1/send', mail)).status).toBe(200);
  await db.transaction().execute(async (tx) => {
    await sql`select from email where project_id = ${engine.project.id} for update`.execute(tx);
    await engine.startWorker();
    // Long enough for the delivery to check many times.
    await sleep(2_000);
    const rates = { perSecond: 100, perProjectPerSecond: 0 };
    const { granted } = await takeSendingTokens(db, rates, null, 99);
    expect(granted).toBeGreaterThan(70);
  });
  for (const address of to) expect(await engine.mailsTo(address, 1)).toHaveLength(1);
});
