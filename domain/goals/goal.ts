/** Goals of campaigns and workflows: the event that their mail is sent for. */

/** Steps of a mail and its recipient after which an event counts. */
export const touches = ['sent', 'open', 'click'] as const;
export type Touch = (typeof touches)[number];

export interface Goal {
  eventName: string;
  /** Path of a number in the data of the event, such as `order.total`. */
  valueField?: string | undefined;
  /** How long after the touch an event counts. */
  windowDays: number;
  touch: Touch;
}

export interface GoalSums {
  /** Messages that led to at least one event. */
  converted: number;
  /** Events. */
  conversions: number;
  /** Sum of the values of the events, to 6 decimals. */
  value: number;
}
