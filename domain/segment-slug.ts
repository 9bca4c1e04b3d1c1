/**
 * The part of a segment's event names that stands for the segment: its name in lower case, cut
 * down to letters, digits, `_` and `-`, with `-` for space. `VIP Customers!` is `vip-customers`. A
 * name without any of these is told by the segment's id.
 */
export function segmentSlug({ id, name }: { id: string; name: string }): string {
  const slug = name
    .normalize('NFC')
    .toLowerCase()
    // A mark belongs to the letter before it.
    .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
    .replaceAll(/[\s-]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? id : slug;
}
