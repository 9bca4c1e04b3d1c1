/** Numbers as people read them. */

const whole = new Intl.NumberFormat('en');
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export const count = (value: number): string => whole.format(value);

/** A part of a hundred with one decimal: `12.5 %`. */
export const percent = (value: number): string => `${oneDecimal.format(value)} %`;

/** A number and its noun: `1 contact`, `2 contacts`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
