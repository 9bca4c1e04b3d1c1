import { expect, it } from 'vitest';
import { hashText } from '../../../domain/drawing/hash.ts';

/** Values of other implementations: https://en.wikipedia.org/wiki/MurmurHash#Algorithm */
it.each([
  ['', 0, 0],
  ['', 1, 0x514e28b7],
  ['', 0xffffffff, 0x81f16f39],
  ['test', 0, 0xba6bd213],
  ['Hello, world!', 0, 0xc0363e43],
  ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
])('hashes "%s" with the seed %i like MurmurHash3', (text, seed, hash) => {
  expect(hashText(text, seed)).toBe(hash);
});
