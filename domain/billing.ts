/** Monthly sending limits of a project, and the units of mail. */

/** Categories of mail, each with its own limit. */
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

/** Returns the units in which a message is billed, for the column `billed_units`. */
export function unitsOf({ attachments }: { attachments: number }): number {
  return attachments > 0 ? 2 : 1;
}

/** Percentage of a limit at which the administrators are warned. */
export const warningPercent = 80;

/** A project's own limits in emails a month; null: the category has no limit of its own. */
export type OwnLimits = Record<Category, number | null>;

/** The limit that applies to a category of mail. */
export interface Cap {
  limit: number;
  /** The categories whose mail counts towards this limit. */
  counts: readonly Category[];
}

/**
 * Returns the limit for a category of mail; null: no limit. A project with a subscription or with
 * limits of its own has one limit for each category. Other projects share one limit of the free
 * tier among all categories.
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

/**
 * Returns whether the project has used enough of a limit for a warning, and whether more mail is
 * blocked.
 */
export function usedUp(cap: Cap | null, usage: Record<Category, number>) {
  const used = cap ? cap.counts.reduce((sum, category) => sum + usage[category], 0) : 0;
  const percent = cap ? percentOf(used, cap.limit) : 0;
  return { isWarning: percent >= warningPercent, isBlocked: percent >= 100 };
}

/**
 * Returns the used part of a limit in percent, which may exceed 100. A limit of 0 always counts as
 * used up.
 */
export function percentOf(usage: number, limit: number): number {
  return limit === 0 ? 100 : (usage / limit) * 100;
}

/** Returns the UTC month of a moment: from its start to the start of the next month. */
export function monthOf(at: Date): { start: Date; end: Date } {
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}
