import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isReservedName, normaliseDomainName } from '../../../domain/sender/domain-name.ts';

describe('normaliseDomainName', () => {
  it.each([
    ['Shop.Test.', 'shop.test'],
    ['  mycorp.dev ', 'mycorp.dev'],
    ['a.b', 'a.b'],
    ['mail.Bücher.example', 'mail.xn--bcher-kva.example'],
    ['shop。test', 'shop.test'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['3com.com', '3com.com'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('stores %j as %j', (given, name) => {
    expect(normaliseDomainName(given)).toBe(name);
  });

  it.each([
    'https://x.dev',
    'x.dev/path',
    'x.dev:8080',
    'ada@x.dev',
    'user:pass@x.dev',
    '127.0.0.1',
    '127.1',
    '0x7f.0.0.1',
    '[::1]',
    '::1',
    'localhost',
    'com.',
    'shop',
    '',
    '.',
    '..',
    'a..b',
    '.shop.test',
    'shop.test..',
    'sho p.test',
    'shop_1.test',
    '-shop.test',
    'shop-.test',
    'shop.test?x',
    'shop.test#x',
    'shop%2etest',
    'shop.test\\x',
    '*.shop.test',
    'xn--a.test',
    'shop.\u0000test',
    `${'a'.repeat(64)}.test`,
    `${'a.'.repeat(127)}test`,
  ])('refuses %j', (given) => {
    expect(normaliseDomainName(given)).toBeNull();
  });

  it('answers only names that stay as they are when given again', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.webUrl(), fc.string({ unit: 'binary' })), (text) => {
        const name = normaliseDomainName(text);
        if (name === null) return;
        expect(name).toMatch(/^[a-z0-9.-]{3,253}$/);
        expect(normaliseDomainName(name)).toBe(name);
      }),
    );
  });
});

describe('isReservedName', () => {
  it.each(['a.test', 'b.a.example', 'a.localhost', 'a.invalid'])('knows %s', (name) => {
    expect(isReservedName(name)).toBe(true);
  });

  it.each(['test.dev', 'example.com', 'mytest', 'a.test2'])('leaves %s alone', (name) => {
    expect(isReservedName(name)).toBe(false);
  });
});
