import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { reconcileCommand } from '../../ops/reconcile.ts';
import { run } from '../../ops/run.ts';
import { useEngine } from '../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  startByHand,
} from '../support/histories/executions.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  insertContacts,
} from '../support/projects/campaigns.ts';
import { newAddress } from '../support/projects/shop.ts';
import { temporalAddress } from '../support/servers.ts';
import { waitFor } from '../support/wait-for.ts';

/** An operator decides about the mail that is held after a restore. */

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '20' });
const { db } = engine.api;

/** Runs the command. Returns its exit code, and its JSON or its error. */
async function reconcile(...options: string[]) {
  const written: string[] = [];
  const out = vi
    .spyOn(console, 'log')
    .mockImplementation((line: string) => void written.push(line));
  const err = vi.spyOn(process.stderr, 'write').mockImplementation((line) => {
    written.push(String(line));
    return true;
  });
  const env = {
    DATABASE_URL: engine.api.services.config.databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress(),
    TEMPORAL_TASK_QUEUE: engine.taskQueue,
  };
  const code = await run([reconcileCommand], ['reconcile', ...options, '--json'], env).finally(
    () => {
      out.mockRestore();
      err.mockRestore();
    },
  );
  // Notices go to stderr, beside the one JSON object.
  const json = written.find((line) => line.startsWith('{'));
  const text = written.join('');
  return { code, text, result: json === undefined ? null : JSON.parse(json) };
}

async function send(to: string, more: object = {}): Promise<string> {
  const { status, body } = await engine.call('POST', '/v1/send', {
    to,
    from: `team@${engine.domain}`,
    subject: 'Hello',
    body: '<p>Hello</p>',
    ...more,
  });
  expect(status).toBe(200);
  return body.data.emails[0].email;
}

const emailOf = async (id: string) => (await engine.call('GET', `/emails/${id}`)).body;
const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
const restoresOf = async () => (await reconcile('--list')).result.restores;

describe('held mail', () => {
  it('waits with a reason, new mail leaves, and a release sends it', async () => {
    const ids = await Promise.all(
      [0, 1, 2].map(() => send(newAddress(), { scheduledFor: tomorrow })),
    );
    const held = await reconcile('--hold');
    expect([held.code, held.result.mail.held]).toEqual([1, 3]);
    expect(held.result.waiting).toMatchObject([
      { projectId: engine.project.id, campaignId: null, held: 3 },
    ]);
    expect(await emailOf(ids[0]!)).toMatchObject({
      status: 'PENDING',
      hold: { reason: 'operator', until: null },
    });
    const { body: delivery } = await engine.call('GET', '/delivery');
    expect(delivery).toMatchObject({ limitedBy: 'operator', held: { operator: 3 } });
    const address = newAddress();
    await send(address);
    await engine.mailsTo(address, 1);
    // Held mail can be changed and cancelled as usual, and stays held.
    const moved = await engine.call('PATCH', `/emails/${ids[1]}`, { scheduledFor: null });
    expect(moved.body.hold).toEqual({ reason: 'operator', until: null });
    expect((await engine.call('DELETE', `/emails/${ids[2]}`)).status).toBeLessThan(300);
    expect(await reconcile('--release', '--project', engine.project.id)).toMatchObject({
      code: 0,
      result: { command: 'reconcile', ok: true, released: 2 },
    });
    expect((await emailOf(ids[0]!)).hold).toMatchObject({ reason: 'schedule' });
    await waitFor('the mail', async () => (await emailOf(ids[1]!)).status === 'DELIVERED');
    const restores = await restoresOf();
    expect(restores).toMatchObject([{ kind: 'by_hand', endedAt: expect.any(String) }]);
    const { rows } = await sql`select event, actor, details from security_event
      where event like 'mail.%'`.execute(db);
    expect(rows).toEqual([
      { event: 'mail.released', actor: 'system:server', details: { messages: 2 } },
    ]);
  });

  it('fails by a discard', async () => {
    const id = await send(newAddress(), { scheduledFor: tomorrow });
    await reconcile('--hold');
    const before = new Date(Date.now() - 3_600_000).toISOString();
    expect((await reconcile('--discard', '--created-before', before)).result.discarded).toBe(0);
    expect((await reconcile('--discard', '--all')).result.discarded).toBe(2);
    const email = await emailOf(id);
    expect(email).toMatchObject({ status: 'FAILED', error: 'restored', hold: null });
    expect((await reconcile('--list')).code).toBe(0);
  });

  it('of a campaign waits, and leaves to each once', async () => {
    const addresses = await insertContacts(engine, 120);
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    await waitFor('some mail', async () => (await campaignOf(engine, id)).sentCount >= 20, 60_000);
    const { result } = await reconcile('--hold');
    const [waiting] = result.waiting;
    expect(waiting).toMatchObject({ campaignId: id });
    const stats = async () => (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;
    await waitFor('the limit', async () => {
      const { progress } = await stats();
      return progress.limitedBy === 'operator' && progress.estimatedEndAt === null;
    });
    const { sentCount } = await campaignOf(engine, id);
    expect(sentCount).toBeLessThan(addresses.length);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENDING', sentCount });
    const released = await reconcile('--release', '--campaign', id);
    expect(released.result.released).toBe(waiting.held);
    const done = await campaignIn(engine, id, 'SENT', 60_000);
    expect(done.sentCount).toBe(done.totalRecipients);
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from mailbox_message where recipient like '%@people.test'
        group by recipient having count(*) > 1`.execute(db);
    expect(rows).toEqual([]);
  });

  it('of a campaign that has not begun waits, and is SENT by a discard', async () => {
    const id = await createCampaign(engine);
    await act(engine, id, 'send', { scheduledFor: tomorrow });
    await reconcile('--hold');
    await sql`update campaign set scheduled_for = now() where id = ${id}`.execute(db);
    const { result } = await reconcile('--list');
    expect(result.waiting).toMatchObject([{ campaignId: id }]);
    await reconcile('--discard', '--campaign', id);
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENT', sentCount: 0 });
  });

  it('of an execution that has started before is held when its step comes', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'go on' } },
        { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) },
      ],
    });
    const email = newAddress();
    await startByHand(engine, workflow.id, await createContact(engine, email));
    const scheduled = await send(newAddress(), { scheduledFor: tomorrow });
    await reconcile('--hold');
    await engine.call('POST', '/v1/track', { email, event: 'go on' });
    const mail = await waitFor('the mail', async () => {
      const { rows } = await sql<{ id: string }>`
        select id from email where to_email = ${email}`.execute(db);
      return rows[0] && emailOf(rows[0].id);
    });
    expect(mail).toMatchObject({ hold: { reason: 'operator' } });
    expect((await reconcile('--release', '--all')).result.released).toBe(2);
    await engine.mailsTo(email, 1);
    expect((await engine.call('DELETE', `/emails/${scheduled}`)).status).toBeLessThan(300);
  });
});

describe('the command', () => {
  it('compares, and is 0 when all agrees', async () => {
    const { code, result } = await reconcile('--timeout', '60');
    expect(result).toMatchObject({ ok: true, waiting: [], lostExecutions: { count: 0, ids: [] } });
    expect(code).toBe(0);
  });

  it.each([
    [['--release'], 'Say which mail'],
    [['--release', '--discard', '--all'], 'exclude each other'],
    [['--all'], 'needs --release or --discard'],
    [['--release', '--project', randomUUID()], 'There is no project'],
    [['--discard', '--campaign', randomUUID()], 'There is no campaign'],
    [['--discard', '--campaign', 'x'], 'must be an id'],
    [['--discard', '--created-after', 'x'], 'must be a time'],
    [['--nonsense'], 'nonsense'],
  ])('refuses %j', async (options, sentence) => {
    const { code, text, result } = await reconcile(...options);
    expect([code, result]).toEqual([2, null]);
    expect(text).toContain(sentence);
  });
});
