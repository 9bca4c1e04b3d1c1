import { campaignSend } from '../../workflows/campaign.ts';
import { deliveryQueue } from '../../workflows/delivery.ts';
import { customerWorkflow } from '../../workflows/execution.ts';
import { sweep } from '../../workflows/sweep.ts';
import type { SimulatedServer } from './database.ts';
import { ids, resetFixture } from './fixture.ts';
import { findBroken, findOpen } from './invariants.ts';
import { type Process, Scheduler } from './scheduler.ts';
import { SimulatedTemporal } from './temporal.ts';
import {
  runSchedule,
  type SimulatedApi,
  SimulatedProvider,
  startApi,
  startWorker,
} from './world.ts';

/** The result of one history. */
export interface Outcome {
  seed: number;
  /** Broken invariants, in words. */
  broken: string[];
  operations: number;
  /** Equal for equal seeds. */
  trace: number;
  /** Virtual minutes until nothing was open any more. */
  minutes: number;
  lines: string[];
}

const minute = 60_000;
/** Time in which clients send requests and faults occur. */
const eventfulMs = 2 * minute;
/** Every history ends by then. */
const endMs = 60 * minute;

/** Plays the history of a seed on a database of the fixture. */
export async function playHistory(
  server: SimulatedServer,
  seed: number,
  options: { verbose?: boolean } = {},
): Promise<Outcome> {
  await resetFixture(server.outside);
  const sim = new Scheduler(seed);
  if (options.verbose) sim.lines = [];
  server.play(sim);
  const code = { customerWorkflow, campaignSend, deliveryQueue, sweep };
  const temporal = new SimulatedTemporal(sim, code);
  const provider = new SimulatedProvider(sim);
  const unknownPolicy = sim.random() < 0.5 ? ('fail' as const) : ('resend' as const);
  const made = { sim, db: server.db, temporal, provider, unknownPolicy, left: [] };
  const apis: SimulatedApi[] = [];
  const failures: string[] = [];

  /** Keeps one process of a kind running, as a supervisor does. */
  function keep(kind: string, start: (name: string) => Process): void {
    let number = 0;
    const begin = () => {
      const process = start(`${kind}${(number += 1)}`);
      process.onDeath.push(() => {
        void sim.in(supervisor, async () => {
          await sim.sleep(1_000 + 10_000 * sim.random());
          begin();
        });
      });
    };
    begin();
  }

  const supervisor = sim.process('supervisor');
  keep('api', (name) => {
    const api = startApi(made, name);
    apis.push(api);
    return api.process;
  });
  const workers = sim.random() < 0.3 ? 2 : 1;
  for (let n = 0; n < workers; n++) {
    keep(`worker${'ab'[n]}`, (name) => startWorker(made, name));
  }
  sim.deaths = Math.floor(sim.random() * 4);
  sim.stops = sim.random() < 0.5 ? 1 : 0;
  void sim.in(temporal.process, () => runSchedule(temporal));
  void sim.in(supervisor, () => plan(sim, temporal, apis, failures));

  const begin = sim.now;
  let open: string[] = ['not begun'];
  await sim.play(() => false, begin + eventfulMs);
  sim.deaths = 0;
  sim.stops = 0;
  temporal.isAway = false;
  while (open.length > 0 && sim.now < begin + endMs) {
    await sim.play(() => false, sim.now + minute / 2);
    open = await findOpen(server.outside, temporal);
  }
  const broken = [
    ...failures,
    ...open.map((what) => `still open after an hour: ${what}`),
    ...(await findBroken(server.outside, made)),
  ];
  const minutes = Math.round((sim.now - begin) / minute);
  await end(sim, temporal, apis);
  const { operations, trace, lines } = sim;
  return { seed, broken, operations, trace, minutes, lines: lines ?? [] };
}

async function end(sim: Scheduler, temporal: SimulatedTemporal, apis: SimulatedApi[]) {
  for (const { process } of [...temporal.workers, ...apis]) {
    process.onDeath.splice(
      0,
      process.onDeath.length,
      ...process.onDeath.filter((act) => act.length === 0),
    );
    await sim.kill(process);
  }
  await sim.kill(temporal.process);
}

/** Plans the requests of clients and the outages of Temporal. */
async function plan(
  sim: Scheduler,
  temporal: SimulatedTemporal,
  apis: SimulatedApi[],
  failures: string[],
): Promise<void> {
  const actions = 4 + Math.floor(sim.random() * 8);
  let hasCampaign = false;
  for (let n = 0; n < actions; n++) {
    await sim.sleep(sim.random() * 12_000);
    let api = apis.at(-1)!;
    while (!api.process.alive) {
      await sim.sleep(500);
      api = apis.at(-1)!;
    }
    const contact = sim.pick(ids.contacts);
    const luck = sim.random();
    const act = () => {
      if (luck < 0.3) return api.send(contact);
      if (luck < 0.6) return api.track(contact, 'began');
      if (luck < 0.85) return api.track(contact, 'clicked');
      if (luck < 0.9) return api.cancelSome();
      if (hasCampaign) return api.send(contact);
      hasCampaign = true;
      return api.sendCampaign();
    };
    void sim.in(api.process, act).catch((error: unknown) => {
      failures.push(`a request failed: ${String(error)}`);
    });
    if (sim.random() < 0.08) {
      temporal.isAway = true;
      sim.isDisturbed = true;
      await sim.sleep(20_000 * sim.random());
      temporal.isAway = false;
    }
  }
}
