import { describe, expect, it } from 'vitest';
import { contentLinks } from '../../../domain/links/content-links.ts';
import { linkIdOf } from '../../../domain/links/link-ids.ts';

const urlsIn = (source: string) => contentLinks(source).map(({ url }) => url);

describe('the links of a template', () => {
  it('have the position of each place where they are, those with the same address together', () => {
    const source =
      '<a href="https://a.test/?x=1&amp;u={{id}}">a</a><a href="mailto:ada@shop.test">m</a>' +
      '<a href="https://b.test/">b</a><a href="https://a.test/?x=1&u={{id}}">a again</a>';
    const [a, b] = ['https://a.test/?x=1&u={{id}}', 'https://b.test/'];
    expect(contentLinks(source)).toEqual([
      { linkId: linkIdOf(a), url: a, positions: [1, 3] },
      { linkId: linkIdOf(b), url: b, positions: [2] },
    ]);
  });

  it.each([
    ['a whole variable', '{{ url }}'],
    ['a variable with a filter', '{{ url | append: "?x=1" }}'],
    [
      'a condition around the address',
      '{% if big %}https://a.test/{% else %}http://b.test/{% endif %}',
    ],
    ['a placeholder in the host', 'https://{{shop}}.a.test/'],
    ['a reference of HTML in a placeholder', 'https://a.test/{{ name&nbsp;}}'],
  ])('contain %s', (_, url) => {
    expect(urlsIn(`<a href='${url}'>x</a>`)).toEqual([url]);
  });

  it.each([
    ['the opt-out link', '{{unsubscribeUrl}}'],
    ['the page of preferences, under a condition', '{% if x %}{{ manageUrl }}{% endif %}'],
    ['a mail address with a variable', 'mailto:{{contact.email}}'],
    ['a path', '/sale/{{id}}'],
    ['an anchor', '#top'],
    ['nothing but a tag', '{% if x %}{% endif %}'],
    ['an address that browsers decode otherwise', 'https://a.test/&nbsp;{{id}}'],
  ])('do not contain %s', (_, url) => {
    expect(urlsIn(`<a href="${url}">x</a>`)).toEqual([]);
  });

  it('do not contain those with data-track="false", in comments or in a placeholder', () => {
    const link = '<a href="https://a.test/{{id}}">';
    expect(urlsIn(`<a data-track="false" href="https://a.test/{{id}}">x</a>`)).toEqual([]);
    expect(
      urlsIn(`<!-- ${link} -->{{ "${link.replaceAll('"', "'").replaceAll('}}', '')}" }}`),
    ).toEqual([]);
  });
});
