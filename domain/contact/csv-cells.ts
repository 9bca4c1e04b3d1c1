/** CSV of contacts, as RFC 4180 describes it. */

/**
 * Returns a line of CSV, with its line end.
 * @param cells null and undefined become empty cells, objects become JSON
 */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? withoutFormula(value) : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Puts a quote before a text that a spreadsheet would run as a formula.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function withoutFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
