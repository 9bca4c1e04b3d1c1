import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  type StepPlan,
  type WayPlan,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { randomOf } from '../../support/random.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A simulation has the same result as an execution of the same graph, contact and events. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const templates = await Promise.all(
  ['TRANSACTIONAL', 'MARKETING'].map((type) =>
    createTemplate(engine, { type, subject: 'At {{n}}', body: '<p>{{plan}} of {{n}}</p>' }),
  ),
);

const segments = await Promise.all(
  [
    { field: 'event.a', operator: 'triggered' },
    { field: 'data.n', operator: 'greaterThan', value: 5 },
  ].map(async (filter) => {
    const filters = { operator: 'AND', conditions: [filter] };
    const given = { name: filter.field, filters, trackMembership: false };
    const { body } = await engine.call('POST', '/segments', given);
    return body.id as string;
  }),
);

type Random = ReturnType<typeof randomOf>;

const below = (random: Random, max: number) => Math.floor(random() * max);
const oneOf = <T>(random: Random, values: readonly T[]) => values[below(random, values.length)]!;

/**
 * Returns a random graph in which every step runs at most once, and the responses of its
 * receivers.
 */
function randomGraph(random: Random, startName: string) {
  const steps: StepPlan[] = [];
  const ways: WayPlan[] = [];
  const answers = new Map<string, { statusCode: number; response: object }>();

  function configOf(type: string, name: string): Partial<StepPlan> {
    const n = below(random, 10);
    switch (type) {
      case 'DELAY':
        return { config: { amount: 1 + n, unit: oneOf(random, ['minutes', 'hours', 'days']) } };
      case 'WAIT_FOR_EVENT': {
        const where = oneOf<object[]>(random, [
          [],
          [{ field: 'event.n', operator: 'greaterThan', valueOf: 'context.n' }],
          [{ field: 'event.n', operator: 'lessThan', valueOf: 'contact.data.n' }],
          [{ field: 'contact.data.n', operator: 'equals', valueOf: 'event.n' }],
          [{ field: 'context.n', operator: 'lessThan', value: 5 + n }],
        ]);
        const since = oneOf(random, ['step', 'execution']);
        const eventName = oneOf(random, ['a', 'b']);
        return { config: { eventName, timeout: 3_600 * (1 + n), where, since } };
      }
      case 'DIGEST': {
        const eventName = oneOf(random, ['a', 'b', startName]);
        const since = oneOf(random, ['step', 'execution']);
        const where = oneOf<object[]>(random, [
          [],
          [{ field: 'event.n', operator: 'greaterThan', valueOf: 'context.n' }],
        ]);
        const ends = oneOf<object>(random, [
          {},
          { max: 1 + below(random, 3) },
          { immediateFirst: true },
        ]);
        const length = { amount: 1 + n, unit: 'hours' };
        return { config: { eventName, for: length, since, where, ...ends } };
      }
      case 'FILTER': {
        const all: object[] = [
          { field: 'event.n', operator: 'lessThan', value: n },
          { field: 'data.n', operator: 'lessThan', valueOf: 'context.n' },
          { field: 'event.a', operator: 'triggered' },
          { field: 'event.b', operator: 'notTriggered' },
          { field: 'event.contact.unsubscribed', operator: 'triggered' },
          { field: `segment.${oneOf(random, segments)}`, operator: 'memberOfSegment' },
        ];
        const seen = { field: 'data.seen', operator: 'exists' };
        const conditions = [seen, ...all.filter(() => random() < 0.4)];
        const filter = { operator: oneOf(random, ['AND', 'OR']), conditions };
        const branches = [{ id: 'yes', name: 'Yes', filter }];
        return { type: 'CONDITION', config: { mode: 'filter', branches } };
      }
      case 'CONDITION': {
        const field = oneOf(random, ['data.n', 'event.n', 'context.n', 'contact.data.seen']);
        const compared: object = random() < 0.5 ? { value: n } : { valueOf: 'contact.data.n' };
        return { config: { field, operator: 'greaterThan', ...compared } };
      }
      case 'SPLIT': {
        const arms = ['a', 'b', 'c'].map((id) => ({ id, name: id, weight: 1 + below(random, 3) }));
        const by = oneOf(random, ['contact', 'key']);
        return { config: { arms, by, ...(random() < 0.3 ? { salt: 'shared' } : {}) } };
      }
      case 'UPDATE_CONTACT': {
        const subscriptionAction = oneOf(random, ['none', 'unsubscribe', 'subscribe']);
        return { config: { updates: { seen: n, last: `${name} {{n}}` }, subscriptionAction } };
      }
      case 'WEBHOOK': {
        const path = `/${randomUUID()}`;
        const answer = { statusCode: oneOf(random, [200, 200, 404]), response: { n } };
        answers.set(name, answer);
        receiver.answer(path, { status: answer.statusCode, body: answer.response });
        const onFailure = oneOf(random, ['continue', 'continue', 'fail']);
        return { config: { url: `${receiver.url}${path}`, onFailure } };
      }
      case 'SEND_EMAIL':
        return { templateId: oneOf(random, templates) };
      default:
        return { config: { reason: name } };
    }
  }

  /** Adds a step after all of these. Returns where it leads. */
  function add(behind: readonly [from: string, branch?: string][], types: readonly string[]) {
    const type = oneOf(random, types);
    const name = `${type} ${steps.length}`;
    steps.push({ type, name, ...configOf(type, name) });
    for (const [from, branch] of behind) ways.push(branch ? [from, name, branch] : [from, name]);
    if (type === 'EXIT') return [];
    const branches = {
      CONDITION: ['yes', 'no'],
      FILTER: ['yes', 'default'],
      SPLIT: ['a', 'b', 'c'],
      WAIT_FOR_EVENT: ['event', 'timeout'],
    }[type];
    return (branches ?? [undefined]).map((branch): [string, string?] =>
      branch ? [name, branch] : [name],
    );
  }

  const usual = ['DELAY', 'WAIT_FOR_EVENT', 'UPDATE_CONTACT', 'WEBHOOK', 'SEND_EMAIL'];
  const all = [...usual, 'CONDITION', 'SPLIT', 'FILTER', 'DIGEST'];
  let ends: [from: string, branch?: string][] = [['TRIGGER']];
  for (let length = 4 + below(random, 4); length > 0 && ends.length > 0; length -= 1) {
    ends = add(ends, all);
    if (ends.length === 1) continue;
    // Some branches have their own steps before they join again, or end.
    ends = ends.flatMap((end) =>
      random() < 0.5
        ? add([end], [...usual.filter((type) => type !== 'WAIT_FOR_EVENT'), 'EXIT'])
        : [end],
    );
  }
  // A condition needs a transition.
  if (ends.length > 1) add(ends, ['EXIT', 'SEND_EMAIL']);
  const compared = oneOf<object>(random, [{ value: below(random, 40) }, { valueOf: 'context.n' }]);
  const ofRule = [{ field: 'event.n', operator: 'greaterThan', ...compared }];
  const exitRules = [
    ...(random() < 0.4
      ? [{ eventName: oneOf(random, ['a', 'b']), where: ofRule, reason: 'rule' }]
      : []),
    ...(random() < 0.2 ? [{ eventName: 'contact.unsubscribed', reason: 'left' }] : []),
  ];
  const where = random() < 0.3 ? [{ field: 'event.n', operator: 'lessThan', value: 7 }] : [];
  const key = random() < 0.5 ? { executionKey: 'event.key' } : {};
  return { steps, ways, exitRules, where, ...key, answers };
}

const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const ids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Returns a value without times and ids of mails, which differ. */
function comparable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (key, part: unknown) => {
    if (key === 'emailId') return null;
    if (typeof part !== 'string') return part;
    return isTime.test(part) ? 'a time' : part.replaceAll(ids, 'an id');
  });
}

interface Played {
  name: string;
  type: string;
  enteredAt: string;
  leftAt: string | null;
  branch: string | null;
  output: { waitOutcome?: string; closedBy?: string } | null;
}

async function compare(seed: number): Promise<string> {
  const random = randomOf(seed);
  const eventName = `start ${randomUUID()}`;
  const { answers, ...plan } = randomGraph(random, eventName);
  const workflow = await createWorkflow(engine, { eventName, ...plan });
  const path = `/workflows/${workflow.id}`;
  const email = newAddress();
  const n = below(random, 10);
  const context = { n, ...oneOf<object>(random, [{ key: n }, { key: `k${n}` }, { key: '' }]) };
  const data = { plan: oneOf(random, ['pro', 'free']), ...context };
  const contactId = await createContact(engine, email, { data, subscribed: random() < 0.8 });
  const events = Array.from({ length: below(random, 8) }, (_, index) => ({
    name: oneOf(random, ['a', 'b', 'c']),
    after: below(random, 40_000) * 10 + index + 0.5,
    data: { n: below(random, 50) },
  })).toSorted((one, other) => one.after - other.after);
  const startAt = '2026-01-01T00:00:00.000Z';
  const webhooks = Object.fromEntries(
    [...answers].map(([name, answer]) => [workflow.steps[name], answer]),
  );
  const asked = { contactId, context, events, webhooks, startAt };
  const { body: answer } = await engine.call('POST', `${path}/simulate`, asked);
  const played = answer.data;

  const track = (event: string, given: object) =>
    engine.call('POST', '/v1/track', { email, event, data: given });
  await track(eventName, context);
  const { body: listed } = await engine.call('GET', `${path}/executions`);
  const { starts, key } = played.start ?? { starts: true, key: null };
  expect([seed, ...listed.executions.map((one: { key: string | null }) => one.key)]).toEqual([
    seed,
    ...(starts ? [key] : []),
  ]);
  if (!starts) return 'not started';
  const own = `${path}/executions/${listed.executions[0].id}`;
  for (const step of played.path as Played[]) {
    if (!['DELAY', 'WAIT_FOR_EVENT', 'DIGEST'].includes(step.type)) continue;
    const { waitOutcome, closedBy } = step.output ?? {};
    const isByEvent = waitOutcome === 'EVENT' || closedBy === 'max' || closedBy === 'first';
    // An earlier event ended it at once.
    if (step.enteredAt === step.leftAt && isByEvent) continue;
    await waitFor(`seed ${seed} in ${step.name}`, async () => {
      const { body } = await engine.call('GET', own);
      return body.status === 'WAITING' && body.currentStep?.name === step.name;
    });
    const [entered, left] = [Date.parse(step.enteredAt), Date.parse(step.leftAt ?? '')];
    const meanwhile = events.filter(({ after }) => {
      const at = Date.parse(startAt) + after * 1_000;
      return at > entered && at <= left;
    });
    for (const event of meanwhile) await track(event.name, event.data);
    const isExit = played.status === 'EXITED' && step === played.path.at(-1);
    if (isExit || isByEvent) continue;
    const { status } = await engine.call('PATCH', `${own}/wait`, { until: '2020-01-01T00:00:00Z' });
    expect([seed, step.name, status]).toEqual([seed, step.name, 200]);
  }
  const real = await waitFor(`the end of seed ${seed}: ${played.status}`, async () => {
    const { body } = await engine.call('GET', own);
    return body.completedAt === null ? null : body;
  });

  const { body: contact } = await engine.call('GET', `/contacts/${contactId}`);
  const mails = await engine.api.db
    .selectFrom('email')
    .select(['to_email', 'subject', 'body', 'error'])
    .where('workflow_execution_id', '=', real.id)
    .orderBy('id')
    .execute();
  expect({
    seed,
    status: real.status,
    exitReason: real.exitReason,
    error: real.error,
    context: comparable(real.context),
    contact: { email, subscribed: contact.subscribed, data: contact.data },
    path: real.stepExecutions
      .filter(({ startedAt }: { startedAt: string | null }) => startedAt !== null)
      .map(({ step, output }: { step: { name: string; type: string }; output: unknown }) => ({
        name: step.name,
        type: step.type,
        output: comparable(output),
      })),
    mails: mails.map((mail) => comparable([mail.to_email, mail.subject, mail.body, mail.error])),
  }).toEqual({
    seed,
    status: played.status,
    exitReason: played.exitReason,
    error: played.error,
    context: comparable(played.context),
    contact: played.contact,
    path: (played.path as Played[]).map(({ name, type, output }) => ({
      name,
      type,
      output: comparable(output),
    })),
    mails: played.emails.map(
      (mail: { to: string; subject: string; body: string; reason: string }) =>
        comparable([mail.to, mail.subject, mail.body, mail.reason]),
    ),
  });
  return played.status;
}

it('of 20 random graphs they have the same result', { timeout: 120_000 }, async () => {
  const seeds = Array.from({ length: 20 }, (_, seed) => seed + 1);
  const ends: string[] = [];
  for (let from = 0; from < seeds.length; from += 5) {
    ends.push(...(await Promise.all(seeds.slice(from, from + 5).map(compare))));
  }
  // The executions end in different ways.
  expect(new Set(ends).size).toBeGreaterThan(1);
});
