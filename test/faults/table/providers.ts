import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type CountingSink, useCountingSink } from '../../support/fakes/counting-sink.ts';
import type { Fault } from './faults.ts';
import { campaign, type Part, type Play } from './workload.ts';
import type { World } from './world.ts';

/** The first provider of a route dies in the middle of a campaign; the next one takes its mail. */

interface FirstProvider {
  id: string;
  sink: CountingSink;
}

const dies = (how: string, die: (sink: CountingSink) => void): Fault => {
  let first: FirstProvider | undefined;
  return {
    name: `first of two mail providers ${how}`,
    parts: [(play) => campaignOverTwo(play, first!)],
    async before({ world }) {
      first = await addFirstProvider(world);
    },
    breaks: () => die(first!.sink),
    async after({ world }) {
      await request(world, 'PUT', '/routing', { routes: [] });
    },
  };
};

export const providers: readonly Fault[] = [
  dies('refuses connections', (sink) => sink.stop()),
  dies('says nothing any more', (sink) => void (sink.faults = { isSilent: true })),
  dies('ends each connection after the message', (sink) => void (sink.faults = { dropEvery: 1 })),
  dies('puts off every message', (sink) => void (sink.faults = { putsOffAll: true })),
  dies('refuses the log-in', (sink) => void (sink.faults = { refusesLogin: true })),
];

/** Milliseconds after which all workers know changed routes. */
const routesKnownMs = 6_000;

/** Adds a provider to the project, and a route with it and, after it, the default one. */
async function addFirstProvider(world: World): Promise<FirstProvider> {
  const sink = await useCountingSink(world.sink);
  const { id } = await request(world, 'POST', '/providers', {
    name: `First at port ${sink.port}`,
    kind: 'smtp',
    host: '127.0.0.1',
    port: sink.port,
    security: 'none',
    user: 'shop',
    password: 'secret',
    feedback: 'none',
  });
  const route = { match: {}, providers: [{ id }, { id: 'default', weight: 0 }], onDown: 'next' };
  await request(world, 'PUT', '/routing', { routes: [route] });
  await sleep(routesKnownMs);
  return { id, sink };
}

async function request({ engine }: World, method: string, path: string, body: unknown) {
  const answer = await engine.call(method, path, body);
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

/** A campaign that both providers must have taken a part of. No unknown message may have moved. */
async function campaignOverTwo(play: Play, first: FirstProvider): Promise<Part> {
  const part = await campaign(play);
  const { db, sink } = play.world;
  return {
    ...part,
    async tally() {
      const tally = await part.tally();
      const { rows } = await sql<{ moved: number }>`
        select count(*)::int as moved from email
          where campaign_id = ${play.campaignId} and error = 'delivery_unknown'
            and provider_id is distinct from ${first.id}`.execute(db);
      const moved = rows[0]?.moved ?? 0;
      if (moved > 0) tally.wrong.push(`${moved} of unknown outcome have moved`);
      const [byFirst, byNext] = [first.sink.taken, sink.taken - first.sink.taken];
      if (byFirst === 0 || byNext === 0) tally.wrong.push(`taken: ${byFirst} and ${byNext}`);
      return tally;
    },
  };
}
