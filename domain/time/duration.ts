/** Lengths of time as texts: `90s`, `15m`, `36h`, `3d`, `1d12h`. */

const unitSeconds = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

/** Days, hours, minutes and seconds, in this order, each at most once. */
export const durationPattern =
  /^(?=\d)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?$/;

/** Returns the seconds of a duration; null: the text is no duration. */
export function secondsOf(text: string): number | null {
  const parts = durationPattern.exec(text.trim());
  if (!parts) return null;
  return Object.values(unitSeconds).reduce(
    (sum, seconds, index) => sum + Number(parts[index + 1] ?? 0) * seconds,
    0,
  );
}

/** Writes seconds as a duration: `1d12h`. Milliseconds stay as a fraction of seconds. */
export function durationText(seconds: number): string {
  let rest = seconds;
  let text = '';
  for (const [unit, length] of Object.entries(unitSeconds)) {
    const count = unit === 's' ? Math.round(rest * 1000) / 1000 : Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}
