import { limits } from '../limits.ts';
import { cutText } from '../text-rules.ts';

/** Characters available in an event name beside `segment.` and `.entry`. */
const slugChars = limits.eventNameChars - 'segment..entry'.length;

/**
 * The part of a segment's event names that identifies it: its name in lower case, reduced to
 * letters, digits, `_` and `-`, with `-` for space. `VIP Customers!` is `vip-customers`. A name
 * without any of these uses the segment's id. It is cut to the longest event name that can start a
 * workflow.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  const slug = name
    .normalize('NFC')
    .toLowerCase()
    // A combining mark belongs to the letter before it.
    .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
    .replaceAll(/[\s-]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  // Cut without the space before a shortened word.
  return cutText(slug, slugChars).replace(/-$/, '') || id;
}
