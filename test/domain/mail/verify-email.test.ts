import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { personalDomains, popularDomains } from '../../../domain/mail/mailbox-providers.ts';
import { isOneEditAway, judgeAddress } from '../../../domain/mail/verify-email.ts';

const lists = {
  disposable: new Set(['mailinator.com']),
  personal: new Set(personalDomains),
  alias: new Set(['duck.com']),
};
const fine = { exists: true, hasWebsite: true, hasMx: true };
const judge = (email: string, host = fine) => judgeAddress(email, host, lists);

describe('an address', () => {
  it('is fine, in one sentence', () => {
    expect(judge('ada@shop.dev')).toEqual({
      email: 'ada@shop.dev',
      valid: true,
      isDisposable: false,
      isAlias: false,
      isTypo: false,
      isPlusAddressed: false,
      isPersonalEmail: false,
      domainExists: true,
      hasWebsite: true,
      hasMxRecords: true,
      reasons: ['The domain exists and accepts mail.'],
    });
  });

  it('is not valid without domain or MX, and for no other reason', () => {
    expect(judge('a@b.dev', { ...fine, hasMx: false })).toMatchObject({
      valid: false,
      domainExists: true,
      hasMxRecords: false,
      reasons: ['The domain accepts no mail.'],
    });
    expect(judge('a@b.dev', { ...fine, exists: false })).toMatchObject({
      valid: false,
      domainExists: false,
      hasWebsite: false,
      hasMxRecords: false,
      reasons: ['The domain does not exist.'],
    });
    for (const email of ['a@mailinator.com', 'a@x.duck.com', 'a@gmial.com', 'a+b@gmail.com']) {
      expect(judge(email).valid).toBe(true);
    }
  });

  it('is disposable or an alias by its domain or a parent', () => {
    expect(judge('a@mailinator.com').isDisposable).toBe(true);
    expect(judge('a@x.y.mailinator.com').isDisposable).toBe(true);
    expect(judge('a@notmailinator.com').isDisposable).toBe(false);
    expect(judge('a@x.duck.com').isAlias).toBe(true);
  });

  it('has one reason for each finding', () => {
    const { reasons, isPlusAddressed, isPersonalEmail } = judge('a+b@gmail.com');
    expect({ isPlusAddressed, isPersonalEmail }).toEqual({
      isPlusAddressed: true,
      isPersonalEmail: true,
    });
    expect(reasons).toHaveLength(2);
  });
});

describe('typing errors', () => {
  it.each([
    ['ada@gmial.com', 'ada@gmail.com'],
    ['ada@gmai.com', 'ada@gmail.com'],
    ['ada@gmaill.com', 'ada@gmail.com'],
    ['ada@hotnail.com', 'ada@hotmail.com'],
    ['gmial.com@gmial.com', 'gmial.com@gmail.com'],
  ])('%s means %s', (email, meant) => {
    expect(judge(email)).toMatchObject({ isTypo: true, suggestedEmail: meant });
  });

  it.each(['a@gmail.com', 'a@ymail.com', 'a@mail.com', 'a@email.com', 'a@gmmial.com', 'a@ge.com'])(
    '%s is none',
    (email) => {
      expect(judge(email).isTypo).toBe(false);
      expect(judge(email)).not.toHaveProperty('suggestedEmail');
    },
  );

  it('is none for any personal domain', () => {
    for (const domain of personalDomains) expect(judge(`a@${domain}`).isTypo).toBe(false);
  });

  it('is one edit for every single edit, and never for none', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...popularDomains),
        fc.nat(),
        fc.constantFrom('x', 'q', '-'),
        (word, position, letter) => {
          const at = position % word.length;
          const [before, here, after] = [word.slice(0, at), word[at]!, word.slice(at + 1)];
          expect(isOneEditAway(`${before}${letter}${here}${after}`, word)).toBe(true);
          expect(isOneEditAway(`${before}${after}`, word)).toBe(true);
          expect(isOneEditAway(`${before}${letter}${after}`, word)).toBe(letter !== here);
          if (after === '') return;
          const swapped = `${before}${after[0]}${here}${after.slice(1)}`;
          expect(isOneEditAway(swapped, word)).toBe(swapped !== word);
          expect(isOneEditAway(`${letter}${letter}${word}`, word)).toBe(false);
        },
      ),
    );
  });
});
