import { expect, it } from 'vitest';
import { act, campaignIn, createCampaign, insertContacts } from '../support/projects/campaigns.ts';
import { useEngine } from '../support/engine.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import { useWorkerProcess } from '../support/processes/processes.ts';

/** A campaign has four senders: activities that any worker may run. */

const recipients = 1_000;

it('sends one campaign from two worker processes, each message once', async () => {
  const engine = await useEngine({}, { worker: false });
  // One server for each worker, to count what each has sent.
  const sinks = [await useSmtpSink(), await useSmtpSink()];
  await Promise.all(
    sinks.map(({ port }) =>
      useWorkerProcess(engine, {
        SMTP_HOST: '127.0.0.1',
        SMTP_PORT: String(port),
        // Slow enough that one worker is not done before the other has begun.
        EMAIL_RATE_LIMIT_PER_SECOND: '200',
        EMAIL_RATE_PER_PROJECT_PER_SECOND: '200',
        // No worker has room for all four.
        EMAIL_WORKER_CONCURRENCY: '2',
      }),
    ),
  );
  await insertContacts(engine, recipients);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT', 120_000);

  const sent = sinks.map(({ messages }) => messages.map(({ to }) => to));
  expect(new Set(sent.flat()).size).toBe(recipients);
  expect(sent.flat()).toHaveLength(recipients);
  for (const { length } of sent) expect(length).toBeGreaterThan(0);
}, 180_000);
