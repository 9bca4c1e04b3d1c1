import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLossyNumber, measureJson } from '../../domain/json-body.ts';

describe('a lossy number', () => {
  it.each([
    ['9007199254740993', []],
    ['-9007199254740993', []],
    ['1e999', []],
    ['-1E+400', []],
    ['9'.repeat(400), []],
    ['12345678901234567890', []],
    ['{"data":{"a":[0,{"b":1},1e999]}}', ['data', 'a', 2]],
    ['{"a":"\\\\","b\\"1":9007199254740993}', ['b"1']],
    ['{"a":{},"b":[[],[1,2]],"c":9007199254740993}', ['c']],
    ['{"x":"{\\"y\\":[","z":{"y":9007199254740993}}', ['z', 'y']],
  ])('in %s is found', (json, path) => {
    expect(findLossyNumber(json)?.path).toEqual(path);
  });

  it.each([
    '9007199254740992',
    '1152921504606847000',
    '1e21',
    '1.7976931348623157e+308',
    '0.1234567890123456789',
    '-0',
    '1e-400',
    '"9007199254740993"',
    '{"1e999":"1e999"}',
    '["\\"", "1e999"]',
  ])('is not in %s', (json) => {
    expect(findLossyNumber(json)).toBeNull();
  });

  it('is in no JSON that was written from values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(findLossyNumber(JSON.stringify(value))).toBeNull();
        expect(findLossyNumber(JSON.stringify(value, null, 2))).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('is found wherever it is, and every other whole number comes out as it went in', () => {
    const mark = 'here: ';
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        (value, number) => {
          const json = JSON.stringify([value, { [mark]: mark }]).replace(
            `"${mark}":"${mark}"`,
            () => `"${mark}":${number}`,
          );
          const isLossy = !isKept(number);
          expect(findLossyNumber(json)).toEqual(
            isLossy ? { path: [1, mark], literal: String(number) } : null,
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Returns true if JSON that is parsed and written again has the same number. */
function isKept(number: bigint): boolean {
  const [digits = '', zeros = '0'] = JSON.stringify(Number(number)).split('e+');
  const [whole = '', behind = ''] = digits.split('.');
  return BigInt(whole + behind) * 10n ** BigInt(Number(zeros) - behind.length) === number;
}

describe('the size of JSON', () => {
  const measure = (json: string, itemsMax = Infinity) =>
    measureJson(new TextEncoder().encode(json), itemsMax);

  it.each([
    ['1', 0, 1],
    ['"a,[{"', 0, 1],
    ['[]', 1, 2],
    ['[1,[2],{"a":[]}]', 3, 7],
    ['{"a\\"[":"\\\\","b":[",]\\\\\\"["]}', 2, 4],
  ])('of %s is %s deep and %s items', (json, depth, items) => {
    expect(measure(json)).toEqual({ depth, items });
  });

  it('is that of the value, whatever is written', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
        : 0;
    const itemsOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce<number>((sum, one) => sum + itemsOf(one), 1) +
          (Object.keys(value).length === 0 ? 1 : 0)
        : 1;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
        const expected = { depth: depthOf(value), items: itemsOf(value) };
        expect(measure(JSON.stringify(value, null, indent))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('of what is no JSON is measured to its end', () => {
    for (const text of ['', '"', '"\\', '[[', ']]', '{"a', '\\"\\']) {
      expect(measure(text).items).toBeGreaterThanOrEqual(1);
    }
  });

  it('is no longer measured where it is too large', () => {
    expect(measure('[[],[],[],[],[]]', 3)).toEqual({ depth: 2, items: 4 });
  });
});
