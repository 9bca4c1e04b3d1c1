import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { domainOf, maskEmail, normaliseEmail } from '../../domain/email-address.ts';

describe('normaliseEmail', () => {
  it('trims and lowercases', () => {
    expect(normaliseEmail(' Ada.Lovelace+News@X.Example\n')).toBe('ada.lovelace+news@x.example');
  });

  it.each([
    "o'neil@x.example",
    'a..b.@x.example',
    'a@xn--mller-kva.example',
    'a@a-b.c-d.example',
    `${'a'.repeat(64)}@x.example`,
    `a@${'b'.repeat(63)}.example`,
    `a@${'b.'.repeat(122)}example`,
  ])('accepts %s', (address) => {
    expect(normaliseEmail(address)).toBe(address);
  });

  it.each([
    '',
    'x',
    'x@',
    '@x.example',
    'a@b@x.example',
    'a@example',
    'a@.example',
    'a@x.',
    'a@x..example',
    'a@-x.example',
    'a@x-.example',
    'a@127.0.0.1',
    'a@[127.0.0.1]',
    'a b@x.example',
    'a@x .example',
    '"a b"@x.example',
    'a,b@x.example',
    '<a@x.example>',
    'a\r\nbcc:b@x.example',
    'a\u0000@x.example',
    'a\u200b@x.example',
    'ä@x.example',
    // Letters whose lower case is or begins with one of ASCII: the Kelvin sign, and the Turkish I.
    '\u212Aim@x.example',
    'ada@\u212Aiosk.example',
    '\u0130da@x.example',
    'a@müller.example',
    `${'a'.repeat(65)}@x.example`,
    `a@${'b'.repeat(64)}.example`,
    `a@${'b.'.repeat(123)}example`,
  ])('refuses %j', (address) => {
    expect(normaliseEmail(address)).toBeNull();
  });

  it('gives only addresses that are safe in a header and stay the same when read again', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (value) => {
        const email = normaliseEmail(value);
        if (email === null) return;
        expect(email).toMatch(/^[!-~]+$/);
        expect(email).not.toMatch(/["(),:;<>[\\\]]/);
        expect(normaliseEmail(email)).toBe(email);
      }),
    );
  });
});

describe('parts of an address', () => {
  it('gives the domain', () => {
    expect(domainOf('a@mail.x.example')).toBe('mail.x.example');
  });

  it('masks all but the first character and the domain', () => {
    expect(maskEmail('ada@x.example')).toBe('a…@x.example');
    expect(maskEmail('a@x.example')).toBe('a…@x.example');
  });
});
