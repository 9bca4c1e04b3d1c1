import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { encodeSkeleton } from '../../../providers/mail/mime-skeleton.ts';
import { CompiledTemplate } from '../../../domain/template/render.ts';

const sampleRecipient = {
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
};
const link = 'https://api.test/manage/';
const template = {
  texts: ['.Hello ', ',\n.x=', ` ${link}`, `From ${'.'.repeat(300)}`],
  slots: [0, 1, 'contactId' as const],
};
const skeleton = encodeSkeleton(
  {
    values: new CompiledTemplate(''),
    body: template,
    html: template,
    text: template,
    pixel: 9,
    fixedLinks: new Map(),
    links: new Map(),
    headers: [{ name: 'X-Link', value: link + sampleRecipient.contactId }],
    hasValuesInLinks: false,
    plainSlots: [],
  },
  { from: { name: 'Shop', address: 'hi@shop.test' }, replyTo: null, sampleRecipient },
);

function messageOf(values: readonly [string, string], number = 1): Buffer {
  return skeleton.messageFor({
    to: `${number}@x.test`,
    subject: 'Hi',
    date: new Date('2026-11-21T08:30:01.000Z'),
    contactId: `${number}`.padStart(36, '0'),
    emailId: sampleRecipient.emailId,
    text: (slot) => values[slot] ?? '',
    html: (slot) => values[slot] ?? '',
  });
}

const contentOf = (values: readonly [string, string], number = 1) =>
  `.Hello ${values[0]},\n.x=${values[1]} ${link}${`${number}`.padStart(36, '0')}From ${'.'.repeat(300)}`;

describe('a message of a campaign', () => {
  it('holds any values, in short lines of which none begins with a dot or From', async () => {
    const value = fc
      .array(
        fc.constantFrom('.', 'From ', '=', '.=', ' ', 'a', '&amp;', 'ä', '😀', 'x'.repeat(71)),
        {
          maxLength: 200,
        },
      )
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.tuple(value, value), async (values) => {
        const raw = messageOf(values);
        const lines = raw.toString('latin1').split('\r\n');
        expect(lines.filter((line) => /^\.|^From |[^ -~]/.test(line) || line.length > 76)).toEqual(
          [],
        );
        const { html, text } = await PostalMime.parse(raw);
        expect(html?.trimEnd()).toBe(contentOf(values));
        expect(text?.trimEnd()).toBe(contentOf(values));
      }),
    );
  });

  it('stays as it is while others are made', async () => {
    const numbers = Array.from({ length: 600 }, (_, number) => number);
    const messages = numbers.map((number) => messageOf([`${number}`.repeat(100), 'b'], number));
    for (const [number, raw] of messages.entries()) {
      const { html, to } = await PostalMime.parse(raw);
      expect(to?.[0]?.address).toBe(`${number}@x.test`);
      expect(html?.trimEnd()).toBe(contentOf([`${number}`.repeat(100), 'b'], number));
    }
  });
});
