import { limits } from '../limits.ts';
import { cutText, slugOf } from '../text-rules.ts';

/** Maximum number of characters of a slug: the event name also contains `segment.` and `.entry`. */
const slugChars = limits.eventNameChars - 'segment..entry'.length;

/**
 * The part of a segment's event names that identifies it: the slug of its name, or its id if
 * nothing of the name is left. It is cut, so that the event names are not too long to start a
 * workflow.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  // The cut text may end in the `-` before a word.
  return cutText(slugOf(name), slugChars).replace(/-$/, '') || id;
}
