import { limits } from '../limits.ts';
import { cutText } from '../text-rules.ts';

/** Maximum number of characters of a slug: the event name also contains `segment.` and `.entry`. */
const slugChars = limits.eventNameChars - 'segment..entry'.length;

/**
 * The part of a segment's event names that identifies it: its name in lower case, reduced to
 * letters, digits, `_` and `-`, with `-` for space. `VIP Customers!` becomes `vip-customers`. If
 * nothing of the name is left, the part is the segment's id. It is cut, so that the event names are
 * not too long to start a workflow.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  const slug = name
    .normalize('NFC')
    .toLowerCase()
    // A combining mark belongs to the letter before it.
    .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
    .replaceAll(/[\s-]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  // The cut text may end in the `-` before a word.
  return cutText(slug, slugChars).replace(/-$/, '') || id;
}
