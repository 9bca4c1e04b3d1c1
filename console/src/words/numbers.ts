/** Formats numbers. */

const whole = new Intl.NumberFormat('en');
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export const count = (value: number): string => whole.format(value);

/** Formats a percentage with one decimal: `12.5 %`. */
export const percent = (value: number): string => `${oneDecimal.format(value)} %`;

/** Formats a number with its noun: `1 contact`, `2 contacts`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
