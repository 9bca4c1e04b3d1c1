/** Goals of campaigns and workflows: the event that the mail should lead to. */

/**
 * The touches of a mail. An event counts for a goal only after a mail to its contact was sent,
 * opened or clicked.
 */
export const touches = ['sent', 'open', 'click'] as const;
export type Touch = (typeof touches)[number];

export interface Goal {
  eventName: string;
  /** Path of a number in the data of the event, such as `order.total`. Goals sum these numbers. */
  valueField?: string | undefined;
  /** Number of days after the touch in which an event counts. */
  windowDays: number;
  touch: Touch;
}

export interface GoalSums {
  /** Messages that led to at least one event. */
  converted: number;
  /** Number of events that count. */
  conversions: number;
  /** Sum of the numbers at `valueField`, to 6 decimals. */
  value: number;
}
