import { linkIdOf } from '../../domain/links/link-ids.ts';
import type { TrackedLink } from '../../domain/links/tracking.ts';

/** Returns the only link of a mail. */
export function linkTo(target: string): TrackedLink {
  return { target, linkId: linkIdOf(target), linkCount: 1 };
}
