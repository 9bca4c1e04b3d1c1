import { describe, expect, it } from 'vitest';
import type { FileIds, StoredObject } from '../../../../api/files/reading/objects.ts';
import { readFiles } from '../../../../api/files/reading/read.ts';
import { canonicalOf, requestOf } from '../../../../api/files/reading/requests.ts';
import { objectText } from '../../../../domain/files/write.ts';

const id = (n: number) => `7e100000-0000-4000-8000-00000000000${n}`;

const ids: FileIds = {
  templates: new Map([['welcome', id(1)]]),
  segments: new Map([['pro', id(2)]]),
  topics: new Map([['news', id(3)]]),
};

const path = 'workflows/onboarding.yaml';

function readOne(file: string, text: string) {
  const { objects, problems } = readFiles({ [file]: text }, {});
  expect(problems).toEqual([]);
  return objects[0]!;
}

function canonical(text: string, stored: StoredObject | null = null, file = path) {
  return canonicalOf(readOne(file, text), stored);
}

function problemsIn(text: string, file = path) {
  return readFiles({ [file]: text }, {}).problems.map(
    ({ place, line, column, code }) => `${place} ${line}:${column} ${code}`,
  );
}

function refusals(text: string, stored: StoredObject | null, file = path) {
  const made = requestOf(readOne(file, text), ids, stored);
  return 'problems' in made ? made.problems.map(({ place, code }) => `${place} ${code}`) : [];
}

const full = `name: Onboarding
description: For new customers
enabled: true
executionKey: event.orderId
reentry:
  mode: after_end
  minIntervalSeconds: 60
trigger:
  type: EVENT
  config:
    eventName: signed_up
    where:
      - field: event.plan
        operator: equals
        value: pro
exitRules:
  - eventName: cancelled
    reason: gone
steps:
  - key: welcome
    type: SEND_EMAIL
    name: Welcome
    template: welcome
    config:
      recipient:
        type: CONTACT
      topic: news
    position: { x: 100, y: 220 }
  - key: plain
    type: SEND_EMAIL
    name: Without topic
    template: welcome
    config:
      topic: null
    position: { x: 100, y: 340 }
  - key: two-days
    type: DELAY
    name: Two days
    config:
      amount: 2
      unit: days
    position: { x: 100, y: 460 }
  - key: in-pro
    type: CONDITION
    name: In pro?
    config:
      mode: filter
      branches:
        - id: yes
          name: Yes
          filter:
            logic: AND
            groups:
              - filters:
                  - field: segment.pro
                    operator: memberOfSegment
                  - field: template.welcome.opened
                    operator: triggered
    position: { x: 100, y: 580 }
  - key: crm
    type: WEBHOOK
    name: CRM
    config:
      url: https://crm.example/in
      method: POST
      headers:
        Authorization: Bearer {{secret.CRM}}
        X-Shop: abc
      body:
        field: segment.pro
    position: { x: 100, y: 700 }
transitions:
  - {from: trigger, to: welcome}
  - {from: welcome, to: plain}
  - {from: plain, to: two-days}
  - {from: two-days, to: in-pro}
  - {from: in-pro, to: crm, branch: yes}
`.replaceAll(/\{ (x: \d+, y: \d+) \}/g, '{$1}');

const short = `name: Onboarding
trigger: {type: EVENT, config: {eventName: signed_up}}
steps:
  - {key: welcome, type: SEND_EMAIL, name: Welcome, template: welcome, config: {topic: news}}
  - {key: two-days, type: DELAY, config: {amount: 2, unit: days}}
transitions:
  - {from: trigger, to: welcome}
  - {from: welcome, to: two-days}
`;

const stored = (value: object, hidden: [string, string][] = []): StoredObject => ({
  value: { ...value },
  hidden: new Map(hidden),
});

describe('the file of a workflow', () => {
  it('is written as it was read', () => {
    const value = canonical(full);
    expect(objectText('workflow', value, 'yaml')).toBe(full);
  });

  it('has defaults for what it leaves out', () => {
    expect(canonical(short)).toEqual({
      name: 'Onboarding',
      enabled: false,
      trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
      steps: [
        {
          key: 'welcome',
          type: 'SEND_EMAIL',
          name: 'Welcome',
          template: 'welcome',
          config: { topic: 'news' },
          position: { x: 100, y: 220 },
        },
        {
          key: 'two-days',
          type: 'DELAY',
          name: 'two-days',
          config: { amount: 2, unit: 'days' },
          position: { x: 100, y: 340 },
        },
      ],
      transitions: [
        { from: 'trigger', to: 'welcome' },
        { from: 'welcome', to: 'two-days' },
      ],
    });
  });

  it('keeps the stored state, names and positions that it leaves out', () => {
    const before = canonical(short);
    const changed = {
      ...before,
      enabled: true,
      steps: (before['steps'] as object[]).map((step) => ({
        ...step,
        name: 'Other',
        position: { x: 1, y: 2 },
      })),
    };
    const after = canonical(short, stored(changed));
    expect(after).toMatchObject({
      enabled: true,
      steps: [
        { name: 'Welcome', position: { x: 1, y: 2 } },
        { name: 'Other', position: { x: 1, y: 2 } },
      ],
    });
    const made = requestOf(readOne(path, short), ids, stored(changed));
    expect(made).toMatchObject({
      request: { body: { enabled: true, steps: [{}, { name: 'Welcome' }, { name: 'Other' }] } },
    });
  });

  it('gives the whole graph, as if its settings had never been set', () => {
    const made = requestOf(readOne(path, short), ids, null);
    expect(made).toMatchObject({
      request: {
        kind: 'workflow',
        body: {
          description: null,
          executionKey: null,
          reentry: { mode: 'once', minIntervalSeconds: null },
          exitRules: [],
          enabled: false,
          steps: [
            { key: 'trigger', type: 'TRIGGER' },
            { key: 'welcome', templateId: id(1), config: { topicId: id(3) } },
            { key: 'two-days', name: 'two-days', templateId: null },
          ],
        },
      },
    });
    const webhook = requestOf(readOne(path, full), ids, null);
    expect(webhook).toMatchObject({
      request: { body: { steps: { 5: { config: { body: { field: 'segment.pro' } } } } } },
    });
  });

  it('may start by a schedule for a segment', () => {
    const text = `name: Weekly
trigger: {type: SCHEDULE, config: {cron: 0 9 * * mon, timeZone: Europe/Berlin, segment: pro}}
`;
    expect(canonical(text)).toMatchObject({
      trigger: {
        type: 'SCHEDULE',
        config: { cron: '0 9 * * mon', timeZone: 'Europe/Berlin', segment: 'pro' },
      },
      steps: [],
      transitions: [],
    });
    expect(requestOf(readOne(path, text), ids, null)).toMatchObject({
      request: { body: { trigger: { config: { segmentId: id(2) } } } },
    });
    const unknown = text.replace('segment: pro', 'segment: gone');
    expect(refusals(unknown, null)).toEqual(['trigger.config.segment not_found']);
  });

  it('names its steps by key in problems', () => {
    const wrong = short
      .replace('amount: 2', 'amount: -2')
      .replace('config: {topic: news}', 'config: {topicId: x, topc: news}')
      .replace('template: welcome,', `templateId: ${id(1)},`);
    expect(problemsIn(wrong)).toEqual([
      'steps.welcome.templateId 4:53 unknown_field',
      'steps.welcome.config.topicId 4:112 unknown_field',
      'steps.welcome.config.topc 4:124 unknown_field',
      'steps.two-days.config.amount 5:43 too_small',
    ]);
    const lost = short.replace('{from: welcome, to: two-days}', '{from: welcom, to: two-days}');
    expect(problemsIn(lost)).toEqual(['transitions.1.from 8:6 not_found']);
    expect(refusals(short.replace('template: welcome', 'template: gone'), null)).toEqual([
      'steps.welcome.template not_found',
    ]);
    expect(refusals(full.replace('field: segment.pro', 'field: segment.gone'), null)).toEqual([
      'steps.in-pro.config.branches.0.filter.groups.0.filters.0.field not_found',
    ]);
  });

  it.each([
    [
      'a TRIGGER among the steps',
      '  - {key: t, type: TRIGGER}\n',
      'steps.t.type 4:14 invalid_enum_value',
    ],
    ['a step without key and name', '  - {type: EXIT}\n', 'steps.0.name 4:5 invalid_type'],
    ['the same key twice', '  - {key: welcome, type: EXIT}\n', 'steps.welcome.key 4:6 custom'],
  ])('refuses %s', (_, step, problem) => {
    expect(problemsIn(short.replace('steps:\n', `steps:\n${step}`))).toContain(problem);
  });

  it('refuses settings that contradict each other', () => {
    expect(problemsIn(`${short}reentry: {mode: parallel}\nexecutionKey: event.id\n`)).toEqual([
      'reentry.mode 9:11 not_allowed',
    ]);
    expect(problemsIn(short.replace('eventName', 'cron: 0 9 * * *, eventName'))).toEqual([
      'trigger.config.cron 2:33 not_allowed',
    ]);
  });

  it('cannot change the type of a step under its key', () => {
    const before = stored({ steps: [{ key: 'two-days', type: 'EXIT' }] });
    expect(refusals(short, before)).toEqual(['steps.two-days.type not_allowed']);
  });
});

describe('hidden headers', () => {
  const hook = (value: string) => full.replace('Bearer {{secret.CRM}}', () => value);
  const place = 'steps.crm.config.headers.Authorization';
  const headersOf = (value: Record<string, unknown>) =>
    (value['steps'] as { key: string; config: Record<string, unknown> }[]).find(
      ({ key }) => key === 'crm',
    )?.config['headers'];

  it('of a step are equal only to the stored value', () => {
    const before = stored({}, [[place, 'sk-1']]);
    expect(headersOf(canonical(hook('sk-1'), before))).toEqual({
      Authorization: '•••',
      'X-Shop': 'abc',
    });
    expect(headersOf(canonical(hook('•••'), before))).toMatchObject({ Authorization: '•••' });
    expect(headersOf(canonical(hook('sk-2'), before))).toMatchObject({
      Authorization: '••• (changed)',
    });
    expect(refusals(hook('•••'), null)).toEqual([`${place} not_allowed`]);
    expect(refusals(hook('•••'), before)).toEqual([]);
  });

  const file = 'subscriptions/crm.yaml';
  const subscription = (header: string) => `url: https://hooks.shop.example/in
events:
  - email.*
headers:
  X-Token: ${header}
enabled: true
`;

  it('of a subscription keep what is stored', () => {
    const before = stored({ enabled: true }, [['headers.x-token', 'hush']]);
    const text = subscription('•••');
    expect(refusals(text, null, file)).toEqual(['headers.X-Token not_allowed']);
    expect(requestOf(readOne(file, text), ids, before)).toMatchObject({
      request: { body: { headers: { 'X-Token': 'hush' } } },
    });
    for (const [value, shown] of [
      ['•••', '•••'],
      ['hush', '•••'],
      ['other', '••• (changed)'],
      ['Bearer {{secret.CRM}}', 'Bearer {{secret.CRM}}'],
    ] as const) {
      expect(canonical(subscription(value), before, file)).toMatchObject({
        headers: { 'X-Token': shown },
      });
    }
  });

  it('do not change the rest of the file of a subscription', () => {
    const text = subscription('Bearer {{secret.CRM}}');
    expect(objectText('event-subscription', canonical(text, null, file), 'yaml')).toBe(text);
    const short = 'url: https://hooks.shop.example/in\nevents: [order.*, order.*]\n';
    expect(canonical(short, null, file)).toEqual({
      url: 'https://hooks.shop.example/in',
      events: ['order.*'],
      enabled: true,
    });
    expect(canonical(short, stored({ enabled: false }), file)).toMatchObject({ enabled: false });
  });
});

describe('the file of a policy', () => {
  it('keeps the stored value of a field that it leaves out', () => {
    expect(canonical('caps: [{max: 1, perDays: 7}]\n', null, 'policies/send.yaml')).toEqual({
      timeZone: 'UTC',
      contactTimeZoneField: 'data.timeZone',
      quietHours: null,
      caps: [{ max: 1, perDays: 7 }],
      onCap: 'skip',
    });
    const before = stored({ timeZone: 'Europe/Berlin', onCap: 'delay' });
    expect(canonical('onCap: skip\n', before, 'policies/send.yaml')).toMatchObject({
      timeZone: 'Europe/Berlin',
      onCap: 'skip',
    });
    const consent = stored({ template: 'welcome', expireAfter: 100 });
    expect(canonical('remindAfter: 10\n', consent, 'policies/consent.yaml')).toMatchObject({
      template: 'welcome',
      remindAfter: 10,
      expireAfter: 100,
    });
    expect(canonical('template: null\n', consent, 'policies/consent.yaml')).toMatchObject({
      template: null,
    });
  });

  it('refers to a template by its key', () => {
    const text = 'template: welcome\nfrom: The Shop <a@shop.example>\n';
    const file = 'policies/consent.yaml';
    expect(requestOf(readOne(file, text), ids, null)).toMatchObject({
      request: { kind: 'consent-policy', body: { templateId: id(1) } },
    });
    expect(canonical(text, null, file)).toMatchObject({
      template: 'welcome',
      from: 'a@shop.example',
      fromName: 'The Shop',
    });
    expect(problemsIn(`templateId: ${id(1)}\n`, file)).toEqual(['templateId 1:1 unknown_field']);
  });
});
