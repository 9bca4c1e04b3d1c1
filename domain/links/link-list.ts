import { limits } from '../limits.ts';
import type { ContentLink } from './content-links.ts';

/** The number of clicks on a link. `emails`: messages with such a click, each counted once. */
export interface LinkCounts {
  clicks: number;
  emails: number;
  humanClicks: number;
  humanEmails: number;
  machineClicks: number;
  firstAt: Date | null;
  lastAt: Date | null;
}

export interface ClickedLink extends LinkCounts {
  linkId: string;
  /** null: it stands for several links. */
  url: string | null;
}

export interface ListedLink extends ClickedLink {
  positions: readonly number[];
}

/** The id of the item that stands for all links beyond the counted ones. */
export const otherLinkId = 'other';

const none: LinkCounts = {
  clicks: 0,
  emails: 0,
  humanClicks: 0,
  humanEmails: 0,
  machineClicks: 0,
  firstAt: null,
  lastAt: null,
};

/**
 * Lists the links of a content and all clicked ones. Those that most people clicked come first; what
 * does not fit is one item at the end.
 */
export function listLinks(
  content: readonly ContentLink[],
  clicked: readonly ClickedLink[],
): ListedLink[] {
  const links = new Map<string, ListedLink>(
    clicked.map((link) => [link.linkId, { ...link, positions: [] }]),
  );
  const other = links.get(otherLinkId);
  links.delete(otherLinkId);
  for (const { linkId, url, positions } of content) {
    links.set(linkId, { ...none, ...links.get(linkId), linkId, url, positions });
  }
  const sorted = [...links.values()].sort(byPeople);
  const listed = sorted.slice(0, limits.linksMax);
  if (other) return [...listed, other];
  // No more than this number of links is counted one by one, so the others have no clicks.
  const isWhole = listed.length === sorted.length;
  return isWhole ? listed : [...listed, { ...none, linkId: otherLinkId, url: null, positions: [] }];
}

function byPeople(a: ListedLink, b: ListedLink): number {
  return (
    b.humanEmails - a.humanEmails ||
    b.emails - a.emails ||
    (a.positions[0] ?? Infinity) - (b.positions[0] ?? Infinity) ||
    (a.linkId < b.linkId ? -1 : 1)
  );
}
