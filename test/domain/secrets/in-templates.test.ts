import { describe, expect, it } from 'vitest';
import {
  hidden,
  keptConfig,
  markSecrets,
  revealed,
  SecretMask,
  shownConfig,
} from '../../../domain/secrets/in-templates.ts';

const mark = 'm0a1b2c3';
const values = new Map([
  ['KEY', 'k1'],
  ['OTHER', 'o2'],
]);
/** Returns the rendered text of a template. */
const sent = (source: string) =>
  revealed(markSecrets(source, mark).text, mark, (name) => values.get(name) ?? '?');

describe('a secret in a template', () => {
  it.each([
    ['Bearer {{secret.KEY}}', 'Bearer k1'],
    ['{{ secret.KEY }}:{{secret.OTHER}}{{secret.KEY}}', 'k1:o2k1'],
    ['{{secret.NONE}}', '?'],
    ['{{secret.lower}}', '?'],
    ['{{secret}} {{data.secret.KEY}} {{ secret.KEY | upcase }}', null],
    ['{% raw %}{{secret.KEY}}{% endraw %}', null],
    ['secret.KEY {secret.KEY}', null],
  ])('%j is sent as %j', (source, expected) => {
    expect(sent(source)).toBe(expected ?? source);
  });

  it('is named once for each place', () => {
    const { names } = markSecrets('{{secret.KEY}} {{secret.OTHER}} {{secret.KEY}}', mark);
    expect(names).toEqual(['KEY', 'OTHER', 'KEY']);
  });
});

describe('what a receiver answers', () => {
  const secret = 'S3cret "a/b" & <ü>';
  const mask = new SecretMask([secret, 'S3cret', 'short']);

  it.each([
    secret,
    JSON.stringify(secret),
    encodeURIComponent(secret),
    new URLSearchParams({ q: secret }).toString(),
    new URL(`http://x/${secret}`).href,
    secret.toLowerCase(),
    'short',
  ])('holds no secret: %s', (echoed) => {
    const text = mask.text(`before ${echoed} after`);
    expect(text).toContain(hidden);
    for (const part of ['S3cret', 's3cret', '/b', '%2Fb', 'short'])
      expect(text).not.toContain(part);
  });

  it('holds no beginning of one where it was cut', () => {
    expect(mask.text('x sho', true)).toBe(`x ${hidden}`);
    expect(mask.text('x sho')).toBe('x sho');
    expect(mask.text('x y', true)).toBe('x y');
  });

  it('holds none in a value, in names neither', () => {
    expect(mask.value({ short: ['a short b', 1, null], b: { c: 'S3cret' } })).toEqual({
      [hidden]: [`a ${hidden} b`, 1, null],
      b: { c: hidden },
    });
    const value = { a: 'b' };
    expect(new SecretMask([]).value(value)).toBe(value);
  });
});

describe('headers that are credentials', () => {
  const config = {
    url: 'https://s.test/',
    headers: { Authorization: 'Bearer x', 'x-API-key': 'y', COOKIE: 'z', 'X-Own': 'o' },
  };

  it('are not shown', () => {
    expect(shownConfig(config)).toEqual({
      url: 'https://s.test/',
      headers: { Authorization: hidden, 'x-API-key': hidden, COOKIE: hidden, 'X-Own': 'o' },
    });
    const other = { amount: 1 };
    expect(shownConfig(other)).toBe(other);
  });

  it('are kept where they come back as they were shown', () => {
    const given = { ...config, headers: { authorization: hidden, Cookie: 'new', 'X-Own': hidden } };
    expect(keptConfig(given, config)).toEqual({
      config: {
        url: 'https://s.test/',
        headers: { authorization: 'Bearer x', Cookie: 'new', 'X-Own': hidden },
      },
      missing: [],
    });
    expect(keptConfig(given, {}).missing).toEqual(['authorization']);
  });
});
