import type { Goal, GoalInput } from '../api/api.ts';

/** The values of the form of a goal. */
export interface GoalValues {
  eventName: string;
  /** Field of the event's data whose values are summed up; empty: no values are summed up. */
  valueField: string;
  windowDays: string;
  touch: Goal['touch'];
}

export const firstGoal: GoalValues = {
  eventName: '',
  valueField: '',
  windowDays: '7',
  touch: 'click',
};

/** Returns the form of a goal; null: there is no goal. */
export function goalValues(goal: Goal | undefined): GoalValues | null {
  if (!goal) return null;
  const { eventName, valueField = '', windowDays, touch } = goal;
  return { eventName, valueField, windowDays: String(windowDays), touch };
}

export function goalRequest(values: GoalValues | null): GoalInput | null {
  if (!values) return null;
  const { eventName, valueField, windowDays, touch } = values;
  return {
    eventName,
    ...(valueField && { valueField }),
    windowDays: Number(windowDays),
    touch,
  };
}
