import { readTemplate, type TemplatePiece } from '../template/source.ts';
import { findAnchors, readTarget } from './anchors.ts';
import { linkIdOf, withoutLiquid } from './link-ids.ts';
import { trackedTarget } from './tracking.ts';

/** A tracked link of a template. */
export interface ContentLink {
  linkId: string;
  /** The address as the author wrote it, with variables. */
  url: string;
  /** The positions at which the link occurs among the tracked links, counted from 1. */
  positions: number[];
}

/** Returns the tracked links of a template, in order. Links with the same address are one item. */
export function contentLinks(source: string): ContentLink[] {
  const links = new Map<string, ContentLink>();
  let position = 0;
  for (const { from, to, value } of findAnchors(withoutLiquid(source)).anchors) {
    const written = source.slice(from, to);
    if (!isTracked(written, value)) continue;
    position += 1;
    const url = readTarget(written) ?? written;
    const linkId = linkIdOf(url);
    const link = links.get(linkId);
    if (link) link.positions.push(position);
    else links.set(linkId, { linkId, url, positions: [position] });
  }
  return [...links.values()];
}

/**
 * Returns true if links with this address will be tracked. An address that begins with a variable
 * is assumed to be `http(s)`.
 * @param masked the address without placeholders and tags
 */
function isTracked(written: string, masked: string): boolean {
  if (written === masked) return trackedTarget(written) !== null;
  if (readTarget(masked) === null) return false;
  const first = readTemplate(written).find((piece) => !isTag(piece) && piece.written.trim() !== '');
  if (!first) return false;
  if (first.written.startsWith('{{')) return !ownUrls.has(first.path?.join('.') ?? '');
  return /^https?:\/\//i.test(readTarget(first.written) ?? '');
}

function isTag({ written }: TemplatePiece): boolean {
  return written.startsWith('{%');
}

/** Variables with the address of an opt-out or confirmation page. */
const ownUrls: ReadonlySet<string> = new Set([
  'unsubscribeUrl',
  'subscribeUrl',
  'manageUrl',
  'confirmUrl',
]);
