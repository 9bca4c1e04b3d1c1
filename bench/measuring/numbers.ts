/**
 * Returns the value below which `share` (0 to 1) of the values lie.
 * @throws Error without values
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error('There is nothing measured.');
  return value;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Formats three digits, because the rest is noise. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Prints rows under each other, the first column to the left and the others to the right. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  for (const row of rows) {
    const cells = row.map((cell, index) => {
      const width = widths[index] ?? 0;
      return index === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    console.log(`  ${cells.join('  ')}`);
  }
  console.log('');
}
