import type { SendPolicy } from '../../api/api.ts';

export type Hours = NonNullable<SendPolicy['quietHours']>;

/** A limit as it is typed. */
export interface TypedCap {
  max: string;
  perDays: string;
}

export interface PolicyValues {
  timeZone: string;
  /** Contact field with a time zone; empty: all contacts are in the project's zone. */
  contactTimeZoneField: string;
  isQuiet: boolean;
  /** The hours, which stay in the form while quiet hours are off. */
  quietHours: Hours;
  caps: readonly TypedCap[];
  onCap: SendPolicy['onCap'];
}

const usualHours: Hours = {
  from: '21:00',
  to: '08:00',
  days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
};

export const valuesOf = (policy: SendPolicy): PolicyValues => ({
  timeZone: policy.timeZone,
  contactTimeZoneField: policy.contactTimeZoneField ?? '',
  isQuiet: policy.quietHours !== null,
  quietHours: policy.quietHours ?? usualHours,
  caps: policy.caps.map(({ max, perDays }) => ({ max: String(max), perDays: String(perDays) })),
  onCap: policy.onCap,
});

export const bodyOf = (values: PolicyValues) => ({
  timeZone: values.timeZone,
  contactTimeZoneField: values.contactTimeZoneField.trim() || null,
  quietHours: values.isQuiet ? values.quietHours : null,
  caps: values.caps.map(({ max, perDays }) => ({ max: Number(max), perDays: Number(perDays) })),
  onCap: values.onCap,
});
