/** Lengths of time. The API counts them in seconds, and users in larger units. */

export const secondsOf = { minutes: 60, hours: 3_600, days: 86_400 };

export type Unit = keyof typeof secondsOf;

export const units = Object.keys(secondsOf).map((value) => ({ value, text: value }));

/** Returns the largest unit in which a time is a whole number; otherwise minutes. */
export function unitOf(seconds: number): Unit {
  const whole = (['days', 'hours'] as const).find((unit) => seconds % secondsOf[unit] === 0);
  return whole ?? 'minutes';
}
