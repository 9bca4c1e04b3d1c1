import { describe, expect, it } from 'vitest';
import { fillConfirmLinks, maskConfirmLinks } from '../../../domain/consent/confirm-link.ts';
import { mayMail, nextOptInStep, type OpenOptIn } from '../../../domain/consent/opt-in.ts';
import { builtInMail, optInTexts } from '../../../domain/consent/opt-in-texts.ts';
import { usesConfirmUrl } from '../../../domain/consent/policy.ts';
import { optOutLanguages } from '../../../domain/mail/opt-out-texts.ts';

const now = new Date('2026-11-21T12:00:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);

const open: OpenOptIn = {
  mails: 1,
  counted_at: ago(10),
  mail_wanted: false,
  first_mail_at: ago(10),
  last_mail_at: ago(10),
  reminded_at: null,
  remind_after: 60,
  expire_after: 100,
  created_at: ago(11),
};

describe('the next step of an open request', () => {
  const stepOf = (more: Partial<OpenOptIn>) => nextOptInStep({ ...open, ...more }, now);

  it('is its mail, its reminder, its end, or to wait for what comes first', () => {
    expect(stepOf({ mail_wanted: true })).toEqual({ kind: 'mail' });
    const until = new Date(now.getTime() + 50_000);
    expect(stepOf({})).toEqual({ kind: 'wait', what: 'reminder', until });
    expect(stepOf({ first_mail_at: ago(60) })).toEqual({ kind: 'remind' });
    expect(stepOf({ last_mail_at: ago(100) })).toEqual({ kind: 'expire' });
  });

  it('is the end where there is no reminder, or no more mail', () => {
    const end = { kind: 'wait', what: 'end', until: new Date(now.getTime() + 90_000) };
    expect(stepOf({ remind_after: null })).toEqual(end);
    expect(stepOf({ reminded_at: ago(1) })).toEqual(end);
    expect(stepOf({ mails: 5 })).toEqual(end);
    const unsent = { first_mail_at: null, last_mail_at: null, created_at: ago(100) };
    expect(stepOf(unsent)).toEqual({ kind: 'expire' });
  });
});

it('an address gets one mail an hour, and five', () => {
  expect(mayMail({ mails: 0, counted_at: null }, now)).toBe(true);
  expect(mayMail({ mails: 1, counted_at: ago(3599) }, now)).toBe(false);
  expect(mayMail({ mails: 4, counted_at: ago(3600) }, now)).toBe(true);
  expect(mayMail({ mails: 5, counted_at: ago(9999) }, now)).toBe(false);
});

describe('the link of a mail', () => {
  const placeholder = 'f'.repeat(64);

  it('is masked where it is stored, and gets the token where it was', () => {
    const text = `/confirm/${placeholder} and ?to=%2Fconfirm%2F${placeholder}`;
    const stored = maskConfirmLinks(text, placeholder);
    expect(stored).toBe('/confirm/*** and ?to=%2Fconfirm%2F***');
    expect(fillConfirmLinks(stored, '$&')).toBe('/confirm/$& and ?to=%2Fconfirm%2F$&');
  });

  it('is nowhere but where the template has it', () => {
    const stored = maskConfirmLinks(`/confirm/*** /CONFIRM/***`, placeholder);
    expect(fillConfirmLinks(stored, 'secret')).not.toContain('secret');
  });

  it('is known in a template as a name in braces', () => {
    expect(usesConfirmUrl('<a href="{{ confirmUrl }}">')).toBe(true);
    expect(usesConfirmUrl('{% assign u = confirmUrl %}')).toBe(true);
    expect(usesConfirmUrl('confirmUrl {{ confirmUrls }} {{ name }}')).toBe(false);
  });
});

describe('the built-in mail', () => {
  it('is there in every language of the pages', () => {
    for (const language of optOutLanguages) expect(optInTexts(language).language).toBe(language);
    expect(optInTexts('xx').language).toBe('en');
  });

  it('writes names as text', () => {
    const given = { project: 'A & $1', isOfMail: true, topics: ['<b>'], url: 'https://x.test/' };
    const { body } = builtInMail(optInTexts('en'), given);
    expect(body).toContain('A &amp; $1');
    expect(body).toContain('<li>&lt;b&gt;</li>');
  });
});
