import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useCountingSink } from '../../support/fakes/counting-sink.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import { killAtDecision } from '../../support/projects/killed-experiment.ts';
import { useFolder } from '../../support/use.ts';

const sink = await useCountingSink();
const smtp = {
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  DELIVERY_SETTLE_MINUTES: '0',
};
const engine = await useEngine(smtp, { worker: false });

it.each([-100, 0, 150])(
  'sends the rest once when the worker is killed %i ms after the decision is due',
  async (afterMs) => {
    const JOURNAL_DIR = await useFolder();
    const startWorker = () => useWorkerProcess(engine, { ...smtp, JOURNAL_DIR });
    await killAtDecision(engine, sink, { afterMs, startWorker });
    expect(sink.emails.size).toBeGreaterThan(0);
  },
  180_000,
);
