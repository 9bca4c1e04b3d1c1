/** Formats times in the time zone of the browser. */

const full = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `25 Nov 2026, 16:47 CET` */
export const fullTime = (at: string | Date): string => full.format(new Date(at));

/** `25 Nov 2026` */
export const fullDay = (at: string | Date): string => day.format(new Date(at));

/** Returns the time zone of the browser: `Europe/Vienna`. */
export const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Formats a time relative to now: `5 minutes ago`, `in 2 days`. */
export function relativeTime(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1];
  if (unit === 'second')
    return Math.abs(seconds) < 10 ? 'now' : relative.format(Math.round(seconds), unit);
  return relative.format(Math.round(seconds / size), unit);
}

/** Formats a duration: `2 h 30 min`. */
export function duration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor((seconds % 86_400) / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'min'],
    [Math.floor(seconds % 60), 's'],
  ] as const;
  const shown = parts.filter(([amount]) => amount > 0).slice(0, 2);
  return shown.length === 0 ? '0 s' : shown.map(([amount, unit]) => `${amount} ${unit}`).join(' ');
}

/**
 * Returns the first moment of a day (`2026-11-25`) in the zone of the browser, or of a day `after`
 * it, as an ISO 8601 time.
 */
export function startOfDay(date: string, after = 0): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(year, month - 1, day + after).toISOString();
}
