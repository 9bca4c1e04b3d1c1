import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  configs,
  faultsOf,
  multi,
  useWorkflowGraph,
} from '../../support/projects/workflow-graph.ts';

/** The workflow of the current test, with its TRIGGER step. */
let id: string;
let trigger: string;
const graph = await useWorkflowGraph();
const { api, inWorkflow, read, add, link, chain, ways } = graph;
beforeEach(async () => {
  ({ id, trigger } = await graph.begin());
});

describe('inserting a step into a transition', () => {
  it('keeps the way in and makes the way on, a condition by its first branch', async () => {
    const [c, x] = [await add('CONDITION'), await add('EXIT', { position: { x: 300, y: 400 } })];
    await chain(trigger, c.id);
    const { body: way } = await link(c.id, x.id, { branch: 'no' });
    const insert = (body: object) =>
      inWorkflow('POST', `/transitions/${way.id}/insert-step`, { name: 'New', ...body });
    const delay = await insert({ type: 'DELAY', config: configs['DELAY'] });
    expect(delay.status).toBe(201);
    expect(delay.body.position).toEqual({ x: 200, y: (c.position.y + 400) / 2 });
    const names = { c: c.id, x: x.id, d: delay.body.id };
    expect(await ways(names)).toEqual(['c:no>d', 'd>x', 't>c']);
    expect((await read()).transitions[1].id).toBe(way.id);
    const binary = await insert({ type: 'CONDITION', config: configs['CONDITION'] });
    const several = await insert({ type: 'CONDITION', config: multi });
    const split = await insert({ type: 'SPLIT', config: configs['SPLIT'] });
    const all = { ...names, e: binary.body.id, m: several.body.id, s: split.body.id };
    expect(await ways(all)).toEqual(['c:no>s', 'd>x', 'e:yes>d', 'm:pro>e', 's:a>m', 't>c']);
  });

  it('refuses TRIGGER and EXIT with 422 and an unknown transition with 404', async () => {
    await add('EXIT', { autoConnect: true });
    const [way] = (await read()).transitions;
    for (const type of ['TRIGGER', 'EXIT']) {
      const body = { type, name: 'N', config: {} };
      const answer = await inWorkflow('POST', `/transitions/${way.id}/insert-step`, body);
      expect(faultsOf(answer)).toEqual([422, 'type invalid_enum_value']);
    }
    const body = { type: 'DELAY', name: 'N', config: configs['DELAY'] };
    const unknown = await inWorkflow('POST', `/transitions/${randomUUID()}/insert-step`, body);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TRANSITION_NOT_FOUND']);
  });
});

describe('edits at the same moment', () => {
  it('of which two together would close a loop: exactly one wins', async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [await add('DELAY'), await add('DELAY')];
      const answers = await Promise.all([link(a.id, b.id), link(b.id, a.id)]);
      const outcomes = answers.map(({ status, body }) => body.error?.code ?? status).sort();
      expect(outcomes).toEqual([201, 'TRANSITION_LOOP']);
    }
  });

  it('that take the same way out: one wins', async () => {
    const [a, b, c] = [await add('DELAY'), await add('DELAY'), await add('DELAY')];
    const answers = await Promise.all([link(a.id, b.id), link(a.id, c.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  it('of the same transition twice: one record', async () => {
    const [a, b] = [await add('DELAY'), await add('DELAY')];
    const answers = await Promise.all(Array.from({ length: 5 }, () => link(a.id, b.id)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  });

  it('add each its step to one chain and count each its version', async () => {
    await Promise.all(Array.from({ length: 8 }, () => add('DELAY', { autoConnect: true })));
    const { steps, transitions, version } = await read();
    expect([steps.length, transitions.length, version]).toEqual([9, 8, 9]);
    const froms = transitions.map((way: { fromStepId: string }) => way.fromStepId);
    expect(new Set(froms).size).toBe(8);
  });

  it('while enabling: every version of the enabled workflow is kept', async () => {
    await add('DELAY', { autoConnect: true });
    await Promise.all([
      inWorkflow('PATCH', '', { enabled: true }),
      ...Array.from({ length: 5 }, () => add('DELAY')),
    ]);
    const { version, steps } = await read();
    const kept = await api.db
      .selectFrom('workflow_version')
      .select(['version', sql<number>`jsonb_array_length(graph -> 'steps')`.as('steps')])
      .where('workflow_id', '=', id)
      .orderBy('version', 'desc')
      .execute();
    expect(kept[0]).toEqual({ version, steps: steps.length });
    expect(kept.map((row) => row.version)).toEqual(kept.map((_, index) => version - index));
  });
});

it('an edit is one transaction with the key of its request, so that a repeat adds no second step', async () => {
  const key = randomUUID();
  const made = await graph.call(
    'POST',
    `/workflows/${id}/steps`,
    { type: 'EXIT', name: 'Out', config: {} },
    { 'Idempotency-Key': key },
  );
  expect(made.status).toBe(201);
  const { rows } = await sql<{ isOne: boolean }>`
    select step.xmin = idempotency.xmin as "isOne" from workflow_step step, idempotency
      where step.id = ${made.body.id} and idempotency.key = ${key}`.execute(api.db);
  expect(rows).toEqual([{ isOne: true }]);
});
