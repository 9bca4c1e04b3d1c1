import type { Weekday } from '../time/zones.ts';

/**
 * Rules about when, and how often, marketing mail of campaigns and workflows may reach a contact.
 */

/**
 * A window of wall time in the contact's zone, from `from` until before `to`. If `from` is later
 * than `to`, the window passes midnight, and belongs to the day on which it begins.
 */
export interface QuietHours {
  /** `HH:MM` or `HH:MM:SS`. */
  from: string;
  /** `HH:MM`, `HH:MM:SS` or `24:00`. */
  to: string;
  days: readonly Weekday[];
}

/** At most `max` messages to a contact within `perDays` × 24 hours. */
export interface FrequencyCap {
  max: number;
  perDays: number;
}

export interface SendPolicy {
  /** The zone for contacts that have no zone of their own. */
  timeZone: string;
  /**
   * The contact field with the time zone, as `data.<path>`; null: all contacts use the project's
   * zone.
   */
  contactTimeZoneField: string | null;
  quietHours: QuietHours | null;
  caps: readonly FrequencyCap[];
  /** The handling of mail that would exceed a cap. */
  onCap: 'skip' | 'delay';
}

/** The policy that applies until a project sets its own. */
export const defaultSendPolicy: SendPolicy = {
  timeZone: 'UTC',
  contactTimeZoneField: 'data.timeZone',
  quietHours: null,
  caps: [],
  onCap: 'skip',
};
