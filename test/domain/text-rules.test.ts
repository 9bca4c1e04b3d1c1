import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findForbiddenText, hasForbiddenText, findInvisible } from '../../domain/text-rules.ts';

describe('forbidden text', () => {
  it('is NUL or half of a surrogate pair', () => {
    expect(hasForbiddenText('a\u0000b')).toBe(true);
    expect(hasForbiddenText('\ud800')).toBe(true);
    expect(hasForbiddenText('a\udc00\ud800b')).toBe(true);
    expect(hasForbiddenText('')).toBe(false);
    expect(hasForbiddenText('a😀\n\u0001é')).toBe(false);
  });

  it('is found by its path, keys included', () => {
    expect(findForbiddenText({ a: 1, data: { k: ['x', 'a\u0000b'] } })).toEqual(['data', 'k', 1]);
    expect(findForbiddenText({ a: { 'k\ud800': 1 } })).toEqual(['a', 'k\ud800']);
    expect(findForbiddenText([[], {}, ['\u0000'], '\u0000'])).toEqual([2, 0]);
    expect(findForbiddenText(JSON.parse('{"__proto__":{"a":"\\u0000"}}'))).toEqual([
      '__proto__',
      'a',
    ]);
    expect(findForbiddenText('\u0000')).toEqual([]);
  });

  it('is not found where there is none', () => {
    for (const value of [undefined, null, 1, true, 'a', [], {}, { a: [{ b: null }, 'c'] }]) {
      expect(findForbiddenText(value)).toBeNull();
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const hasAny = /\\u0000|\\ud[89a-f]/.test(JSON.stringify(value).replaceAll('\\\\', ''));
        expect(findForbiddenText(value) !== null).toBe(hasAny);
      }),
    );
  });

  it('is found at any depth', () => {
    const depth = 2_000_000;
    let deep: unknown = '\u0000';
    for (let i = 0; i < depth; i++) deep = i % 2 ? { a: deep } : [deep];
    expect(findForbiddenText(deep)).toHaveLength(depth);
  });
});

describe('names', () => {
  it('hold no control or invisible formatting characters', () => {
    for (const code of [
      0x00, 0x09, 0x0a, 0x7f, 0x85, 0xad, 0x200b, 0x200d, 0x202e, 0x2028, 0x2066, 0xfeff, 0xe0041,
    ]) {
      const written = code.toString(16).toUpperCase().padStart(4, '0');
      expect(findInvisible(`a${String.fromCodePoint(code)}b`)).toBe(`U+${written}`);
    }
    expect(findInvisible('a\ud800b')).toBe('U+D800');
    expect(findInvisible('Welcome series é😀')).toBeNull();
  });
});
