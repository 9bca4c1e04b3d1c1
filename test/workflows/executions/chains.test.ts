import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { segmentSlug } from '../../../domain/contact/segment-slug.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Workflows that start each other. */

const engine = await useEngine();

/** Returns the executions of a contact, oldest first, once all have ended. */
async function executionsOf(email: string) {
  const contact = await engine.api.db
    .selectFrom('contact')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return waitFor('the end of the chain', async () => {
    const rows = await engine.api.db
      .selectFrom('execution')
      .select(['status', 'depth', 'error', 'temporal_run_id'])
      .where('contact_id', '=', contact.id)
      .orderBy('started_at')
      .execute();
    return rows.at(-1)?.status === 'FAILED' && rows;
  });
}

const update = (subscriptionAction: string) => [
  { type: 'UPDATE_CONTACT', name: subscriptionAction, config: { subscriptionAction } },
];

it('by their steps end after ten, with a failed execution that says why', async () => {
  await createWorkflow(engine, {
    eventName: 'contact.subscribed',
    allowReentry: true,
    steps: update('unsubscribe'),
  });
  await createWorkflow(engine, {
    eventName: 'contact.unsubscribed',
    allowReentry: true,
    steps: update('subscribe'),
  });
  const email = newAddress();
  await engine.call('POST', '/contacts', { email, subscribed: false });
  await engine.call('POST', '/contacts', { email, subscribed: true });
  const chain = await executionsOf(email);
  expect(chain.map(({ depth }) => depth)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(chain.slice(0, -1).map(({ status }) => status)).toEqual(Array(11).fill('COMPLETED'));
  expect(chain.at(-1)).toMatchObject({
    error: expect.stringContaining('start each other'),
    temporal_run_id: null,
  });
});

it('by their mails end, too', async () => {
  const templateId = await createTemplate(engine);
  const eventName = randomUUID();
  const steps = [{ type: 'SEND_EMAIL', name: 'Mail', templateId }];
  await createWorkflow(engine, { eventName, steps });
  await createWorkflow(engine, { eventName: 'email.sent', allowReentry: true, steps });
  const email = newAddress();
  await engine.call('POST', '/v1/track', { email, event: eventName });
  const chain = await executionsOf(email);
  expect(chain).toHaveLength(12);
  expect(await engine.mailsTo(email, 11)).toHaveLength(11);
});

it('by segments that their steps move the contact into and out of end, too', async () => {
  const filter = { field: 'data.inside', operator: 'equals', value: true };
  const { body: segment } = await engine.call('POST', '/segments', {
    name: `Inside ${randomUUID()}`,
    condition: { logic: 'AND', groups: [{ filters: [filter] }] },
    trackMembership: true,
  });
  for (const [way, inside] of [
    ['entry', false],
    ['exit', true],
  ] as const) {
    await createWorkflow(engine, {
      eventName: `segment.${segmentSlug(segment)}.${way}`,
      allowReentry: true,
      steps: [{ type: 'UPDATE_CONTACT', name: way, config: { updates: { inside } } }],
    });
  }
  const email = newAddress();
  const contactId = await createContact(engine, email, { data: { inside: true } });
  const isAtRest = async () => {
    const rows = await engine.api.db
      .selectFrom('execution')
      .select(['status', 'depth'])
      .where('contact_id', '=', contactId)
      .execute();
    return rows.every(({ status }) => status !== 'RUNNING') && rows;
  };
  for (let depth = 0; depth <= 11; depth += 1) {
    await engine.call('POST', `/segments/${segment.id}/compute`);
    const rows = await waitFor('the journey to end', isAtRest);
    expect(
      rows
        .map((row) => row.depth)
        .toSorted((a, b) => a - b)
        .at(-1),
    ).toBe(depth);
    expect(rows.some(({ status }) => status === 'FAILED')).toBe(depth === 11);
  }
}, 90_000);

it('end before that where others have started a workflow 100 times within an hour', async () => {
  const eventName = randomUUID();
  await createWorkflow(engine, { eventName, allowReentry: true, steps: update('unsubscribe') });
  const { id: caused } = await createWorkflow(engine, {
    eventName: 'contact.unsubscribed',
    allowReentry: true,
    steps: [{ type: 'EXIT', name: 'Out' }],
  });
  const startsOf = async (email: string, earlier: { depth: number; startedAt: string }) => {
    const contactId = await createContact(engine, email);
    await engine.api.db
      .insertInto('execution')
      .values(
        Array.from({ length: 100 }, () => ({
          project_id: engine.project.id,
          workflow_id: caused,
          workflow_version: 1,
          workflow_name: 'Journey',
          contact_id: contactId,
          status: 'COMPLETED',
          depth: earlier.depth,
          started_at: sql<Date>`now() + ${earlier.startedAt}::interval`,
        })),
      )
      .execute();
    await engine.call('POST', '/v1/track', { email, event: eventName });
    return waitFor('what it has caused', async () => {
      const rows = await engine.api.db
        .selectFrom('execution')
        .select(['status', 'error'])
        .where('contact_id', '=', contactId)
        .where('workflow_id', '=', caused)
        .orderBy('started_at')
        .execute();
      const last = rows.at(-1);
      return rows.length === 101 && last?.status !== 'RUNNING' && last;
    });
  };
  expect(await startsOf(newAddress(), { depth: 1, startedAt: '-10 minutes' })).toEqual({
    status: 'FAILED',
    error:
      'Other executions have started this workflow 100 times for the contact within an hour. ' +
      'Change the trigger of one of the workflows that start each other.',
  });
  const runs = { status: 'EXITED', error: null };
  expect(await startsOf(newAddress(), { depth: 0, startedAt: '-10 minutes' })).toEqual(runs);
  expect(await startsOf(newAddress(), { depth: 1, startedAt: '-2 hours' })).toEqual(runs);
});
