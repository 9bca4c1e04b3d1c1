import { describe, expect, it } from 'vitest';
import type { TestAnswer } from '../../support/api.ts';
import { useCampaignShop } from '../../support/projects/campaign-shop.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';

const { shop, made, inState } = await useCampaignShop();
const { call } = shop;
const { db } = shop.api;

interface Editable {
  path: string;
  method: 'PATCH' | 'PUT';
  /** An edit, different for each number. */
  edit: (n: number) => object;
  /** Reads the edited value in a record. */
  shown: (record: TestAnswer['body']) => unknown;
}

const named = { edit: (n: number) => ({ name: `Name ${n}` }) };
const filters = {
  operator: 'AND',
  conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
};

async function createWorkflow(): Promise<{ id: string; graph: TestAnswer['body'] }> {
  const { id } = (await call('POST', '/workflows', { name: 'W', eventName: 'go' })).body;
  return { id, graph: (await call('GET', `/workflows/${id}/graph`)).body };
}

/** Each kind of record with a tag, made anew. */
const kinds: Record<string, () => Promise<Editable>> = {
  contact: async () => ({
    path: `/contacts/${(await call('POST', '/contacts', { email: newAddress() })).body.id}`,
    method: 'PATCH',
    edit: (n) => ({ data: { visits: n } }),
    shown: ({ data }) => data?.visits,
  }),
  template: async () => ({
    path: `/templates/${await shop.createTemplate()}`,
    method: 'PATCH',
    ...named,
    shown: ({ name }) => name,
  }),
  segment: async () => ({
    path: `/segments/${(await call('POST', '/segments', { name: 'S', filters })).body.id}`,
    method: 'PATCH',
    ...named,
    shown: ({ name }) => name,
  }),
  campaign: async () => ({
    path: `/campaigns/${(await made()).id}`,
    method: 'PUT',
    ...named,
    shown: ({ data }) => data.name,
  }),
  graph: async () => {
    const { id, graph } = await createWorkflow();
    return {
      path: `/workflows/${id}/graph`,
      method: 'PUT',
      edit: (n) => ({
        ...graph,
        steps: [...graph.steps, { key: 'wait', type: 'DELAY', name: 'Wait', config: hours(n) }],
      }),
      shown: ({ steps }) => steps[1]?.config.amount,
    };
  },
};

const hours = (amount: number) => ({ amount, unit: 'hours' });
const tagOf = async (path: string) => (await call('GET', path)).headers.get('etag') ?? '';
const precondition = [412, 'PRECONDITION_FAILED'];

describe.each(Object.entries(kinds))('the ETag of a %s', (_kind, create) => {
  it('is strong, the same in every answer, and another after an edit', async () => {
    const { path, method, edit } = await create();
    const tag = await tagOf(path);
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    expect(await tagOf(path)).toBe(tag);
    const edited = await call(method, path, edit(1), { 'if-match': tag });
    expect([edited.status, edited.body.error]).toEqual([200, undefined]);
    expect(edited.headers.get('etag')).not.toBe(tag);
    expect(edited.headers.get('etag')).toBe(await tagOf(path));
  });

  it('refuses an edit by someone who has read an older state, and changes nothing', async () => {
    const { path, method, edit } = await create();
    const tag = await tagOf(path);
    await call(method, path, edit(1));
    const present = await call('GET', path);
    const refused = await call(method, path, edit(2), { 'if-match': tag });
    expect(refusal(refused)).toEqual(precondition);
    expect(refused.body.error.details).toEqual({ etag: present.headers.get('etag') });
    expect((await call('GET', path)).body).toEqual(present.body);
  });

  it('lets one of 20 parallel edits win', async () => {
    const { path, method, edit, shown } = await create();
    const tag = await tagOf(path);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => call(method, path, edit(n + 1), { 'if-match': tag })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(412)]);
    const winner = answers.findIndex(({ status }) => status === 200);
    const { body, headers } = await call('GET', path);
    expect(String(shown(body)).split(' ').at(-1)).toBe(String(winner + 1));
    expect(answers[winner]?.headers.get('etag')).toBe(headers.get('etag'));
  });

  it.each([
    ['no header', () => ({}), 200],
    ['any state', () => ({ 'if-match': '*' }), 200],
    ['a list with the tag', (tag: string) => ({ 'if-match': `"a,b", W/"c" , ${tag},` }), 200],
    ['a weak tag', (tag: string) => ({ 'if-match': `W/${tag}` }), 412],
    ['other tags', () => ({ 'if-match': '"a", "b"' }), 412],
    ['the tag without quotes', (tag: string) => ({ 'if-match': tag.slice(1, -1) }), 412],
    ['the tag among other text', (tag: string) => ({ 'if-match': `v1 ${tag}` }), 412],
    ['any state among tags', () => ({ 'if-match': '*, "a"' }), 412],
    ['an empty header', () => ({ 'if-match': '' }), 412],
  ])('is compared with %s', async (_name, headers, status) => {
    const { path, method, edit } = await create();
    expect((await call(method, path, edit(1), headers(await tagOf(path)))).status).toBe(status);
  });

  it('refuses an edit without changes, too', async () => {
    const { path, method } = await create();
    const body = method === 'PUT' && path.endsWith('/graph') ? (await call('GET', path)).body : {};
    expect(refusal(await call(method, path, body, { 'if-match': '"a"' }))).toEqual(precondition);
    const same = await call(method, path, body, { 'if-match': await tagOf(path) });
    expect([same.status, same.headers.get('etag')]).toEqual([200, await tagOf(path)]);
  });

  it('is compared after the fields and the existence were checked', async () => {
    const { path, method } = await create();
    const wrong = { name: 7, email: 7, steps: 7 };
    const stale = { 'if-match': '"a"' };
    expect((await call(method, path, wrong, stale)).status).toBe(422);
    const { secretKey: key } = shop.other;
    const foreign = await shop.api.request(method, path, { key, body: {}, headers: stale });
    expect([404, 422]).toContain(foreign.status);
    expect(foreign.headers.get('etag')).toBeNull();
  });
});

/** Returns how many of the steps, one after the other, have changed the tag. */
async function changesOf(
  path: string,
  steps: readonly (() => Promise<unknown>)[],
): Promise<number> {
  let tag = await tagOf(path);
  let changes = 0;
  for (const step of steps) {
    await step();
    const next = await tagOf(path);
    if (next !== tag) changes += 1;
    tag = next;
  }
  return changes;
}

async function succeed(...request: Parameters<typeof call>): Promise<void> {
  const { status, body } = await call(...request);
  expect([request, status < 300, body.error ?? null]).toEqual([request, true, null]);
}

/** An endpoint and the bodies of the requests to it. */
const patches = (method: string, path: string, bodies: readonly object[]) =>
  bodies.map((body) => () => succeed(method, path, body));

const topicId = (
  await call('POST', '/topics', { key: 'news', name: 'News', default: 'subscribed' })
).body.id;
const templateId = await shop.createTemplate();
const goal = { eventName: 'bought', windowDays: 3 };
const sender = { from: `other@${shop.domain}` };
const texts = [{ name: 'N' }, { description: 'D' }, { subject: 'Hi' }, { body: '<p>Hi</p>' }];
const senders = [sender, { fromName: 'Ada' }, { replyTo: 'ada@shop.example' }];

describe('an ETag changes with an edit', () => {
  it('of a contact, also by an event, an import of the address, or a deleted field', async () => {
    const { id, email } = (await call('POST', '/contacts', { email: newAddress() })).body;
    const moved = newAddress();
    const steps = [
      ...patches('PATCH', `/contacts/${id}`, [{ data: { seats: 4 } }, { subscribed: false }]),
      () => succeed('POST', '/v1/track', { email, event: 'e', subscribed: true }),
      ...patches('PATCH', `/contacts/${id}`, [{ email: moved }]),
      () => succeed('POST', '/contacts', { email: moved, data: { old: 1 } }),
      () => succeed('DELETE', '/contacts/fields/data.old'),
    ];
    expect(await changesOf(`/contacts/${id}`, steps)).toBe(steps.length);
  });

  it('of each field of a template', async () => {
    const path = `/templates/${await shop.createTemplate()}`;
    const edits = [...texts, ...senders, { type: 'MARKETING' }, { topicId }];
    expect(await changesOf(path, patches('PATCH', path, edits))).toBe(edits.length);
  });

  it('of each field of a segment', async () => {
    const { id } = (await call('POST', '/segments', { name: 'S', filters })).body;
    const condition = { logic: 'OR', groups: [{ filters: filters.conditions }] };
    const edits = [{ name: 'N' }, { description: 'D' }, { condition }, { trackMembership: true }];
    const path = `/segments/${id}`;
    expect(await changesOf(path, patches('PATCH', path, edits))).toBe(edits.length);
  });

  it('of each field of a campaign', async () => {
    const { id: segmentId } = (await call('POST', '/segments', { name: 'S', filters })).body;
    const audience = { audienceType: 'FILTERED', audienceFilter: filters };
    const arms = [
      { id: 'a', subject: 'A' },
      { id: 'b', subject: 'B' },
    ];
    const experiment = { arms, metric: 'human_click', testPercent: 20, decideAfterSeconds: 60 };
    const more = [{ templateId }, { topicId }, { maxPerMinute: 7 }, { utm: { source: 's' } }];
    const last = [{ goal }, { experiment }, { audienceType: 'SEGMENT', segmentId }, audience];
    const kind = [{ topicId: null, messageType: 'HEADLESS' }];
    const edits = [...texts, ...senders, ...more, ...last, ...kind];
    const path = `/campaigns/${(await made()).id}`;
    expect(await changesOf(path, patches('PUT', path, edits))).toBe(edits.length);
  });

  it('of a graph, also by its steps, its trigger, its settings or a restored version', async () => {
    const { id, graph } = await createWorkflow();
    const path = `/workflows/${id}`;
    const step = { type: 'EXIT', name: 'End', config: {}, position: { x: 0, y: 0 } };
    const added = (await call('POST', `${path}/steps`, step)).body.id;
    const headers = { authorization: 'Bearer a' };
    const config = { url: 'https://shop.example', method: 'POST', headers };
    const hook = { ...graph, steps: [...graph.steps, { type: 'WEBHOOK', name: 'Hook', config }] };
    const rehooked = structuredClone(hook);
    rehooked.steps[1].config.headers.authorization = 'Bearer b';
    const steps = [
      ...patches('PATCH', `${path}/steps/${added}`, [
        { name: 'Stop' },
        { position: { x: 1, y: 1 } },
      ]),
      ...patches('PATCH', path, [
        { name: 'N' },
        { allowReentry: true },
        { triggerConfig: { eventName: 'came' } },
        { exitRules: [{ eventName: 'left', reason: 'Left' }] },
      ]),
      () => succeed('POST', `${path}/versions/1/restore`),
      ...patches('PUT', `${path}/graph`, [hook, rehooked]),
    ];
    expect(await changesOf(`${path}/graph`, steps)).toBe(steps.length);
  });
});

describe('an ETag does not change with', () => {
  it('mail, events and topics of a contact', async () => {
    const { id, email } = (await call('POST', '/contacts', { email: newAddress() })).body;
    const steps = [
      () => succeed('POST', '/v1/send', { to: email, ...sender, subject: 'S', body: 'B' }),
      () => succeed('POST', '/v1/track', { email, event: 'e' }),
      () => succeed('PUT', `/contacts/${id}/topics`, { topics: { news: false } }),
    ];
    expect(await changesOf(`/contacts/${id}`, steps)).toBe(0);
  });

  it('the members of a segment and their number', async () => {
    const { id } = (await call('POST', '/segments', { name: 'S', type: 'STATIC' })).body;
    const emails = [newAddress()];
    await call('POST', '/contacts', { email: emails[0] });
    const steps = [
      () => succeed('POST', `/segments/${id}/members`, { emails }),
      () => succeed('POST', `/segments/${id}/refresh`),
    ];
    expect(await changesOf(`/segments/${id}`, steps)).toBe(0);
  });

  it('the state and the counters of a campaign', async () => {
    const { id } = await inState('DRAFT');
    const counters = { sent_count: 3, opened_count: 2, clicked_count: 1, total_recipients: 3 };
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const steps = [
      () => db.updateTable('campaign').set(counters).where('id', '=', id).execute(),
      () => succeed('POST', `/campaigns/${id}/send`, { scheduledFor }),
      () => succeed('POST', `/campaigns/${id}/cancel`),
      () => succeed('POST', `/campaigns/${id}/archive`),
    ];
    expect(await changesOf(`/campaigns/${id}`, steps)).toBe(0);
  });

  it('the state, the goal and the executions of a graph', async () => {
    const { id, graph } = await createWorkflow();
    const end = { key: 'end', type: 'EXIT', name: 'End', config: {} };
    const transitions = [{ from: 'trigger', to: 'end' }];
    const whole = { ...graph, steps: [...graph.steps, end], transitions };
    await succeed('PUT', `/workflows/${id}/graph`, whole);
    const contactId = (await call('POST', '/contacts', { email: newAddress() })).body.id;
    const steps = [
      () => succeed('PATCH', `/workflows/${id}`, { goal }),
      () => succeed('PATCH', `/workflows/${id}`, { enabled: true }),
      () => succeed('POST', `/workflows/${id}/executions`, { contactId }),
      () => succeed('PATCH', `/workflows/${id}`, { paused: true }),
    ];
    expect(await changesOf(`/workflows/${id}/graph`, steps)).toBe(0);
  });
});

describe('the ETag of a campaign', () => {
  it('is compared before its state', async () => {
    const path = `/campaigns/${(await inState('SENT')).id}`;
    expect(refusal(await call('PUT', path, { name: 'N' }, { 'if-match': '"a"' }))).toEqual(
      precondition,
    );
    const present = { 'if-match': await tagOf(path) };
    expect(refusal(await call('PUT', path, { name: 'N' }, present))).toEqual([
      400,
      'CAMPAIGN_NOT_EDITABLE',
    ]);
  });
});

describe('cross-origin requests of the console', () => {
  it('may send If-Match and read the ETag', async () => {
    const { request, services } = shop.api;
    const { origin } = new URL(services.config.dashboardUrl);
    const { headers } = await request('OPTIONS', '/contacts', { headers: { origin } });
    expect(headers.get('access-control-allow-headers')).toContain('If-Match');
    expect(headers.get('access-control-expose-headers')).toContain('ETag');
    const elsewhere = await request('OPTIONS', '/v1/track', {
      headers: { origin: 'https://shop.example' },
    });
    expect(elsewhere.headers.get('access-control-allow-headers')).not.toContain('If-Match');
  });
});
