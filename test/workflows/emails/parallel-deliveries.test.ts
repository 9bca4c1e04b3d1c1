import { expect, it } from 'vitest';
import { deliveryRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { insertBacklog } from '../../support/projects/mails.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A large backlog of a project's mail without a campaign. */

const sink = await useSmtpSink();
const engine = await useEngine({
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
});
/** Sends one mail after a backlog. Returns the number of parallel deliveries, when all is sent. */
async function deliveriesAtOnce(backlog: number): Promise<number> {
  await insertBacklog(engine, backlog);
  const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>', to: newAddress() };
  expect((await engine.call('POST', '/v1/send', mail)).status).toBe(200);
  const count = async (status: string) =>
    (await engine.call('GET', `/emails?status=${status}&limit=1`)).body.total;
  await waitFor(
    'all to be sent',
    async () => (await count('PENDING')) === 0 && (await count('SENDING')) === 0,
    60_000,
  );
  const handle = engine.temporal.client.workflow.getHandle(deliveryRunId(engine.project.id));
  const { events } = await handle.fetchHistory();
  const perTask = new Map<string, number>();
  for (const event of events ?? []) {
    const task = event.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId;
    if (task) perTask.set(String(task), (perTask.get(String(task)) ?? 0) + 1);
  }
  return Math.max(...perTask.values());
}

it('is delivered by several activities at once, each mail once', { timeout: 120_000 }, async () => {
  expect(await deliveriesAtOnce(3_500)).toBeGreaterThan(1);
  expect(sink.messages).toHaveLength(3_501);
  expect(new Set(sink.messages.map(({ to }) => to)).size).toBe(3_501);
});
