import { describe, expect, it } from 'vitest';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import { addUtm, utmOf, type UtmNames, withUtm } from '../../../domain/links/utm.ts';

const parameters = [
  ['utm_source', 'news'],
  ['utm_campaign', 'spring-sale'],
] as const;
const utm = { parameters, hosts: [] };
const both = 'utm_source=news&utm_campaign=spring-sale';

describe('UTM parameters', () => {
  it.each([
    ['https://shop.test', `https://shop.test?${both}`],
    ['https://shop.test/a?x=1#top', `https://shop.test/a?x=1&${both}#top`],
    ['https://shop.test/a?#', `https://shop.test/a?${both}#`],
    ['https://shop.test/a?x=1&', `https://shop.test/a?x=1&${both}`],
    ['https://shop.test/#/a?x=1#b', `https://shop.test/?${both}#/a?x=1#b`],
    ['https://shop.test/ä?b=%zz&&c=+;', `https://shop.test/ä?b=%zz&&c=+;&${both}`],
    ['HTTP://Shop.test/A', `HTTP://Shop.test/A?${both}`],
  ])('are added to %s before its fragment, and the rest stays', (url, expected) => {
    expect(addUtm(url, utm)).toBe(expected);
  });

  it.each(['utm_source=x', 'UTM_Source=', 'a=1&utm_source', 'utm%5Fsource=a&b'])(
    'leave a parameter of the same name as it is: %s',
    (query) => {
      const url = `https://shop.test/?${query}#utm_campaign=1`;
      expect(addUtm(url, utm)).toBe(
        `https://shop.test/?${query}&utm_campaign=spring-sale#utm_campaign=1`,
      );
    },
  );

  it('leave a link that has all of them', () => {
    expect(addUtm(`https://shop.test/?${both}`, utm)).toBeNull();
  });

  it.each([
    ['https://shop.test/', true],
    ['https://www.Shop.test:8443/', true],
    ['https://shop.test./', true],
    ['https://myshop.test/', false],
    ['https://shop.test.evil.test/', false],
    ['https://evil.test/?shop.test', false],
  ])('are for named hosts and those below them: %s, %s', (url, isAdded) => {
    expect(addUtm(url, { parameters, hosts: ['shop.test'] }) !== null).toBe(isAdded);
  });

  it('do not make a link too long to be tracked', () => {
    expect(addUtm(`https://shop.test/${'x'.repeat(4_060)}`, utm)).toBeNull();
  });

  it('are added to web links of HTML alone', () => {
    const kept =
      '<a href="mailto:a@b.test">m</a><a href="#top">t</a><a href="https://x.test" data-track="false">n</a>' +
      '<a href="https://api.test/unsubscribe/5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11">out</a>' +
      '<!-- <a href="https://x.test">c</a> --><img src="https://x.test/i.png">';
    const body = `${kept}<a href='https://x.test/?a=1&amp;b=2#c'>x</a><a href=http://y.test>y</a>`;
    const changed = withUtm({ body, link_ids: null as string[] | null }, utm);
    expect(changed.link_ids?.slice(-2)).toEqual(
      ['https://x.test/?a=1&b=2#c', 'http://y.test'].map(linkIdOf),
    );
    expect(changed.body).toBe(
      `${kept}<a href='https://x.test/?a=1&amp;b=2&amp;utm_source=news&amp;utm_campaign=spring-sale#c'>x</a>` +
        '<a href="http://y.test?utm_source=news&amp;utm_campaign=spring-sale">y</a>',
    );
  });

  const names: UtmNames = {
    campaign: 'Spring Sale!',
    template: null,
    step: 'Tag 1: Grüße',
    arm: 'B',
  };
  it.each([
    ['{campaign}', 'spring-sale'],
    ['x-{campaign}-{step}', 'x-spring-sale-tag-1-grüße'],
    ['{arm}', 'B'],
    ['A b&c', 'A b&c'],
    ['{other} {', '{other} {'],
  ])('have names as slugs: %s', (value, expected) => {
    expect(utmOf({ values: { source: value }, hosts: [] }, names)?.parameters).toEqual([
      ['utm_source', expected],
    ]);
  });

  it('do without a value of which nothing is left', () => {
    const values = { source: 'news', campaign: '{workflow}{template}', term: null };
    expect(utmOf({ values, hosts: [] }, names)?.parameters).toEqual([['utm_source', 'news']]);
    expect(utmOf({ values: { campaign: '{workflow}' }, hosts: [] }, names)).toBeNull();
    expect(utmOf({ values: null, hosts: [] }, names)).toBeNull();
  });

  it('are percent-encoded', () => {
    expect(addUtm('https://x.test/', { parameters: [['utm_source', 'a b&ü']], hosts: [] })).toBe(
      'https://x.test/?utm_source=a%20b%26%C3%BC',
    );
  });
});
