import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chooseProviders,
  isRecipientRefusal,
  type RoutableProvider,
  type Route,
  type RoutedMail,
} from '../../../domain/routing/routing.ts';

const mail = (more: Partial<RoutedMail> = {}): RoutedMail => ({
  id: '01900000-0000-7000-8000-000000000001',
  message_class: 'MARKETING',
  from_email: 'news@news.shop.example',
  to_email: 'ada@gmail.com',
  topic_id: null,
  ...more,
});

const provider = (id: string, more: Partial<RoutableProvider> = {}): [string, RoutableProvider] => [
  id,
  { id, enabled: true, domains: null, ...more },
];
const known = new Map([provider('default'), provider('a'), provider('b'), provider('c')]);

const target = (id: string, weight = 1) => ({ id, weight });
const to = (id: string, match: Route['match'] = {}): Route => ({
  match,
  providers: [target(id)],
  onDown: 'hold',
});

const choose = (own: Route[], given: Partial<RoutedMail> = {}, installation: Route[] = []) =>
  chooseProviders(mail(given), { own, installation }, known);
const order = (choice: ReturnType<typeof choose>) =>
  choice.candidates.map(({ providerId }) => providerId);

describe('a route', () => {
  it.each<[string, Route['match'], Partial<RoutedMail>, boolean]>([
    ['its class', { messageClass: ['MARKETING', 'HEADLESS'] }, {}, true],
    ['another class', { messageClass: ['TRANSACTIONAL'] }, {}, false],
    ['its sender domain', { domains: ['news.shop.example'] }, {}, true],
    ['a domain below its sender domain', { domains: ['shop.example'] }, {}, false],
    ['its topic', { topicIds: ['t'] }, { topic_id: 't' }, true],
    ['no topic', { topicIds: ['t'] }, {}, false],
    ['its receiver', { receivers: ['gmail.com'] }, {}, true],
    ['a receiver below *', { receivers: ['*.edu'] }, { to_email: 'a@cs.mit.edu' }, true],
    ['the name after *', { receivers: ['*.edu'] }, { to_email: 'a@edu' }, false],
    ['a name that ends alike', { receivers: ['*.edu'] }, { to_email: 'a@x.notedu' }, false],
    ['one part of two', { messageClass: ['MARKETING'], receivers: ['x.test'] }, {}, false],
    ['everything', {}, {}, true],
  ])('decides about mail of %s: %j', (_, match, given, decides) => {
    const choice = choose([to('a', match)], given);
    expect([order(choice), choice.route]).toEqual(decides ? [['a'], 0] : [['default'], null]);
  });

  it('is the first that matches; then come those of the installation, then the default', () => {
    const own = [to('a', { messageClass: ['TRANSACTIONAL'] }), to('b', {})];
    expect(choose(own)).toMatchObject({ route: 1, isRouted: true });
    const none = [own[0]!];
    const ofInstallation = choose(none, {}, [to('c', { domains: ['x.test'] }), to('b')]);
    expect(ofInstallation).toMatchObject({ route: null, isRouted: true });
    expect(order(ofInstallation)).toEqual(['b']);
    expect(choose(none)).toMatchObject({ route: null, isRouted: false, onDown: 'hold' });
  });

  it('names why a provider cannot take a message', () => {
    const providers = new Map([
      provider('a', { enabled: false }),
      provider('b', { domains: ['other.test'] }),
      provider('c', { domains: ['news.shop.example'] }),
    ]);
    const route = { match: {}, onDown: 'hold' as const, providers: ['a', 'b', 'c', 'gone'] };
    const own = [{ ...route, providers: route.providers.map((id) => target(id, 0)) }];
    const { candidates } = chooseProviders(mail(), { own, installation: [] }, providers);
    expect(candidates.map(({ providerId, reason }) => [providerId, reason])).toEqual([
      ['a', 'disabled'],
      ['b', 'domain_not_allowed'],
      ['c', null],
      ['gone', 'disabled'],
    ]);
  });
});

describe('the choice by weight', () => {
  const weighted = (...weights: number[]): Route => ({
    match: {},
    providers: weights.map((weight, index) => target('abcdefghij'[index]!, weight)),
    onDown: 'next',
  });

  it('lists each provider once: those after the chosen one, then those before it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 10 }),
        fc.uuid(),
        (weights, id) => {
          const route = weighted(...weights);
          const ids = route.providers.map((each) => each.id);
          const listed = order(choose([route], { id }));
          const first = ids.indexOf(listed[0]!);
          expect(listed).toEqual([...ids.slice(first), ...ids.slice(0, first)]);
          // A provider of weight 0 is first only if all have this weight.
          if (weights[first] === 0) expect(weights.every((weight) => weight === 0)).toBe(true);
          expect(order(choose([route], { id }))).toEqual(listed);
        },
      ),
    );
  });

  it('keeps the order given when all weights are 0', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(order(choose([weighted(0, 0, 0)], { id }))).toEqual(['a', 'b', 'c']);
      }),
    );
  });

  it('gives each provider its share of the mail', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `mail ${index}`);
    const first = ids.map((id) => order(choose([weighted(9, 1)], { id }))[0]);
    const share = first.filter((id) => id === 'a').length / ids.length;
    expect(Math.abs(share - 0.9)).toBeLessThan(0.012);
  });

  it('moves mail only to a provider whose weight grows', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 500 }), (id, more) => {
        const [before] = order(choose([weighted(5, 5, 5)], { id }));
        const [after] = order(choose([weighted(5, 5, 5 + more)], { id }));
        expect([before, 'c']).toContain(after);
      }),
    );
  });

  it('previews the order that most mail gets', () => {
    expect(order(choose([weighted(1, 5, 5, 0)], { id: null }))).toEqual(['b', 'c', 'd', 'a']);
  });

  it('takes at most 0.02 ms for each of many messages', () => {
    const route = weighted(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    const count = 5_000;
    const started = process.cpuUsage();
    for (let index = 0; index < count; index++) choose([route], { id: `mail ${index}` });
    const { user } = process.cpuUsage(started);
    expect(user / 1000 / count).toBeLessThan(0.02);
  });
});

it.each([
  ['The server refused the recipient: 550 no such user', true, true],
  ['The server refused the recipient: 552 5.2.2 mailbox full', false, true],
  ['The server refused the sender: 550 5.7.1 not allowed', false, false],
  ['The server refused the message: 552 5.3.4 too big', false, false],
  ['The server refused the data: 554 5.6.0 malformed', false, false],
])('recognises a refusal of the recipient: %s', (error, isRecipient, expected) => {
  expect(isRecipientRefusal({ error, isRecipient })).toBe(expected);
});
