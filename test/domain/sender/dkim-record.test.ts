import { describe, expect, it } from 'vitest';
import { isDkimKey, isSameDkimKey, selectorFor } from '../../../domain/sender/dkim-record.ts';

const wanted = 'v=DKIM1; k=rsa; p=MIIBIjANBg+/AB==';

describe('a DKIM key in DNS', () => {
  it.each([
    wanted,
    'p=MIIBIjANBg+/AB==',
    'k=rsa;p=MIIBIjANBg+/AB==;v=DKIM1;',
    'v = DKIM1 ; p = MIIB IjAN  Bg+/AB== ; t=s; n=a note',
    'v=DKIM1; h=sha1:sha256; s=email; p=MIIBIjANBg+/AB==',
    'v=DKIM1; h = sha256 ; s = * ; p=MIIBIjANBg+/AB==',
  ])('is right as %j', (found) => {
    expect([isDkimKey(found), isSameDkimKey(wanted, found)]).toEqual([true, true]);
  });

  it.each([
    'v=DKIM1; k=rsa; p=',
    'v=DKIM1; k=rsa; p=AAAA',
    'v=DKIM1; k=rsa; p=miibijanbg+/ab==',
    'v=DKIM1; k=ed25519; p=MIIBIjANBg+/AB==',
    'v=DKIM2; p=MIIBIjANBg+/AB==',
    'v=DKIM1; h=sha1; p=MIIBIjANBg+/AB==',
    'v=DKIM1; s=other; p=MIIBIjANBg+/AB==',
    'p=MIIBIjANBg+/AB==; p=MIIBIjANBg+/AB==',
  ])('is wrong as %j', (found) => {
    expect([isDkimKey(found), isSameDkimKey(wanted, found)]).toEqual([true, false]);
  });

  it.each(['v=spf1 -all', 'google-site-verification=abc', '', 'pp=a'])(
    'is not what %j says',
    (found) => {
      expect(isDkimKey(found)).toBe(false);
    },
  );
});

it('names a selector after the month of its making', () => {
  expect(selectorFor(new Date('2026-11-30T23:59:59Z'), '7f3a09c1')).toBe('ep202611-7f3a09c1');
});
