import fc from 'fast-check';
import { LinkifyIt } from 'linkify-it';
import { describe, expect, it } from 'vitest';
import {
  type AccountMail,
  invitationMail,
  limitWarningMail,
  paymentFailedMail,
} from '../../../domain/mail/account-mail.ts';
import { withoutLinks } from '../../../domain/text-rules.ts';
import { textFromHtml } from '../../../providers/mail/mime.ts';

/** Finds the links that a mail program would show in plain text, according to linkify-it. */
const finder = new LinkifyIt().set({ fuzzyIP: true });
const linksIn = (text: string) => finder.match(text)?.map(({ url }) => url) ?? [];

const ours = 'https://app.shop.example';
const by = 'ada@shop.example';
const mailsAbout = (project: string): AccountMail[] => [
  invitationMail({ project, by: null, role: 'ADMIN', link: ours }),
  limitWarningMail({ project, category: 'campaigns', limit: 100, usage: 90, link: ours }),
  paymentFailedMail({ project, link: ours }),
];

const hostile = [
  'Visit https://evil.example',
  'https://evil.example/login?next=a',
  '//evil.example',
  'www.evil.com',
  'Your account is locked: evil.com/unlock',
  'mailto:eve@evil.com',
  'eve@evil.com',
  '<a href="https://evil.example">Open</a>',
  '[Open](https://evil.example)',
  'https:\\\\evil.example',
  'ｈｔｔｐｓ：／／ｅｖｉｌ．ｃｏｍ',
  'evil。com',
  'evil｡com',
  'evil․com',
  '192.0.2.1',
  'tel:+15550100',
  'xn--e1afmkfd.com',
  'пример.рф',
];

describe('the name of a project in mail of the platform', () => {
  it.each(hostile)('%s is neither a link nor markup', (name) => {
    for (const { subject, html } of mailsAbout(name)) {
      expect(linksIn(subject)).toEqual([]);
      // The text part is made from the HTML, and has the link of the button beside its label.
      expect(new Set(linksIn(textFromHtml(html)))).toEqual(new Set([ours]));
      expect(html.match(/<a /g)).toHaveLength(1);
      expect(html).not.toMatch(/evil[.。]|evil%|:\/\/e/);
    }
  });

  it('is no link, whatever it is made of', () => {
    const parts = [
      'https://',
      'www.',
      'evil',
      '.',
      '.com',
      '/',
      '//',
      ':',
      '@',
      '。',
      ' ',
      'mailto:',
    ];
    const name = fc.array(fc.oneof(fc.constantFrom(...parts), fc.string({ unit: 'grapheme' })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(name, (given) => {
        const shown = withoutLinks(given.join(''));
        expect(linksIn(`the project “${shown}” with`)).toEqual([]);
        expect(withoutLinks(shown)).toBe(shown);
      }),
    );
  });

  it('stays as it is where it is an ordinary one', () => {
    const names = [
      'My shop',
      "St. Mary's Inc.",
      'Ada & Co. KG',
      'Søren’s Bücher – 24/7',
      '日本の店',
    ];
    expect(names.map(withoutLinks)).toEqual(names);
    expect(withoutLinks('Visit https://evil.example')).toBe('Visit https evil example');
    const { subject, html } = invitationMail({ project: 'A & B', by, role: 'ADMIN', link: ours });
    expect(subject).toBe('Invitation to the project “A & B”');
    expect(html).toContain('ada@shop.example invites you to the project “A &amp; B”');
  });

  it('goes with the address of who invites, unless that could be read as a link', () => {
    const from = (address: string) =>
      invitationMail({ project: 'Shop', by: address, role: 'ADMIN', link: ours }).html;
    expect(from('http://evil.com/?a@shop.example')).toContain('An administrator invites you');
    expect(from('"evil.com/x"@shop.example')).toContain('An administrator invites you');
  });
});

it('names a limit of 0 as used up', () => {
  const given = { project: 'Shop', category: 'campaigns', limit: 0, usage: 0, link: ours };
  expect(limitWarningMail(given).subject).toContain('has used 100 % of its limit');
});
