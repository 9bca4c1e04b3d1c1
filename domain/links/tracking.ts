import { fromBase64Url, toBase64Url } from '../base64-url.ts';
import { escapeHtml } from '../template/html.ts';
import { type Anchor, findAnchors, readTarget } from './anchors.ts';
import { linkIdOf } from './link-ids.ts';

/** A tracked link of one message. */
export interface TrackedLink {
  target: string;
  /** The id that `linkIdOf` returns. */
  linkId: string;
  /**
   * Number of different links of the message. A client that follows all of them at once is a
   * machine.
   */
  linkCount: number;
}

export interface TrackingLinks {
  pixelUrl: string;
  /** Returns the URL that counts a click and then redirects to the target. */
  clickUrl(link: TrackedLink): string;
}

/**
 * Returns a short signature of a text, always the same for the same text. A signature cannot be
 * made without the key.
 */
export type Sign = (text: string) => string;

export function trackingLinks(apiUrl: string, emailId: string, sign: Sign): TrackingLinks {
  return {
    pixelUrl: `${apiUrl}/t/o/${emailId}.gif?s=${sign(emailId)}`,
    clickUrl: (link) =>
      `${apiUrl}/t/c/${emailId}?u=${toBase64Url(link.target)}&l=${nameOf(link)}` +
      `&s=${sign(clickSignatureText(emailId, link))}`,
  };
}

/**
 * Returns a tracked link from the parameters of its URL, with the text that its signature covers;
 * null: the parameters are malformed.
 */
export function readTrackedLink(
  emailId: string,
  { u, l }: { u: string; l: string },
): { link: TrackedLink; signed: string } | null {
  const target = fromBase64Url(u);
  const [, linkId, count] = /^([0-9a-f]{16})\.(\d{1,6})$/.exec(l) ?? [];
  if (target === null || !linkId) return null;
  const link = { target, linkId, linkCount: Number(count) };
  return { link, signed: clickSignatureText(emailId, link) };
}

function nameOf({ linkId, linkCount }: TrackedLink): string {
  return `${linkId}.${linkCount}`;
}

/**
 * Returns the text that a link's signature covers. The text contains the message id, so the
 * signature is invalid for other messages.
 */
export function clickSignatureText(emailId: string, link: TrackedLink): string {
  return `${emailId} ${nameOf(link)} ${link.target}`;
}

/**
 * Replaces the links of HTML by tracked links, where tracking applies, and adds a pixel at the end.
 * @param linkIds the ids of all links, in order; null: no link of the template has variables
 */
export function withTracking(
  html: string,
  links: TrackingLinks,
  linkIds: readonly string[] | null = null,
): string {
  // The pixel is not hidden by `display:none`, because some mail programs do not load hidden
  // images.
  const pixel = `<img src="${escapeHtml(links.pixelUrl)}" width="1" height="1" alt="" style="border:0;width:1px;height:1px;">`;
  const found = findWebLinks(html);
  const idOf = ({ target, index }: WebLink) => linkIds?.[index] ?? linkIdOf(target);
  const linkCount = new Set(found.links.map(idOf)).size;
  return replaceLinks(
    html,
    found,
    (link) => links.clickUrl({ target: link.target, linkId: idOf(link), linkCount }),
    pixel,
  );
}

/**
 * Replaces the URLs of all links that tracking may replace.
 * @param replace returns the new URL; null: the link stays
 */
export function withLinks(html: string, replace: (target: string) => string | null): string {
  return replaceLinks(html, findWebLinks(html), ({ target }) => replace(target), '');
}

/** A link that tracking may replace. */
interface WebLink extends Anchor {
  target: string;
  /** The position of the link among all links. */
  index: number;
}

/**
 * Finds the links that tracking may replace. Opt-out and confirmation links, links that are not
 * `http(s)`, and links with `data-track="false"` are left out.
 */
function findWebLinks(html: string): { links: WebLink[]; end: number } {
  const { anchors, end } = findAnchors(html);
  const links = anchors.flatMap((anchor, index) => {
    const target = trackedTarget(anchor.value);
    return target === null ? [] : { ...anchor, target, index };
  });
  return { links, end };
}

/** Replaces only the given links. All other text stays as it is, including broken HTML. */
function replaceLinks(
  html: string,
  { links, end }: ReturnType<typeof findWebLinks>,
  replace: (link: WebLink) => string | null,
  atEnd: string,
): string {
  const edits = links.flatMap((link) => {
    const replaced = replace(link);
    if (replaced === null) return [];
    const url = escapeHtml(replaced);
    return [{ from: link.from, to: link.to, text: link.quoted ? url : `"${url}"` }];
  });
  let edited = '';
  let done = 0;
  // Links may come after the position `end`, so the edits are sorted.
  const inOrder = [...edits, { from: end, to: end, text: atEnd }].sort((a, b) => a.from - b.from);
  for (const { from, to, text } of inOrder) {
    edited += html.slice(done, from) + text;
    done = to;
  }
  return edited + html.slice(done);
}

const ownLink =
  /\/(?:(?:unsubscribe|subscribe|manage)\/[0-9a-f]{8}-[0-9a-f]{4}-|confirm\/[0-9a-f]{64})/i;

/**
 * Maximum number of characters of a URL that is tracked. Base64url makes it a third longer, and
 * proxies such as nginx and Apache reject request lines of more than 8 KB.
 */
export const trackedCharsMax = 4_096;

/**
 * Returns the target of a link; null when the link must not be tracked. `value`: as written in the
 * HTML.
 */
export function trackedTarget(value: string): string | null {
  const target = readTarget(value);
  if (target === null) return null;
  if (target.length > trackedCharsMax) return null;
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return null;
  return ownLink.test(target) ? null : target;
}
