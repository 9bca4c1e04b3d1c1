import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeFileName } from '../../../domain/upload/file-name.ts';

describe('the name of an attached file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Größe – 3:2 "a" <b>.txt', 'Größe – 3:2 "a" <b>.txt'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\run.exe', 'run.exe'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['a\u2066b\u2069\u200f.txt', 'ab.txt'],
    ['a\u0000b\u0007\u009fc.txt', 'abc.txt'],
    ['a\tb\u2028c.txt', 'a b c.txt'],
    ['.htaccess', 'htaccess'],
    ['name. . ', 'name'],
    ['می\u200cخواهم.txt', 'می\u200cخواهم.txt'],
    ['a \u0001 b.txt', 'a b.txt'],
    [`${'a'.repeat(254)} ${'b'.repeat(50)}`, 'a'.repeat(254)],
    ['..', 'attachment'],
    ['folder/', 'attachment'],
  ])('%j is %j', (given, expected) => {
    expect(safeFileName(given)).toBe(expected);
  });

  it('is cut before its ending, by whole characters', () => {
    const long = safeFileName(`${'😀'.repeat(100)}.pdf`);
    expect(long).toBe(`${'😀'.repeat(62)}.pdf`);
    expect(safeFileName(`a.${'b'.repeat(300)}`)).toBe(`a.${'b'.repeat(253)}`);
  });

  it('is a name whatever is given, and stays what it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (given) => {
        const name = safeFileName(given);
        expect(name).not.toMatch(/[/\\\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u);
        expect([name.length > 0, Buffer.byteLength(name) <= 255]).toEqual([true, true]);
        expect(safeFileName(name)).toBe(name);
      }),
      {
        examples: [['a \u0001 b'], [`${'a'.repeat(254)}.${'b'.repeat(50)}`], ['\ufeff \u202e a']],
      },
    );
  });
});
