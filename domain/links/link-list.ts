import { limits } from '../limits.ts';
import type { ContentLink } from './content-links.ts';

/** The clicks on a link. `emails`: number of messages with at least one such click. */
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
  /** null: the item stands for several links. */
  url: string | null;
}

export interface ListedLink extends ClickedLink {
  positions: readonly number[];
}

/** The id of the item for all links that have no count of their own. */
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

/** Returns the links of several contents, each once, with its positions in all of them. */
export function mergeContents(contents: readonly (readonly ContentLink[])[]): ContentLink[] {
  const links = new Map<string, ContentLink>();
  for (const link of contents.flat()) {
    const positions = new Set([...(links.get(link.linkId)?.positions ?? []), ...link.positions]);
    links.set(link.linkId, { ...link, positions: [...positions].sort((a, b) => a - b) });
  }
  return [...links.values()];
}

/**
 * Lists the links of a content and all clicked links. The link that the most people clicked comes
 * first. Links beyond the maximum are combined in one item at the end.
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
  // Clicks are counted separately for at most `linksMax` links. So the last item of a longer list
  // stands for the other links.
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
