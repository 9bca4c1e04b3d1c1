import type { Weekday } from '../time/zones.ts';

/** When marketing mail of campaigns and workflows may reach a contact, and how often. */

/**
 * A window of wall time in the contact's zone, from `from` until before `to`. `from` later than `to`:
 * it goes past midnight, and belongs to the day on which it begins.
 */
export interface QuietHours {
  /** `HH:MM` or `HH:MM:SS`. */
  from: string;
  /** The same, or `24:00`. */
  to: string;
  days: readonly Weekday[];
}

/** At most `max` messages to a contact in any `perDays` times 24 hours. */
export interface FrequencyCap {
  max: number;
  perDays: number;
}

export interface SendPolicy {
  /** The project's zone: of contacts that name none. */
  timeZone: string;
  /**
   * The contact field with the time zone, as `data.<path>`; null: all contacts use the project's
   * zone.
   */
  contactTimeZoneField: string | null;
  quietHours: QuietHours | null;
  /** All of them hold. */
  caps: readonly FrequencyCap[];
  /** Handling of mail that would exceed a cap. */
  onCap: 'skip' | 'delay';
}

/** The policy of a project that has set none. */
export const defaultSendPolicy: SendPolicy = {
  timeZone: 'UTC',
  contactTimeZoneField: 'data.timeZone',
  quietHours: null,
  caps: [],
  onCap: 'skip',
};
