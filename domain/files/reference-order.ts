/** An object that refers to others by id. */
interface Referring {
  id: string;
  refersTo: readonly string[];
}

/**
 * Sorts objects so that each comes after those to which it refers. Objects that refer to themselves
 * through others have no such place, and are in `circular`.
 */
export function inReferenceOrder<Item extends Referring>(
  items: readonly Item[],
): { ordered: Item[]; circular: Item[] } {
  const users = new Map<string, Item[]>();
  const open = new Map<string, number>();
  const known = new Set(items.map(({ id }) => id));
  for (const item of items) {
    const named = new Set(item.refersTo.filter((id) => known.has(id)));
    open.set(item.id, named.size);
    for (const id of named) users.set(id, [...(users.get(id) ?? []), item]);
  }
  const ordered = items.filter(({ id }) => open.get(id) === 0);
  // The list grows while it is read.
  for (const { id } of ordered) {
    for (const user of users.get(id) ?? []) {
      const left = (open.get(user.id) ?? 0) - 1;
      open.set(user.id, left);
      if (left === 0) ordered.push(user);
    }
  }
  const placed = new Set(ordered);
  return { ordered, circular: items.filter((item) => !placed.has(item)) };
}
