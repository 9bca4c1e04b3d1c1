import { describe, expect, it } from 'vitest';
import { linkTarget, mailSkeleton } from '../../../domain/mail/skeleton.ts';
import { compileTemplate } from '../../../domain/template/render.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

const sampleRecipient = {
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  emailId: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
  mark: 'k3j9q0z8',
};
const utm = { parameters: [['utm_source', 'news'] as const], hosts: ['s.test'] };
const skeleton = (
  body: string,
  messageClass: 'MARKETING' | 'TRANSACTIONAL' = 'MARKETING',
  links: { isTracked?: boolean; hasUtm?: boolean } = {},
) =>
  mailSkeleton({
    template: compileTemplate(body),
    messageClass,
    locale: 'en',
    hasBadge: false,
    apiUrl: 'https://api.test',
    topicKey: null,
    sampleRecipient,
    textOf: (html) => html,
    trackingUrl: links.isTracked === false ? null : 'https://api.test',
    utm: links.hasUtm ? utm : null,
  });

describe('a skeleton', () => {
  it.each([
    ['a tracked address', '<a href="https://s.test/{{plan}}">x</a>'],
    ['text before a link', '{{name}} <a href="https://s.test/">x</a>'],
    ['another attribute', '<a title="{{name}}" href="https://s.test/">x</a>'],
  ])('is made for a value in %s', (_, body) => {
    expect(skeleton(body)).not.toBeNull();
  });

  it.each([
    ['in quotes', '<a href="{{url}}">x</a>'],
    ['in quotes after blanks', "<a href = \n'/a/{{url}}'>x</a>"],
    ['bare', '<a href={{url}} class=x>x</a>'],
    [
      'of a link that is not to be tracked',
      '<a href="https://s.test/{{a}}" data-track=false>x</a>',
    ],
    ['after another attribute', '<a class="b" HREF="mailto:{{url}}">x</a>'],
  ])('is not made for a value in an address that is not tracked: %s', (_, body) => {
    expect(skeleton(body)).toBeNull();
  });

  it.each([
    ['<a href="https://s.test/">{{name}}</a>', true],
    ['<A\nclass="x" href="https://s.test/"><b>{{name}}</b></A>', true],
    ['{{name}} <a href="https://s.test/">x</a> {{name}}', false],
    ['<a href="https://s.test/">x</a> <a>{{name}}', true],
    ['<abbr>{{name}}</abbr>', false],
  ])('knows whether values stand in links: %s', (body, expected) => {
    expect(skeleton(`<html><body>${body}</body></html>`)?.hasValuesInLinks).toBe(expected);
  });

  it.each([
    ['a path', 'https://s.test/{{a}}', true],
    ['a value', 'https://s.test/?x=1&amp;y=b{{a}}?c', true],
    ['a fragment', 'https://s.test/#{{a}}', true],
    ['a host', 'https://{{a}}.s.test/', false],
    ['the end of a host', 'https://s.test{{a}}', false],
    ['the name of a parameter', 'https://s.test/?x=1&amp;{{a}}=1', false],
    ['a whole address', '{{a}}', false],
  ])('with UTM parameters is made or not for a value in %s', (_, address, isMade) => {
    for (const isTracked of [true, false]) {
      const made = skeleton(`<a href="${address}">x</a>`, 'MARKETING', { hasUtm: true, isTracked });
      expect(made?.plainSlots).toEqual(isMade ? [0] : undefined);
    }
  });

  it('takes no longer for what was made to take longer', () => {
    const started = cpuMs();
    for (const piece of [
      '<a ',
      '<a href= ',
      'href',
      'href=',
      'href ',
      '{{a}} href="',
      '</a',
      ' ',
    ]) {
      // Without a footer, whose link would close all open elements.
      skeleton(piece.repeat(190_000 / piece.length), 'TRANSACTIONAL');
      skeleton(`<a href="https://s.test/${piece.replaceAll('"', '').repeat(30_000)}x">x</a>`);
    }
    expect(cpuMs() - started).toBeLessThan(5_000);
  });

  it('leaves a link to the ordinary way that a value makes too long', () => {
    const target = { texts: ['https://s.test/', ''], slots: [0] };
    const to = (value: string) =>
      linkTarget(target, sampleRecipient, { html: [value], text: [value] });
    expect(to('a'.repeat(4_000))).toBe(`https://s.test/${'a'.repeat(4_000)}`);
    expect(to('a'.repeat(4_096))).toBeNull();
  });
});
