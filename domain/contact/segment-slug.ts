import { limits } from '../limits.ts';
import { cutText, slugOf } from '../text-rules.ts';

/** Maximum number of characters of a slug: the event name also contains `segment.` and `.entry`. */
const slugChars = limits.eventNameChars - 'segment..entry'.length;

/**
 * Returns the part of a segment's event names that identifies the segment: the slug of its name, or
 * its id if the slug is empty. A long slug is cut, because a workflow's trigger limits the length
 * of event names.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  // The cut text may end in the `-` before a word.
  return cutText(slugOf(name), slugChars).replace(/-$/, '') || id;
}
