import { describe, expect, it } from 'vitest';
import { readCases } from '../../../api/files/journeys/cases.ts';
import { FilesProject } from '../../../api/files/journeys/project.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { play } from '../../../client/cli/journeys/play.ts';
import { secondsOf } from '../../../domain/time/duration.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** A journey test, and POST …/simulate of a project made of the same files, play the same. */

const shop = await useShop();
const from = `team@${shop.domain}`;

const template = (subject: string, type = 'TRANSACTIONAL', more = '') =>
  `---\nname: '${subject}'\nsubject: '${subject}'\ntype: ${type}\nfrom: ${from}\n${more}---\n<p>{{ "now" | date: "%d" }}, {{email}}</p>\n`;

const files = {
  'policies/send.yaml':
    'timeZone: Europe/Berlin\nquietHours: {from: "20:00", to: "08:00"}\ncaps: [{max: 2, perDays: 7}]\nonCap: delay\n',
  'topics/news.yaml': 'name: News\ndefault: subscribed\n',
  'topics/offers.yaml': 'name: Offers\ndefault: unsubscribed\n',
  'segments/pro.yaml':
    'name: Pro\nfilters: {operator: AND, conditions: [{field: data.plan, operator: equals, value: pro}]}\n',
  'templates/plain.html': template('Plain for {{name ?? you}}'),
  'templates/news.html': template('News {{n}}', 'MARKETING', 'topic: news\n'),
  'templates/offer.html': template('Offer', 'MARKETING', 'topic: offers\n'),
  'workflows/split.yaml': `name: Split
trigger: {type: EVENT, config: {eventName: signed_up}}
steps:
  - {key: salted, type: SPLIT, name: salted, config: {salt: s1, arms: [{id: a, name: A, weight: 1}, {id: b, name: B, weight: 1}]}}
  - {key: forced, type: SPLIT, name: forced, config: {arms: [{id: a, name: A, weight: 1}, {id: b, name: B, weight: 1}]}}
  - {key: plain, type: SEND_EMAIL, name: plain, template: plain}
  - {key: news, type: SEND_EMAIL, name: news, template: news}
transitions:
  - {from: trigger, to: salted}
  - {from: salted, to: plain, branch: a}
  - {from: salted, to: forced, branch: b}
  - {from: plain, to: forced}
  - {from: forced, to: news, branch: b}
`,
  'workflows/orders.yaml': `name: Orders
trigger: {type: EVENT, config: {eventName: ordered}}
executionKey: event.orderId
reentry: {mode: after_end, minIntervalSeconds: 60}
exitRules:
  - {eventName: cancelled, reason: cancelled, where: [{field: event.orderId, operator: equals, valueOf: context.orderId}]}
steps:
  - {key: items, type: DIGEST, name: items, config: {eventName: item_added, for: {amount: 2, unit: hours}}}
  - {key: hook, type: WEBHOOK, name: hook, config: {url: 'https://crm.example/{{event.orderId}}', headers: {Authorization: 'Bearer {{secret.CRM}}'}, body: {count: '{{digest.count}}'}, onFailure: fail}}
  - {key: paid, type: WAIT_FOR_EVENT, name: paid, config: {eventName: paid, timeout: 172800}}
  - {key: thanks, type: SEND_EMAIL, name: thanks, template: plain}
  - {key: end, type: EXIT, name: end, config: {reason: unpaid}}
transitions:
  - {from: trigger, to: items}
  - {from: items, to: hook}
  - {from: hook, to: paid}
  - {from: paid, to: thanks, branch: event}
  - {from: paid, to: end, branch: timeout}
`,
  'workflows/policies.yaml': `name: Policies
trigger: {type: MANUAL}
steps:
  - {key: one, type: SEND_EMAIL, name: one, template: news}
  - {key: two, type: SEND_EMAIL, name: two, template: news, config: {topic: null}}
  - {key: three, type: SEND_EMAIL, name: three, template: news}
  - {key: four, type: SEND_EMAIL, name: four, template: offer}
  - {key: mark, type: UPDATE_CONTACT, name: mark, config: {updates: {seen: true}}}
  - {key: late, type: DELAY, name: late, config: {amount: 11, unit: hours}}
  - key: which
    type: CONDITION
    name: which
    config:
      mode: filter
      branches:
        - id: pro
          name: Pro
          filter: {operator: AND, conditions: [{field: segment.pro, operator: memberOfSegment}, {field: data.seen, operator: equals, value: true}]}
  - {key: bye, type: SEND_EMAIL, name: bye, template: plain}
transitions:
  - {from: trigger, to: one}
  - {from: one, to: two}
  - {from: two, to: three}
  - {from: three, to: four}
  - {from: four, to: mark}
  - {from: mark, to: late}
  - {from: late, to: which}
  - {from: which, to: bye, branch: pro}
`,
};

const startAt = '2026-03-02T08:00:00.000Z';
const email = newAddress();

/** Journeys, by the key of the workflow. `after` is a duration in both. */
const journeys: [workflow: string, given: Record<string, unknown>][] = [
  ['split', { arms: { forced: 'b' }, contact: { email, data: { name: 'Ada', n: 3 } } }],
  ['split', { arms: { forced: 'a' }, contact: { email: newAddress() } }],
  ['split', { arms: { forced: 'b' }, contact: { email: newAddress(), subscribed: false } }],
  [
    'orders',
    {
      context: { orderId: 7 },
      events: [
        { name: 'item_added', after: '30m', data: { orderId: 7, sku: 'x' } },
        { name: 'item_added', after: '31m', data: { orderId: 8, sku: 'y' } },
        { name: 'paid', after: '1d', data: { amount: 5 } },
      ],
      webhooks: { hook: { statusCode: 201, failures: 2 } },
    },
  ],
  ['orders', { context: { orderId: 7 } }],
  ['orders', { context: { orderId: 7 }, webhooks: { hook: { statusCode: 404 } } }],
  ['orders', { key: 'k', events: [{ name: 'cancelled', after: 90, data: { orderId: 1 } }] }],
  [
    'orders',
    { context: { orderId: 7 }, events: [{ name: 'cancelled', after: '5h', data: { orderId: 7 } }] },
  ],
  ['policies', { contact: { email, data: { plan: 'pro' } } }],
  ['policies', { contact: { email, data: { plan: 'free', timeZone: 'Asia/Tokyo' } } }],
];

const { body: plan } = await shop.call('POST', '/plan', { files });
expect(plan.error?.errors ?? null).toBeNull();
await shop.call('POST', '/apply', { planId: plan.id });
await shop.call('PUT', '/secrets/CRM', { value: 'x' });
const { body: listed } = await shop.call('GET', '/files?only=workflow/*');
const ids = new Map<string, string>(
  listed.objects.map(({ key, id }: { key: string; id: string }) => [key, id]),
);

interface Played {
  status: string;
  exitReason: string | null;
  error: string | null;
  startedAt: unknown;
  endedAt: unknown;
  path: { stepId: string; name: string; branch: string | null; enteredAt: unknown }[];
  emails: { subject: string; at: unknown; heldUntil: unknown; outcome: string; body: string }[];
  webhooks: { at: unknown; attempts: number; url: string }[];
  contact: { subscribed: boolean; data: unknown };
}

/** Returns what both ways of playing have in common. Steps are named by their keys. */
function commonOf({ path, emails, webhooks, contact, ...played }: Played) {
  const { status, exitReason, error, startedAt, endedAt } = played;
  const common = {
    end: { status, exitReason, error, startedAt, endedAt },
    path: path
      .filter(
        ({ name }) => !name.startsWith('Trigger') && name !== 'trigger' && name !== 'Manual start',
      )
      .map(({ name, branch, enteredAt }) => ({ name, branch, enteredAt })),
    emails: emails.map(({ subject, at, heldUntil, outcome, body }) => {
      const day = /\d\d/.exec(body)?.[0];
      return { subject, at, heldUntil, outcome, day };
    }),
    webhooks: webhooks.map(({ at, attempts, url }) => ({ at, attempts, url })),
    contact: { subscribed: contact.subscribed, data: contact.data ?? {} },
  };
  return JSON.parse(JSON.stringify(common)) as typeof common;
}

/** Ends and outcomes that the journeys above have reached. */
const reached = new Set<string>();

describe('a journey test', () => {
  it.each(journeys)('plays %s as POST …/simulate does: %j', async (workflow, given) => {
    const test = { contact: { email }, startAt, ...given };
    const text = JSON.stringify({
      workflow,
      tests: [{ name: 't', ...test, expect: { end: 'COMPLETED' } }],
    });
    const [one] = readCases('a.journey.json', text);
    if (!one || 'problems' in one.test) throw new Error(JSON.stringify(one?.test));
    const project = new FilesProject(readFiles(files, {}));
    const playable = project.workflow(workflow);
    if ('problems' in playable) throw new Error(playable.problems.join('\n'));
    const settings = { name: 'My shop' };
    const here = commonOf(await play(project, playable, one.test.start, settings));

    const events = ((test as { events?: { after: string | number }[] }).events ?? []).map(
      ({ after, ...event }) => ({
        ...event,
        after: typeof after === 'string' ? secondsOf(after) : after,
      }),
    );
    const path = `/workflows/${ids.get(workflow)}/simulate`;
    const { status, body } = await shop.call('POST', path, { ...test, events });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(here).toEqual(commonOf(body.data));
    expect(here.path.length).toBeGreaterThan(0);
    for (const word of [here.end.status, ...here.emails.map(({ outcome }) => outcome)])
      reached.add(word);
  });

  it('was compared for every end, and for held and withheld mail', () => {
    expect([...reached].toSorted()).toEqual([
      'COMPLETED',
      'EXITED',
      'FAILED',
      'held',
      'send',
      'withheld',
    ]);
  });
});
