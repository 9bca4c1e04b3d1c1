import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { createWorkflow } from '../../support/histories/executions.ts';
import { received, subscribe } from '../../support/projects/subscriptions.ts';
import { sweepNow } from '../../support/sweep-now.ts';

/** The sweep announces named keys that end. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
// The worker sends account mail. The API does not, or it would ask for verified addresses.
Object.assign(engine.services, { platformFrom: 'team@everpost.test' });
const receiver = await useReceiver();
const { db } = engine.api;

const inDays = (days: number, ms = 0) =>
  new Date(Date.now() + days * 86_400_000 + ms).toISOString();

async function makeKey(expiresAt: string, name = 'Shop') {
  const given = { name, scopes: ['*'], expiresAt };
  const { status, body } = await engine.call('POST', '/api-keys', given);
  expect(status).toBe(201);
  return body.id as string;
}

const eventsOf = () =>
  db
    .selectFrom('event')
    .select(['name', 'contact_id'])
    .where('project_id', '=', engine.project.id)
    .orderBy('id')
    .execute();

describe('a named key', () => {
  it('that ends in seven days is announced once by an event to subscriptions, and by a mail to administrators', async () => {
    const events = await subscribe(engine, receiver, ['api_key.*']);
    const expiresAt = inDays(7, 1_000);
    const keyId = await makeKey(expiresAt, 'Shop backend');
    await sweepNow(engine);
    expect(events.requests()).toEqual([]);
    await sleep(1_000);
    await sweepNow(engine);
    await sweepNow(engine);
    const [request] = await received(events, 1);
    expect(request?.event.data).toMatchObject({
      name: 'api_key.expiring',
      contact: null,
      data: { keyId, name: 'Shop backend', expiresAt, daysLeft: 7 },
    });
    expect(await eventsOf()).toHaveLength(1);
    const { email } = await db
      .selectFrom('membership')
      .innerJoin('app_user', 'app_user.id', 'membership.user_id')
      .select('email')
      .where('project_id', '=', engine.project.id)
      .executeTakeFirstOrThrow();
    const [mail] = await engine.mailsTo(email, 1);
    expect(mail?.subject).toMatch(/^An API key of the project “.*” expires in 7 days$/);
  });

  it('that has ended starts no workflow and ends no wait', async () => {
    const eventName = 'api_key.expired';
    const steps = [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName } }];
    const where = [{ field: 'event.name', operator: 'equals', value: 'Shop' }];
    for (const more of [{}, { where }, { executionKey: 'event.keyId' }]) {
      await createWorkflow(engine, { eventName, steps, ...more });
    }
    await createWorkflow(engine, { steps, exitRules: [{ eventName, reason: 'expired' }] });
    await makeKey(inDays(0, 500));
    await sleep(600);
    await sweepNow(engine);
    expect((await eventsOf()).at(-1)).toEqual({ name: 'api_key.expired', contact_id: null });
    expect((await sql`select from execution`.execute(db)).rows).toEqual([]);
  });
});
