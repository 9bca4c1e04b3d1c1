import { limits } from '../limits.ts';
import { cutText } from '../text-rules.ts';

/** What is left of the length of an event name beside `segment.` and `.entry`. */
const slugChars = limits.eventNameChars - 'segment..entry'.length;

/**
 * The part of a segment's event names that stands for the segment: its name in lower case, cut
 * down to letters, digits, `_` and `-`, with `-` for space. `VIP Customers!` is `vip-customers`. A
 * name without any of these is told by the segment's id. It is cut so that the event names are no
 * longer than those that can start a workflow.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  const slug = name
    .normalize('NFC')
    .toLowerCase()
    // A mark belongs to the letter before it.
    .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
    .replaceAll(/[\s-]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  // Without the space before the word that was cut.
  return cutText(slug, slugChars).replace(/-$/, '') || id;
}
