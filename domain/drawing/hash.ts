const encoder = new TextEncoder();

/**
 * MurmurHash3 (x86, 32 bits) of a text as UTF-8: fast, evenly distributed, and not for secrets.
 * Author: Austin Appleby,
 * https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp
 * @returns an integer from 0 to 2³² − 1
 */
export function hashText(text: string, seed = 0): number {
  const bytes = encoder.encode(text);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const wholeEnd = bytes.length - (bytes.length % 4);
  let hash = seed;
  for (let at = 0; at < wholeEnd; at += 4) {
    hash = rotated(hash ^ scrambled(view.getUint32(at, true)), 13);
    hash = Math.imul(hash, 5) + 0xe6546b64;
  }
  let rest = 0;
  for (let at = bytes.length - 1; at >= wholeEnd; at--) rest = (rest << 8) | bytes[at]!;
  return finished(hash ^ scrambled(rest) ^ bytes.length);
}

function scrambled(block: number): number {
  return Math.imul(rotated(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function finished(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
