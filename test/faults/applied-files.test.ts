import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useApiProcess } from '../support/processes/processes.ts';
import { randomOf } from '../support/random.ts';

/**
 * Kills an API at some moment while it applies a plan of 50 files. Then either none of them is
 * applied, or all of them are. `npm run faults` runs it.
 */

const kills = 20;
const engine = await useEngine({}, { worker: false });

const of = (count: number, file: (index: number) => [path: string, text: string]) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => file(index)));

/** Fifty files, all of them with the number of the round in their name. */
function filesOf(round: number): Record<string, string> {
  const name = `Round ${round}.`;
  return {
    ...of(10, (index) => [
      `topics/topic-${index}.yaml`,
      `name: ${name}\nvisibility: private\ndefault: subscribed\n`,
    ]),
    ...of(15, (index) => [
      `templates/mail-${index}.html`,
      `---\nname: ${name}\nsubject: Hi\ntype: MARKETING\nfrom: team@${engine.domain}\ntopic: topic-${index % 10}\n---\n<p>Hi</p>`,
    ]),
    ...of(10, (index) => [
      `segments/segment-${index}.yaml`,
      `name: ${name}\ntype: DYNAMIC\nfilters:\n  operator: AND\n  conditions:\n    - {field: email, operator: contains, value: '${index}'}\n`,
    ]),
    ...of(12, (index) => [
      `workflows/workflow-${index}.yaml`,
      `name: ${name}
enabled: true
trigger: {type: SCHEDULE, config: {cron: '0 9 * * mon', timeZone: Europe/Berlin, segment: segment-${index % 10}}}
steps:
  - {key: wait, type: DELAY, name: ${name}, config: {amount: ${1 + round}, unit: days}}
  - {key: mail, type: SEND_EMAIL, name: Mail, template: mail-${index}, config: {}}
transitions:
  - {from: trigger, to: wait}
  - {from: wait, to: mail}
`,
    ]),
    ...of(3, (index) => [
      `subscriptions/hook-${index}.yaml`,
      `url: https://hooks.shop.example/${index}\ndescription: ${name}\nevents: [order.*]\n`,
    ]),
  };
}

/** Returns the rounds that the objects of the project are of, each once. */
async function roundsNow(): Promise<string[]> {
  const { body } = await engine.call('GET', '/files');
  const rounds = (Object.values(body.files) as string[]).map(
    (text) => /Round (\d+)\./.exec(text)?.[1],
  );
  expect(rounds).toHaveLength(rounds.length === 0 ? 0 : 50);
  return [...new Set(rounds.map(String))];
}

async function versions(): Promise<number[]> {
  const query = engine.api.db.selectFrom('workflow').select('version').orderBy('file_key');
  return (await query.execute()).map(({ version }) => version);
}

it(
  'killed at any moment of an apply, has made all changes or none, and makes them afterwards',
  { timeout: 600_000 },
  async () => {
    const random = randomOf(24);
    const outcomes = new Set<string>();
    let durationMs = 500;
    for (let round = 0; round <= kills; round += 1) {
      const former = await roundsNow();
      const { body: plan } = await engine.call('POST', '/plan', { files: filesOf(round) });
      expect(plan.error).toBeUndefined();
      const api = await useApiProcess(engine);
      const began = performance.now();
      const applying = api.call('POST', '/apply', { planId: plan.id }).catch(() => null);
      // The first round measures how long an apply takes.
      if (round === 0) await applying;
      else await sleep(random() * durationMs * 1.2);
      if (round === 0) durationMs = performance.now() - began;
      await api.kill();
      const answer = await applying;
      const now = await roundsNow();
      const isDone = now.includes(String(round));
      expect(now).toEqual(isDone ? [String(round)] : former);
      if (answer) expect([answer.status, isDone]).toEqual([200, true]);
      outcomes.add(isDone ? 'all' : 'none');
      const again = await engine.call('POST', '/apply', { planId: plan.id });
      expect([again.status, again.body.error]).toEqual([200, undefined]);
      expect(await roundsNow()).toEqual([String(round)]);
      // One version for each round, however often it was applied.
      expect(new Set(await versions())).toEqual(new Set([round + 1]));
    }
    expect([...outcomes].toSorted()).toEqual(['all', 'none']);
  },
);
