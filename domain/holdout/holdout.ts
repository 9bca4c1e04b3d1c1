/** A hold-out: a part of the contacts gets no marketing mail, so that its effect can be measured. */

/** The contacts of a project are spread evenly over so many slots. */
export const holdoutSlots = 10_000;

/** The marketing mail that a hold-out concerns: all, or that of topics or workflows. */
export type HoldoutScope =
  | 'marketing'
  | { topicIds: readonly string[] }
  | { workflowIds: readonly string[] };

export interface Holdout {
  /** From 0 to 20, in steps of 0.01. */
  percent: number;
  scope: HoldoutScope;
  /** From this time on no contact is held out; null: no end is set. */
  endsAt: Date | null;
  /** Returns the slot of a contact: an integer from 0, less than `holdoutSlots`. */
  slotOf(contactId: string): number;
}

/** A message that the send policy concerns. */
export interface HoldableMail {
  contact_id: string;
  topic_id: string | null;
  /** The workflow that sent it; null or absent: it is mail of a campaign. */
  workflow_id?: string | null;
}

/** Returns true if a message must not be sent because its contact is held out. */
export function isHeldOut(mail: HoldableMail, holdout: Holdout, now: Date): boolean {
  const { percent, scope, endsAt, slotOf } = holdout;
  if ((endsAt && endsAt <= now) || !isInScope(mail, scope)) return false;
  return slotOf(mail.contact_id) < slotsOf(percent);
}

/** Returns the number of slots whose contacts are held out. */
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
 * Returns by how many percent the rate of the contacts that were reached is higher than that of those
 * who were held out; null if the latter is 0.
 */
export function liftOf(heldOutRate: number, reachedRate: number): number | null {
  return heldOutRate === 0 ? null : ((reachedRate - heldOutRate) / heldOutRate) * 100;
}
