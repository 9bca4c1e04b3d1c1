import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { drawArm } from '../../../domain/workflow/steps/split.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { days, graphOf, type Step } from '../../support/projects/simulated-graph.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';

/** Simulations of one execution. */

const shop = await useShop();
const { db } = shop.api;
const day = 86_400_000;

const { body: workflow } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
const path = `/workflows/${workflow.id}/simulate`;

async function play(given: object) {
  const person = { contact: { email: newAddress() } };
  const { status, body } = await shop.call('POST', path, { ...person, ...given });
  expect([status, body.error]).toEqual([200, undefined]);
  expect(body.success).toBe(true);
  return body.data;
}

async function refused(given: object) {
  const person = { contact: { email: newAddress() } };
  const { status, body } = await shop.call('POST', path, { ...person, ...given });
  return [status, body.error?.code, ...(body.error?.errors ? errorFields(body) : [])];
}

const idsOf = ({ path: steps }: { path: { stepId: string }[] }) => steps.map((s) => s.stepId);
const lasted = (played: { startedAt: string; endedAt: string }) =>
  Date.parse(played.endedAt) - Date.parse(played.startedAt);

/** Counts the rows of the project in every table that an execution writes. */
async function rowCounts() {
  const { rows } = await sql`
    select (select count(*)::int from contact) as contacts, (select count(*)::int from email) as mails,
      (select count(*)::int from event) as events, (select count(*)::int from execution) as executions,
      (select count(*)::int from step_execution) as steps, (select count(*)::int from outbox) as runs,
      (select count(*)::int from workflow_version) as versions`.execute(db);
  return rows[0];
}

describe('a simulation', () => {
  it('plays a month at once, and leaves nothing behind', async () => {
    const templateId = await shop.createTemplate({ subject: 'Hello {{plan}}', body: '<p>Hi</p>' });
    const graph = graphOf(
      {
        mail: ['SEND_EMAIL', {}, { templateId }],
        wait: days(30),
        plan: ['CONDITION', { field: 'data.plan', operator: 'equals', value: 'pro' }],
        a: ['EXIT', { reason: 'a' }],
        b: ['EXIT', { reason: 'b' }],
      },
      [
        ['start', 'mail'],
        ['mail', 'wait'],
        ['wait', 'plan'],
        ['plan', 'a', 'yes'],
        ['plan', 'b', 'no'],
      ],
    );
    const before = await rowCounts();
    const contact = { email: newAddress(), data: { plan: 'pro' } };
    const played = await play({ contact, graph, startAt: '2026-11-01T08:00:00Z' });
    expect(played).toMatchObject({
      status: 'EXITED',
      exitReason: 'a',
      error: null,
      truncated: false,
      startedAt: '2026-11-01T08:00:00.000Z',
      endedAt: '2026-12-01T08:00:00.000Z',
      contact: { ...contact, subscribed: true },
      context: null,
      webhooks: [],
    });
    expect(idsOf(played)).toEqual(['start', 'mail', 'wait', 'plan', 'a']);
    expect(played.path[0].output).toEqual({
      triggered: true,
      eventName: 'e',
      timestamp: '2026-11-01T08:00:00.000Z',
    });
    expect(played.path[2]).toMatchObject({
      enteredAt: '2026-11-01T08:00:00.000Z',
      leftAt: '2026-12-01T08:00:00.000Z',
      output: { delayAmount: 30, delayUnit: 'days', resumeAt: '2026-12-01T08:00:00.000Z' },
    });
    expect(played.path[3]).toMatchObject({ branch: 'yes', output: { result: true } });
    expect(played.emails).toEqual([
      {
        stepId: 'mail',
        at: '2026-11-01T08:00:00.000Z',
        to: contact.email,
        from: `template@${shop.domain}`,
        subject: 'Hello pro',
        body: expect.stringContaining('<p>Hi</p>'),
        messageClass: 'TRANSACTIONAL',
        outcome: 'send',
        warnings: [],
        reason: null,
        heldUntil: null,
      },
    ]);
    expect(await rowCounts()).toEqual(before);
  });

  it('judges marketing mail by the send policy at its time', async () => {
    const { body: template } = await shop.call('POST', '/templates', {
      name: 'News',
      subject: 'News',
      body: '<p>Hi</p>',
      type: 'MARKETING',
      from: `news@${shop.domain}`,
    });
    const mail: Step = ['SEND_EMAIL', {}, { templateId: template.id }];
    const graph = graphOf({ one: mail, wait: days(1), two: mail, later: days(1), three: mail });
    const play = async (policy: object) => {
      expect((await shop.call('PUT', '/send-policy', policy)).status).toBe(200);
      const { body } = await shop.call('POST', path, {
        graph,
        contact: { email: 'ada@people.test', data: { timeZone: 'Etc/GMT-1' } },
        startAt: '2026-11-01T06:00:00.000Z',
      });
      return body.data.emails.map(
        ({ outcome, reason, heldUntil }: Record<string, string | null>) =>
          [outcome, reason, heldUntil] as const,
      );
    };
    const quietHours = { from: '22:00', to: '08:00', days: ['sat', 'mon'] };
    expect(await play({ quietHours })).toEqual([
      ['held', 'quiet_hours', '2026-11-01T07:00:00.000Z'],
      ['send', null, null],
      ['held', 'quiet_hours', '2026-11-03T07:00:00.000Z'],
    ]);
    const caps = [{ max: 1, perDays: 1 }];
    expect(await play({ quietHours, caps })).toEqual([
      ['held', 'quiet_hours', '2026-11-01T07:00:00.000Z'],
      ['withheld', 'frequency_cap', null],
      ['held', 'quiet_hours', '2026-11-03T07:00:00.000Z'],
    ]);
    expect(await play({ quietHours, caps, onCap: 'delay' })).toEqual([
      ['held', 'quiet_hours', '2026-11-01T07:00:00.000Z'],
      // Both hold: quiet hours end before the cap has room.
      ['held', 'frequency_cap', '2026-11-02T07:00:00.000Z'],
      ['held', 'quiet_hours', '2026-11-03T07:00:00.000Z'],
    ]);
    await shop.call('PUT', '/send-policy', { quietHours: null, caps: [], onCap: 'skip' });
  });

  it('of a stored workflow and contact: as it is drawn, or a version of it', async () => {
    const { body: made } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'x' });
    const step = { type: 'EXIT', name: 'End', config: { reason: 'old' } };
    const { body: end } = await shop.call('POST', `/workflows/${made.id}/steps`, step);
    await shop.call('PATCH', `/workflows/${made.id}`, { enabled: true });
    const { body: contact } = await shop.call('POST', '/contacts', { email: newAddress() });
    await shop.call('POST', `/workflows/${made.id}/executions`, { contactId: contact.id });
    const { body: old } = await shop.call('GET', `/workflows/${made.id}`);
    const config = { reason: 'new' };
    await shop.call('PATCH', `/workflows/${made.id}/steps/${end.id}`, { config });
    const ask = async (given: object) =>
      (
        await shop.call('POST', `/workflows/${made.id}/simulate`, {
          contactId: contact.id,
          ...given,
        })
      ).body;
    expect((await ask({})).data).toMatchObject({
      exitReason: 'new',
      contact: { email: contact.email },
    });
    expect((await ask({ version: old.version })).data.exitReason).toBe('old');
    expect(errorFields(await ask({ version: 99 }))).toEqual(['version not_found']);
  });

  it('plays every version that an answer has shown, also one drawn while disabled', async () => {
    const { body: made } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'x' });
    const at = `/workflows/${made.id}`;
    const exit = (reason: string) => ({ type: 'EXIT', name: reason, config: { reason } });
    const { body: end } = await shop.call('POST', `${at}/steps`, exit('first'));
    await shop.call('PATCH', `${at}/steps/${end.id}`, { config: { reason: 'second' } });
    await shop.call('PATCH', at, { triggerConfig: { eventName: 'y' } });
    const { body: copy } = await shop.call('POST', `${at}/duplicate`);
    const endsOf = async (id: string, version: number) => {
      const contact = { email: newAddress() };
      const { body } = await shop.call('POST', `/workflows/${id}/simulate`, { version, contact });
      return body.data?.exitReason ?? body.data?.status ?? errorFields(body);
    };
    const { body: now } = await shop.call('GET', at);
    const versions = Array.from({ length: now.version + 1 }, (_, index) => index + 1);
    const ends = await Promise.all(versions.map((version) => endsOf(made.id, version)));
    expect(ends).toEqual([
      [expect.stringMatching(/^steps\./)],
      'first',
      'second',
      'second',
      ['version not_found'],
    ]);
    expect(await endsOf(copy.id, 1)).toBe('second');
  });

  it('waits for an event, or for its time-out', async () => {
    const graph = graphOf(
      {
        wait: ['WAIT_FOR_EVENT', { eventName: 'paid', timeout: 7 * 86_400 }],
        yes: ['EXIT'],
        no: ['EXIT'],
      },
      [
        ['start', 'wait'],
        ['wait', 'yes', 'event'],
        ['wait', 'no', 'timeout'],
      ],
    );
    const context = { source: 'ad' };
    const paid = { name: 'paid', after: 3 * 86_400, data: { amount: 5 } };
    const met = await play({ graph, context, events: [paid] });
    expect(met.path[1]).toMatchObject({
      branch: 'event',
      output: { waitOutcome: 'EVENT', eventData: { amount: 5 } },
    });
    expect(met.context).toEqual({ source: 'ad', amount: 5 });
    expect(met.contact.data).toEqual({ amount: 5 });
    expect(lasted(met)).toBe(3 * day);
    for (const events of [[], [{ ...paid, after: 0 }], [{ ...paid, after: 7 * 86_400 }]]) {
      const missed = await play({ graph, events });
      expect(missed.path[1]).toMatchObject({ branch: 'timeout', output: { timedOut: true } });
      expect(Date.parse(missed.path[1].leftAt) - Date.parse(missed.startedAt)).toBe(7 * day);
    }
  });

  it('loses no event between two waits, and ends no two by one', async () => {
    const wait = (eventName: string): Step => ['WAIT_FOR_EVENT', { eventName, timeout: 3600 }];
    const update: Step = ['UPDATE_CONTACT', { subscriptionAction: 'unsubscribe' }];
    const at = (name: string, after = 10) => ({ name, after });
    const waitsIn = async (steps: Record<string, Step>, events: object[], more = {}) => {
      const ids = Object.keys(steps);
      const ways = ['start', ...ids].flatMap((id, index): [string, string, string?][] => {
        const next = ids[index];
        const isWait = steps[id]?.[0] === 'WAIT_FOR_EVENT';
        if (next === undefined) return [];
        return isWait ? [[id, next, 'event']] : [[id, next]];
      });
      const { path: played } = await play({ graph: graphOf(steps, ways), events, ...more });
      return played.flatMap(({ type, branch }: { type: string; branch: string | null }) =>
        type === 'WAIT_FOR_EVENT' ? [branch] : [],
      );
    };
    const twice = { a: wait('paid'), update, b: wait('paid') };
    expect(await waitsIn(twice, [at('paid'), at('paid')])).toEqual(['event', 'event']);
    expect(await waitsIn(twice, [at('paid')])).toEqual(['event', 'timeout']);
    const row = { a: wait('a'), update, b: wait('b'), more: update, c: wait('c') };
    expect(await waitsIn(row, [at('a'), at('b'), at('c')])).toEqual(['event', 'event', 'event']);
    expect(await waitsIn(row, [at('b'), at('a'), at('c')])).toEqual(['event', 'timeout']);
    const own = { a: wait('a'), update, b: wait('contact.unsubscribed') };
    expect(await waitsIn(own, [at('a')])).toEqual(['event', 'event']);
    const call: Step = ['WEBHOOK', { url: 'https://example.com' }];
    const webhooks = { call: { failures: 2 } };
    const asked = { call, update, b: wait('b') };
    expect(await waitsIn(asked, [at('b', 3)], { webhooks })).toEqual(['event']);
    expect(
      await waitsIn({ call, rest: days(1), b: wait('b') }, [at('b', 3)], { webhooks }),
    ).toEqual(['timeout']);
  });

  it('plays events in the order of their times, whatever the order of the request', async () => {
    const startAt = '2026-11-01T00:00:00.000Z';
    const graph = graphOf(
      {
        one: days(1),
        plan: ['CONDITION', { field: 'data.plan', operator: 'equals', value: 'b' }],
        end: ['EXIT'],
      },
      [
        ['start', 'one'],
        ['one', 'plan'],
        ['plan', 'end', 'yes'],
      ],
    );
    const events = [
      { name: 'x', at: '2026-11-01T02:00:00Z', data: { plan: 'b' } },
      { name: 'x', after: 3600, data: { plan: 'a' } },
    ];
    expect(await play({ graph, events, startAt })).toMatchObject({ status: 'EXITED' });
  });

  it('waits until times of day and dates, in the zone of the contact', async () => {
    const startAt = '2026-11-23T10:00:00.000Z';
    const graph = graphOf({
      morning: ['DELAY', { until: { time: '09:00' } }],
      due: ['DELAY', { untilField: 'data.due', ifPast: 'exit' }],
      again: ['DELAY', { untilField: 'event.due', ifPast: 'exit' }],
      out: ['EXIT', { reason: 'out' }],
    });
    const data = { timeZone: 'Asia/Tokyo', due: '2026-12-01' };
    const played = await play({ graph, startAt, contact: { email: newAddress(), data } });
    expect(played).toMatchObject({ status: 'EXITED', exitReason: 'date_missing' });
    expect(played.path.slice(1).map((step: { leftAt: string }) => step.leftAt)).toEqual([
      '2026-11-24T00:00:00.000Z',
      '2026-12-01T00:00:00.000Z',
      '2026-12-01T00:00:00.000Z',
    ]);
    expect(played.path[1].output).toMatchObject({ timeZone: 'Asia/Tokyo' });
    expect(played.path[3].output).toMatchObject({ past: true, resumeAt: null });
    const context = { due: '2026-11-01' };
    const passed = await play({ graph, startAt, context, contact: { email: newAddress(), data } });
    expect(passed.exitReason).toBe('date_past');
  });

  it('is still waiting at the time to which it looks', async () => {
    const graph = graphOf({ wait: days(30) });
    const startAt = '2026-11-01T00:00:00.000Z';
    const until = '2026-11-30T00:00:00.000Z';
    const waiting = { status: 'WAITING', endedAt: null };
    const played = await play({ graph, startAt, until });
    expect(played).toMatchObject(waiting);
    expect(played.path[1]).toMatchObject({ stepId: 'wait', leftAt: null });
    expect(await play({ graph, startAt, horizonDays: 29 })).toMatchObject(waiting);
    expect(await play({ graph, startAt, horizonDays: 30 })).toMatchObject({ status: 'COMPLETED' });
    const forever = graphOf({ wait: ['WAIT_FOR_EVENT', { eventName: 'never' }] });
    expect(await play({ graph: forever })).toMatchObject(waiting);
  });

  it('calls no receiver: it plays their responses', async () => {
    const headers = { Authorization: 'Bearer x', 'X-Plan': 'pro' };
    const hook: Step = ['WEBHOOK', { url: 'https://x.test/{{id}}', headers, body: { a: 'b' } }];
    const graph = graphOf({ hook });
    const webhooks = { hook: { failures: 2, response: { ok: true } } };
    const played = await play({ graph, webhooks });
    expect(played.webhooks).toMatchObject([
      {
        stepId: 'hook',
        attempts: 3,
        method: 'POST',
        headers: { Authorization: '•••', 'X-Plan': '•••', 'Content-Type': 'application/json' },
        body: { a: 'b' },
      },
    ]);
    expect(played.path[1].output).toMatchObject({
      success: true,
      attempts: 3,
      response: { ok: true },
    });
    // The pauses between attempts: 2 s and 4 s.
    expect(lasted(played)).toBe(6_000);
    const failing = graphOf({ hook: ['WEBHOOK', { ...hook[1], onFailure: 'fail' }] });
    expect(await play({ graph: failing, webhooks: { hook: { statusCode: 404 } } })).toMatchObject({
      status: 'FAILED',
      error: 'The receiver answered 404.',
      path: [{}, { output: { statusCode: 404, success: false, attempts: 1 } }],
    });
  });

  it('shows no secret, and fails without the one it needs', async () => {
    const graph = graphOf({ hook: ['WEBHOOK', { url: 'https://x.test/?key={{secret.KEY}}' }] });
    expect(await play({ graph })).toMatchObject({
      status: 'FAILED',
      error: 'unknown secret: the project has no secret KEY. Create it, then retry the execution.',
    });
    await shop.call('PUT', '/secrets/KEY', { value: 'hush' });
    const played = await play({ graph });
    expect(played.status).toBe('COMPLETED');
    expect(JSON.stringify(played)).not.toContain('hush');
    expect(played.webhooks[0].url).toContain('•••');
  });

  it('changes its contact only in memory, and withholds what is unwanted', async () => {
    const templateId = await shop.createTemplate({ type: 'MARKETING', subject: 'Now {{n}}' });
    const graph = graphOf({
      update: [
        'UPDATE_CONTACT',
        { updates: { n: 2, gone: null }, subscriptionAction: 'unsubscribe' },
      ],
      mail: ['SEND_EMAIL', {}, { templateId }],
    });
    const contact = { email: newAddress(), data: { n: 1, gone: true } };
    const { body: stored } = await shop.call('POST', '/contacts', contact);
    const played = await play({ contact: undefined, contactId: stored.id, graph });
    expect(played.contact).toEqual({ email: contact.email, subscribed: false, data: { n: 2 } });
    expect(played.emails).toMatchObject([
      { subject: 'Now 2', outcome: 'withheld', reason: 'contact_unsubscribed' },
    ]);
    expect((await shop.contact(contact.email))?.data).toEqual(contact.data);
  });
});

describe('a simulated DIGEST', () => {
  const hour = { for: { amount: 1, unit: 'hours' } };
  const digest = (config: object): Step => ['DIGEST', { eventName: 'e', ...hour, ...config }];
  const after = (seconds: number, name = 'e') => ({ name, after: seconds, data: { n: seconds } });
  const counted = (played: { path: { output: { count?: number; closedBy?: string } | null }[] }) =>
    played.path.flatMap(({ output }) =>
      output?.closedBy ? [[output.count, output.closedBy]] : [],
    );

  it('collects the event that starts it and those of its time, each for one step', async () => {
    const graph = graphOf({
      delay: days(1),
      first: digest({ max: 2 }),
      second: digest({}),
      wait: ['WAIT_FOR_EVENT', { eventName: 'e', since: 'execution' }],
    });
    const events = [after(60), after(2 * 86_400), after(3 * 86_400)];
    const played = await play({ graph, events, context: { n: 0 } });
    expect(counted(played)).toEqual([
      [2, 'max'],
      [0, 'time'],
    ]);
    expect(played.status).toBe('COMPLETED');
    expect(played.context).toMatchObject({ n: 2 * 86_400, digest: { count: 0, events: [] } });
  });

  it('leaves its events in the context, and closes at once as the first', async () => {
    const contact = { email: newAddress() };
    const graph = graphOf({ digest: digest({ immediateFirst: true }) });
    const played = await play({ contact, graph, context: { n: 7 } });
    expect(counted(played)).toEqual([[1, 'first']]);
    const at = played.startedAt;
    expect(played.context.digest).toEqual({
      count: 1,
      events: [{ id: expect.any(String), name: 'e', at, data: { n: 7 } }],
      truncated: false,
    });
  });

  it('is open when its time is not over', async () => {
    const graph = graphOf({ digest: digest({ eventName: 'other' }) });
    const startAt = '2027-01-01T10:00:00.000Z';
    const given = { startAt, until: '2027-01-01T10:30:00.000Z', events: [after(60, 'other')] };
    const played = await play({ graph, ...given });
    expect([played.status, played.path.at(-1).output]).toEqual([
      'WAITING',
      { eventName: 'other', count: 1, closesAt: '2027-01-01T11:00:00.000Z' },
    ]);
  });
});

describe('a simulated SPLIT', () => {
  const armsOf = (...ids: string[]) => ids.map((id) => ({ id, name: id, weight: 1 }));
  const graph = graphOf(
    {
      split: ['SPLIT', { arms: armsOf('a', 'b'), salt: 'x' }],
      a: ['EXIT', { reason: 'a' }],
      b: ['EXIT', { reason: 'b' }],
    },
    [
      ['start', 'split'],
      ['split', 'a', 'a'],
      ['split', 'b', 'b'],
    ],
  );

  it('draws by the id of the contact, or by the address of a made up one', async () => {
    const { body: stored } = await shop.call('POST', '/contacts', { email: newAddress() });
    const drawn = (subject: string) => drawArm(armsOf('a', 'b'), 'x', subject).id;
    const byId = await play({ contact: undefined, contactId: stored.id, graph });
    expect([byId.exitReason, byId.path[1].branch]).toEqual([drawn(stored.id), drawn(stored.id)]);
    for (let index = 0; index < 6; index++) {
      const email = newAddress();
      expect((await play({ contact: { email }, graph })).exitReason).toBe(drawn(email));
    }
  });

  it('draws the arm that the request names', async () => {
    for (const arm of ['a', 'b']) {
      const played = await play({ graph, arms: { split: arm } });
      expect(played.exitReason).toBe(arm);
      expect(played.path[1].output).toEqual({ arm, name: arm, by: 'contact' });
    }
  });

  it('refuses the arms of unknown steps, and unknown arms', async () => {
    const arms = { split: 'c', a: 'a', [workflow.id]: 'a' };
    expect(await refused({ graph, arms, webhooks: { no: {} } })).toEqual([
      422,
      'VALIDATION_ERROR',
      'webhooks.no not_found',
      'arms.split not_found',
      'arms.a not_found',
      `arms.${workflow.id} not_found`,
    ]);
  });
});

describe('a simulation with exit rules', () => {
  const rule = { eventName: 'bought', reason: 'customer' };
  const where = [{ field: 'event.amount', operator: 'greaterThan', value: 10 }];
  const bought = (amount: number, after = 3_600) => ({ name: 'bought', after, data: { amount } });

  it.each([
    ['DELAY', days(2)],
    ['WAIT_FOR_EVENT', ['WAIT_FOR_EVENT', { eventName: 'bought' }] as Step],
  ])('ends in a %s, when the event meets one', async (_, rest) => {
    const graph = { ...graphOf({ rest, end: ['EXIT'] }), exitRules: [{ ...rule, where }] };
    const events = [bought(20, 7_200), { name: 'other', after: 60 }];
    const played = await play({ graph, events });
    expect(played).toMatchObject({ status: 'EXITED', exitReason: 'customer' });
    expect([idsOf(played), lasted(played)]).toEqual([['start', 'rest'], 7_200_000]);
    expect((await play({ graph, events: [bought(5)] })).exitReason).not.toBe('customer');
  });

  it('ends when the step at work has finished, by what the step itself did', async () => {
    const graph = {
      ...graphOf({
        leave: ['UPDATE_CONTACT', { subscriptionAction: 'unsubscribe' }],
        end: ['EXIT'],
      }),
      exitRules: [
        { eventName: 'contact.unsubscribed', reason: 'left' },
        { eventName: 'contact.unsubscribed', reason: 'second' },
      ],
    };
    const played = await play({ graph });
    expect(played).toMatchObject({ status: 'EXITED', exitReason: 'left' });
    expect(played.path[1].output).toMatchObject({ updated: true, subscribed: false });
    const calling = {
      ...graphOf({
        hook: ['WEBHOOK', { url: 'https://x.test', onFailure: 'fail' }],
        end: ['EXIT'],
      }),
      exitRules: [rule],
    };
    const webhooks = { hook: { failures: 2, statusCode: 404 } };
    const failed = await play({ graph: calling, webhooks, events: [bought(1, 3)] });
    expect(failed).toMatchObject({ status: 'EXITED', exitReason: 'customer', error: null });
    expect(failed.webhooks[0].attempts).toBe(3);
  });

  it('is refused when they are wrong', async () => {
    const graph = graphOf({ end: ['EXIT'] });
    const wrong = [{ ...rule, where: [{ ...where[0], field: 'workflow.amount' }] }];
    expect(await refused({ graph: { ...graph, exitRules: wrong } })).toEqual([
      422,
      'VALIDATION_ERROR',
      'graph.exitRules.0.where.0.field unsupported_field',
    ]);
  });
});

describe('a simulation is refused', () => {
  const end = graphOf({ end: ['EXIT'] });

  it('when it is too large', async () => {
    const delays = (count: number) =>
      graphOf(Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, days(1)])));
    expect(await refused({ graph: delays(200) })).toEqual([422, 'SIMULATION_TOO_LARGE']);
    const largest = await play({ graph: delays(199) });
    expect([largest.status, largest.path.length]).toEqual(['COMPLETED', 200]);
  });

  it('when the graph cannot run, or breaks a rule', async () => {
    const mail = graphOf({ mail: ['SEND_EMAIL'] });
    expect(await refused({ graph: mail })).toEqual([422, 'WORKFLOW_INVALID', 'steps.mail custom']);
    const { steps, transitions } = graphOf({ a: days(1), b: days(2) });
    const way = (fromStepId: string, toStepId: string) => ({ fromStepId, toStepId });
    const loop = { steps, transitions: [...transitions, way('b', 'a')] };
    expect(await refused({ graph: loop })).toEqual([
      422,
      'VALIDATION_ERROR',
      'graph.transitions.2 custom',
    ]);
    const second = { steps, transitions: [...transitions, way('start', 'b')] };
    expect((await refused({ graph: second }))[2]).toBe('graph.transitions.2 custom');
    const nowhere = { steps, transitions: [way('start', 'c')] };
    expect((await refused({ graph: nowhere }))[2]).toBe('graph.transitions.0.toStepId not_found');
    const twice = { steps: [...steps, { ...steps[1] }], transitions };
    expect((await refused({ graph: twice }))[2]).toBe('graph.steps.3.id custom');
    const broken = graphOf({ a: ['DELAY', { amount: 0, unit: 'days' }] });
    expect((await refused({ graph: broken }))[2]).toBe('graph.steps.1.config.amount too_small');
  });

  it('when the request is wrong', async () => {
    const event = { name: 'x', after: 1 };
    expect(await refused({ graph: end, events: Array.from({ length: 201 }, () => event) })).toEqual(
      [422, 'VALIDATION_ERROR', 'events too_big'],
    );
    expect((await refused({ graph: end, events: [{ name: 'x' }] }))[2]).toBe(
      'events.0.after required',
    );
    expect((await refused({ graph: end, contact: undefined }))[2]).toBe('contactId required');
    expect((await refused({ graph: end, webhooks: { no: {} } }))[2]).toBe('webhooks.no not_found');
    const { body } = await shop.call('POST', path, {
      contact: { email: newAddress() },
      graph: { ...end, transitions: [{ fromStepId: 'start', toStepId: 'stert' }] },
    });
    expect(body.error.errors).toMatchObject([
      {
        field: 'graph.transitions.0.toStepId',
        message: '"stert" is not a step of this graph. Did you mean "start"?',
      },
    ]);
    expect((await refused({ graph: end, until: '2027-01-01', horizonDays: 2 }))[2]).toBe(
      'horizonDays not_allowed',
    );
    expect((await refused({ graph: end, version: 1 }))[2]).toBe('graph not_allowed');
  });

  it('for what is not of the project', async () => {
    const key = shop.other.secretKey;
    const contact = { email: newAddress() };
    const foreign = await shop.api.request('POST', path, { key, body: { contact, graph: end } });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    const { body: other } = await shop.api.request('POST', '/contacts', { key, body: contact });
    expect(await refused({ contact: undefined, contactId: other.id, graph: end })).toEqual([
      404,
      'CONTACT_NOT_FOUND',
    ]);
    expect((await shop.api.request('POST', path, { body: {} })).status).toBe(401);
    const publicKey = shop.project.publicKey;
    expect((await shop.api.request('POST', path, { key: publicKey, body: {} })).status).toBe(401);
  });
});
