import { describe, expect, it } from 'vitest';
import {
  failuresOf,
  journeyText,
  paysTest,
  runJourneys,
  shopFiles,
} from '../../../support/journeys.ts';

/** Journey tests on files in memory. */

const pays = { events: paysTest.events };

describe('a journey test', () => {
  it('passes when path, mails and end are as expected', async () => {
    const results = await runJourneys(shopFiles, journeyText(paysTest));
    expect(results).toEqual([
      {
        file: 'a.journey.yaml',
        name: 'pays on the third day',
        workflow: 'onboarding',
        ms: expect.any(Number),
        failures: [],
      },
    ]);
  });

  it('says where the path parts from the expected one', async () => {
    const path = ['welcome', { paid: 'timeout' }, 'thanks'];
    expect(await failuresOf({ ...pays, expect: { path } })).toEqual([
      'path: step 2 is {paid: event}, not {paid: timeout}\n' +
        '  expected: [welcome, {paid: timeout}, thanks]\n' +
        '  actual:   [welcome, {paid: event}, crm, thanks, done]',
    ]);
  });

  it.each([
    ['a longer path', { path: ['welcome', 'paid', 'crm'] }, 'step 3 is the end, not crm'],
    ['a shorter path', { path: ['welcome'] }, 'step 2 is {paid: timeout}, not the end'],
    ['steps in another order', { passes: ['paid', 'welcome'] }, '"welcome" does not follow'],
    ['a step that is avoided', { avoids: ['crm', 'welcome'] }, '"welcome" is entered'],
    ['no mail', { mails: [] }, 'welcome at 0s to ada@shop.example: "Hi Ada"'],
    ['another mail', { mails: [{ step: 'thanks' }] }, 'mails.0.step'],
    ['another recipient', { mails: [{ to: 'bob@shop.example' }] }, 'mails.0.to'],
    ['another sender', { mails: [{ from: 'bob@shop.example' }] }, '"team@shop.example"'],
    ['another subject', { mails: [{ subject: 'Hi Bob' }] }, 'expected: "Hi Bob"'],
    ['another text', { mails: [{ contains: 'Bye' }] }, 'a body with "Bye"'],
    ['no such text', { mails: [{ lacks: ['Bye', 'Welcome'] }] }, 'a body without "Welcome"'],
    ['another time', { mails: [{ at: '2h' }] }, 'expected: 2h\n  actual:   0s'],
    ['a request', { webhooks: [{}] }, 'webhooks\n  expected: 1\n  actual:   0'],
    ['another subscription', { contact: { subscribed: false } }, 'contact.subscribed'],
    ['other data', { contact: { data: { name: 'Bob' } } }, 'contact.data.name'],
    ['another end', { end: 'EXITED' }, 'expected: "EXITED"\n  actual:   "COMPLETED"'],
    ['another reason', { reason: 'done' }, 'actual:   nothing'],
    ['an error', { error: 'no template' }, 'an error with "no template"'],
    ['another duration', { after: '1d' }, 'expected: 1d\n  actual:   7d'],
  ])('fails when it expects %s', async (_, expected, text) => {
    const failures = await failuresOf({ expect: expected });
    expect(failures).toHaveLength(1);
    expect(failures[0]).toContain(text);
  });

  it('compares requests with the named keys of their bodies', async () => {
    const webhooks = { crm: { statusCode: 500, failures: 1 } };
    const call = { step: 'crm', url: 'https://crm.example/paid', body: { amount: 5 } };
    expect(await failuresOf({ ...pays, webhooks, expect: { webhooks: [call] } })).toEqual([]);
    const other = { ...call, body: { amount: 6, email: 'ada@shop.example' } };
    expect(await failuresOf({ ...pays, expect: { webhooks: [other] } })).toEqual([
      'webhooks.0.body.amount\n  expected: 6\n  actual:   5',
    ]);
  });

  it('ends by an exit rule', async () => {
    const events = [{ name: 'refunded', after: 90 }];
    const expected = { path: ['welcome', 'paid'], end: 'EXITED', reason: 'refund', after: '90s' };
    expect(await failuresOf({ events, expect: expected })).toEqual([]);
  });

  it('sends no mail of a topic that the contact has left', async () => {
    const contact = { topics: { news: false } };
    expect(await failuresOf({ contact, expect: { mails: [] } })).toEqual([]);
    const [failure] = await failuresOf({ contact, expect: { mails: [{}] } });
    expect(failure).toContain('welcome is withheld: topic_unsubscribed');
  });

  it('holds mail in the quiet hours of the policy', async () => {
    const policy = {
      'policies/send.yaml': 'timeZone: UTC\nquietHours: {from: "08:00", to: "10:00"}\n',
    };
    const at = (time: string) => failuresOf({ expect: { mails: [{ at: time }] } }, policy);
    expect([await at('0s'), await at('1h')]).toEqual([[], []]);
    expect((await at('2h'))[0]).toContain('actual:   0s, held until 1h');
  });

  it('takes fields of the file unless the test has them, and merges contact data by key', async () => {
    const text = JSON.stringify({
      workflow: 'onboarding',
      contact: { email: 'ada@shop.example', data: { name: 'Ada', plan: 'pro' } },
      context: { amount: 1 },
      tests: [
        {
          name: 'own',
          contact: { data: { name: 'Eve' } },
          expect: {
            contact: { data: { name: 'Eve', plan: 'pro' } },
            mails: [{ subject: 'Hi Eve' }],
          },
        },
        { name: 'of the file', expect: { contact: { data: { name: 'Ada', paid: null } } } },
      ],
    });
    const results = await runJourneys(shopFiles, text);
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
  });

  it('plays on the same day each time, unless it says another', async () => {
    const welcome = shopFiles['templates/welcome.html'].replace(
      'Hi {{name}}',
      `'Hi {{ "now" | date: "%Y-%m-%d" }}'`,
    );
    const files = { 'templates/welcome.html': welcome };
    const played = (text: string, given = {}) =>
      failuresOf({ ...given, expect: { mails: [{ subject: `Hi ${text}` }] } }, files);
    expect(await played('2026-01-05')).toEqual([]);
    expect(await played('2027-02-03', { startAt: '2027-02-03T08:00:00+01:00' })).toEqual([]);
  });
});

describe('a test that cannot run', () => {
  it('fails with all mistakes of its own, and leaves the other tests', async () => {
    const text = journeyText({ name: 'empty', expect: {} }, paysTest, { expect: { ned: 1 } });
    const results = await runJourneys(shopFiles, text);
    expect(results.map(({ name, failures }) => [name, failures.length])).toEqual([
      ['empty', 1],
      ['pays on the third day', 0],
      ['test 3', 3],
    ]);
    expect(results[0]?.failures[0]).toMatch(
      /^a\.journey\.yaml:1:\d+ tests\.0\.expect: .*expects nothing/,
    );
    expect(results[2]?.failures.join()).toContain('Did you mean "end"?');
  });

  it.each([
    ['tests: [', 'Is not valid YAML'],
    ['tests: &a []', 'Anchors'],
    ['tests: []\nworkflow: onboarding\nword: x', 'word: There is no such field here.'],
    ['', 'Must be an object'],
  ])('is the only one of a file that cannot be read: %s', async (text, message) => {
    const [result, ...others] = await runJourneys(shopFiles, text);
    expect([result?.name, others]).toEqual(['a.journey.yaml', []]);
    expect(result?.failures.join()).toContain(message);
  });

  it('names the workflow that was meant', async () => {
    const text = journeyText(paysTest).replace('"onboarding"', '"onbording"');
    const [result] = await runJourneys(shopFiles, text);
    expect(result?.failures).toEqual([
      'There is no file of a workflow "onbording". Did you mean "onboarding"?',
    ]);
  });

  it('shows the problems of the files that its workflow needs, not those of others', async () => {
    const broken = shopFiles['templates/thanks.html'].replace('{{event.amount}}', '{% if %}');
    const files = { 'templates/thanks.html': broken, 'templates/other.html': 'no front matter' };
    const failures = await failuresOf({ expect: { end: 'EXITED' } }, files);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(/^templates\/thanks\.html:7:\d+ body: /);
  });

  it.each([
    [{ contact: { email: 'nobody' } }, 'Must be an email address'],
    [
      { contact: { topics: { nws: true } } },
      'There is no file of a topic "nws". Did you mean "news"?',
    ],
    [{ webhooks: { crn: {} } }, '"crn" is not the key of a step'],
    [{ arms: { paid: 'a' } }, '"paid" is not the key of a SPLIT step'],
    [{ key: 'k' }, 'The workflow has no executionKey'],
    [{ events: [{ name: 'paid' }] }, 'Must have exactly one of'],
    [{ events: [{ name: 'paid', after: '3 days' }] }, 'a duration such as 90s'],
  ])('is refused: %j', async (given, message) => {
    const failures = await failuresOf({ ...given, expect: { end: 'COMPLETED' } });
    expect(failures.join()).toContain(message);
  });
});
