/**
 * The look of the console: its colour theme, and the height of table rows. Both are stored in the
 * browser.
 */

export type Theme = 'system' | 'light' | 'dark';

const themeKey = 'everpost-theme';
const rowsKey = 'everpost-rows';

export function readTheme(): Theme {
  const kept = localStorage.getItem(themeKey);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(themeKey, theme);
  document.documentElement.dataset['theme'] = theme;
}

export function areRowsCompact(): boolean {
  return localStorage.getItem(rowsKey) === 'compact';
}

export function applyRows(isCompact: boolean): void {
  const rows = isCompact ? 'compact' : 'usual';
  localStorage.setItem(rowsKey, rows);
  document.documentElement.dataset['rows'] = rows;
}

/** Applies the stored look. Call it before the first page is drawn. */
export function applyLook(): void {
  applyTheme(readTheme());
  applyRows(areRowsCompact());
}
