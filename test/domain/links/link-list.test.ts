import { expect, it } from 'vitest';
import { type ClickedLink, listLinks, otherLinkId } from '../../../domain/links/link-list.ts';
import { limits } from '../../../domain/limits.ts';

const clicked = (linkId: string, counts: Partial<ClickedLink>): ClickedLink => ({
  linkId,
  url: `https://clicked.test/${linkId}`,
  clicks: 9,
  emails: 0,
  humanClicks: 0,
  humanEmails: 0,
  machineClicks: 0,
  firstAt: new Date(1),
  lastAt: new Date(2),
  ...counts,
});
const written = (linkId: string, ...positions: number[]) => ({
  linkId,
  url: `https://written.test/${linkId}`,
  positions,
});

it('lists first what most people clicked, then what most mails had, then by position', () => {
  const content = [written('a', 1), written('b', 2, 4), written('c', 3), written('d', 5)];
  const counts = [
    clicked('gone', { humanEmails: 1, emails: 3 }),
    clicked('d', { humanEmails: 2, emails: 2 }),
    clicked('c', { humanEmails: 1, emails: 3 }),
    clicked('b', { emails: 7 }),
  ];
  const links = listLinks(content, counts);
  expect(links.map(({ linkId }) => linkId)).toEqual(['d', 'c', 'gone', 'b', 'a']);
  expect(links[2]).toMatchObject({ url: 'https://clicked.test/gone', positions: [] });
  expect(links[3]).toMatchObject({ url: 'https://written.test/b', positions: [2, 4], emails: 7 });
  expect(links[4]).toEqual({
    ...written('a', 1),
    clicks: 0,
    emails: 0,
    humanClicks: 0,
    humanEmails: 0,
    machineClicks: 0,
    firstAt: null,
    lastAt: null,
  });
});

it('lists 500 links, and the others together at the end', () => {
  const content = Array.from({ length: limits.linksMax + 1 }, (_, n) => written(`w${n}`, n + 1));
  expect(listLinks(content.slice(1), [])).toHaveLength(limits.linksMax);
  const links = listLinks(content, [clicked(`w${limits.linksMax}`, { emails: 1 })]);
  expect(links).toHaveLength(limits.linksMax + 1);
  expect(links[0]).toMatchObject({ linkId: `w${limits.linksMax}` });
  expect(links.at(-1)).toMatchObject({ linkId: otherLinkId, url: null, positions: [], clicks: 0 });
});

it('lists clicks that were counted together last, however many they are', () => {
  const other = clicked(otherLinkId, { url: null, emails: 800, humanEmails: 700 });
  const links = listLinks([written('a', 1)], [other]);
  expect(links.map(({ linkId }) => linkId)).toEqual(['a', otherLinkId]);
  expect(links[1]).toMatchObject({ emails: 800, humanEmails: 700, clicks: 9 });
});
