/** What a project may send in a month, and how it is counted. */

/** The kinds of mail that are limited each on its own. */
export const categories = ['workflows', 'campaigns', 'transactional', 'inbound'] as const;
export type Category = (typeof categories)[number];

const categoryOfSource: Record<string, Category> = {
  WORKFLOW: 'workflows',
  CAMPAIGN: 'campaigns',
  TRANSACTIONAL: 'transactional',
  INBOUND: 'inbound',
};

export function categoryOf(sourceType: string): Category {
  const category = categoryOfSource[sourceType];
  if (!category) throw new Error(`Mail of an unknown source: ${sourceType}`);
  return category;
}

/** What a message counts. As `billed_units` in the database. */
export function unitsOf({ attachments }: { attachments: number }): number {
  return attachments > 0 ? 2 : 1;
}

/** From this share of a limit on, in percent, its administrators are warned. */
export const warningPercent = 80;

/** A project's own limits in emails a month; null: none. */
export type OwnLimits = Record<Category, number | null>;

/** The limit a category of mail falls under; null: none. */
export interface Cap {
  limit: number;
  /** What counts against it. */
  counts: readonly Category[];
}

/**
 * The limit of a category: with a subscription, or with limits of its own, the one of the
 * category; else the free tier, over all categories.
 */
export function capOf(
  category: Category,
  project: { subscription: string | null; limits: OwnLimits },
  freeTierPerMonth: number,
): Cap | null {
  const hasOwn = Object.values(project.limits).some((limit) => limit !== null);
  if (project.subscription === null && !hasOwn) {
    return { limit: freeTierPerMonth, counts: categories };
  }
  const limit = project.limits[category];
  return limit === null ? null : { limit, counts: [category] };
}

/** How far a limit is used up. */
export function usedUp(cap: Cap | null, usage: Record<Category, number>) {
  const used = cap ? cap.counts.reduce((sum, category) => sum + usage[category], 0) : 0;
  const percent = cap ? percentOf(used, cap.limit) : 0;
  return { isWarning: percent >= warningPercent, isBlocked: percent >= 100 };
}

/** 0 to 100 and beyond. */
export function percentOf(usage: number, limit: number): number {
  return limit === 0 ? 100 : (usage / limit) * 100;
}

/** The month of a moment in UTC: from its first moment to that of the next. */
export function monthOf(at: Date): { start: Date; end: Date } {
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}
