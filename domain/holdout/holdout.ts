/**
 * A hold-out: some contacts get no marketing mail, so that the effect of this mail can be measured.
 */

/** Number of slots over which the contacts of a project are spread evenly. */
export const holdoutSlots = 10_000;

/**
 * The marketing mail that held out contacts do not get: all marketing mail, or only the mail of
 * certain topics or workflows.
 */
export type HoldoutScope =
  | 'marketing'
  | { topicIds: readonly string[] }
  | { workflowIds: readonly string[] };

export interface Holdout {
  /** Percentage of the contacts that are held out, from 0 to 20 in steps of 0.01. */
  percent: number;
  scope: HoldoutScope;
  /** After this time, no contact is held out; null: without end. */
  endsAt: Date | null;
  /** Returns the slot of a contact: an integer from 0 to `holdoutSlots` − 1. */
  slotOf(contactId: string): number;
}

/** A message to which a hold-out may apply. */
export interface HoldableMail {
  contact_id: string;
  topic_id: string | null;
  /** The workflow that sent the mail; null or absent: a campaign sent it. */
  workflow_id?: string | null;
}

/** Returns true if a message must not be sent because its contact is held out. */
export function isHeldOut(mail: HoldableMail, holdout: Holdout, now: Date): boolean {
  const { percent, scope, endsAt, slotOf } = holdout;
  if ((endsAt && endsAt <= now) || !isInScope(mail, scope)) return false;
  return slotOf(mail.contact_id) < slotsOf(percent);
}

/** Returns how many slots are held out: a contact is held out if its slot is below this number. */
export function slotsOf(percent: number): number {
  return Math.round((percent * holdoutSlots) / 100);
}

function isInScope(mail: HoldableMail, scope: HoldoutScope): boolean {
  if (scope === 'marketing') return true;
  const [id, ids] =
    'topicIds' in scope ? [mail.topic_id, scope.topicIds] : [mail.workflow_id, scope.workflowIds];
  return !!id && ids.includes(id);
}

/**
 * Returns by how many percent the rate of the contacts who got mail exceeds the rate of the held
 * out contacts; null if the rate of the held out contacts is 0.
 */
export function liftOf(heldOutRate: number, reachedRate: number): number | null {
  return heldOutRate === 0 ? null : ((reachedRate - heldOutRate) / heldOutRate) * 100;
}
